#include "comm/mpi.hpp"

#include <cstdlib>

#include "comm/blocking_call.hpp"
#include "comm/launcher.hpp"

namespace pptrain {
namespace {

/// Open MPI's TCP transport sends the rest of a message beyond its eager limit, 64 KiB, when the
/// receiver has asked for it and the sender looks: not while one of the two computes a task. Below
/// it a message is on its way at once. A limit that the user has set stays; other transports and
/// implementations know nothing of it.
void send_at_once_over_tcp() {
  setenv("OMPI_MCA_btl_tcp_eager_limit", "4194304", 0);  // what a socket takes in at most by
                                                         // Linux's default
}

/// Open MPI starts a daemon (`orted`) beside a process without launcher, for ranks that it might
/// spawn. One that outlived its process was seen to grow by 170 MB a second. Nothing here spawns
/// ranks, so there is no daemon, unless the user has set this.
void start_without_daemon() { setenv("OMPI_MCA_ess_singleton_isolated", "1", 0); }

}  // namespace

MpiEnvironment::MpiEnvironment(int* argc, char*** argv) {
  send_at_once_over_tcp();
  if (!launched_rank()) start_without_daemon();
  int provided = 0;
  const BlockingCall waiting("starting");
  // Beside the main thread that of `Pulse` calls MPI, never both at a time.
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
}

MpiEnvironment::~MpiEnvironment() {
  const BlockingCall waiting("ending");
  MPI_Finalize();
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

MpiComm MpiComm::duplicate(MPI_Comm parent) {
  const BlockingCall waiting("making communicators");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(parent, &comm);
  return MpiComm(comm);
}

MpiComm MpiComm::group(MPI_Comm parent, const std::vector<int>& members, int tag) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
  const BlockingCall waiting("making communicators");
  MPI_Comm_create_group(parent, some, tag, &comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return MpiComm(comm);
}

MpiComm MpiComm::shared_memory(MPI_Comm parent) {
  const BlockingCall waiting("making communicators");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  return MpiComm(comm);
}

void MpiComm::reset() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
  comm_ = MPI_COMM_NULL;
}

}  // namespace pptrain
