#include "comm/alarm.hpp"

namespace pptrain {

void Alarm::raise() {
  if (raised_) return;
  raised_ = true;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank()) continue;
    // An empty message leaves at once; a rank that is stuck never takes it, so nobody waits for that.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(nullptr, 0, MPI_BYTE, rank, 0, comm_.get(), &request);
    MPI_Request_free(&request);
  }
}

std::optional<int> Alarm::raised_by() {
  int heard = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_.get(), &heard, &status);
  if (heard == 0) return std::nullopt;
  return status.MPI_SOURCE;
}

}  // namespace pptrain
