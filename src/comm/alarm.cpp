#include "comm/alarm.hpp"

namespace pptrain {
namespace {

int tag_of(Alarm::Reason reason) { return static_cast<int>(reason); }

}  // namespace

void Alarm::raise(Reason reason) {
  if (raised_) return;
  raised_ = reason;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank()) continue;
    // An empty message leaves at once; a rank that is stuck never takes it, so nobody waits for
    // that.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_BYTE, rank, tag_of(reason), comm_.get(), &request);
    MPI_Request_free(&request);
  }
}

std::optional<Alarm::Call> Alarm::heard() {
  for (const Reason reason : {Reason::failed, Reason::waited}) {
    int heard = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag_of(reason), comm_.get(), &heard, &status);
    if (heard != 0) return Call{status.MPI_SOURCE, reason};
  }
  return std::nullopt;
}

}  // namespace pptrain
