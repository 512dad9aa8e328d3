#include "comm/mpi.hpp"

#include <numeric>

namespace pptrain {

MpiEnvironment::MpiEnvironment(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
}

MpiEnvironment::~MpiEnvironment() { MPI_Finalize(); }

MpiComm MpiComm::duplicate(MPI_Comm parent) {
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
  MPI_Comm_create_group(parent, some, tag, &comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return MpiComm(comm);
}

MpiComm MpiComm::shared_memory(MPI_Comm parent) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  return MpiComm(comm);
}

int MpiComm::rank() const {
  int value = 0;
  MPI_Comm_rank(comm_, &value);
  return value;
}

int MpiComm::size() const {
  int value = 0;
  MPI_Comm_size(comm_, &value);
  return value;
}

void MpiComm::reset() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
  comm_ = MPI_COMM_NULL;
}

std::string broadcast(MPI_Comm comm, const std::string& text, int root) {
  unsigned long long length = text.size();
  MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, root, comm);
  std::string result = text;
  result.resize(length);
  MPI_Bcast(result.data(), static_cast<int>(length), MPI_CHAR, root, comm);
  return result;
}

std::vector<std::string> gather(MPI_Comm comm, const std::string& text, int root) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(size);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, root, comm);
  if (rank != root) {
    MPI_Gatherv(text.data(), length, MPI_CHAR, nullptr, nullptr, nullptr, MPI_CHAR, root, comm);
    return {};
  }
  std::vector<int> offsets(size, 0);
  std::partial_sum(lengths.begin(), lengths.end() - 1, offsets.begin() + 1);
  std::string all(static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, root, comm);
  std::vector<std::string> result;
  for (int r = 0; r < size; ++r) result.push_back(all.substr(offsets[r], lengths[r]));
  return result;
}

std::vector<double> gather(MPI_Comm comm, const std::vector<double>& values, int root) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int count = static_cast<int>(values.size());
  std::vector<double> all(rank == root ? values.size() * size : 0);
  MPI_Gather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, root, comm);
  return all;
}

}  // namespace pptrain
