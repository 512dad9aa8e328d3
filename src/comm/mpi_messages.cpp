#include "comm/mpi_messages.hpp"

#include <algorithm>
#include <set>

namespace pptrain {
namespace {

/// piece(offset, count) for the pieces of a message; one of no bytes for an empty one.
template <class Piece>
void for_pieces(std::size_t bytes, std::size_t most_bytes, const Piece& piece) {
  std::size_t begin = 0;
  do {
    const std::size_t count = std::min(most_bytes, bytes - begin);
    piece(begin, static_cast<int>(count));
    begin += count;
  } while (begin < bytes);
}

}  // namespace

MpiMessages::~MpiMessages() {
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

MPI_Request* MpiMessages::add(int peer) {
  peers_.push_back(peer);
  requests_.push_back(MPI_REQUEST_NULL);
  return &requests_.back();
}

void MpiMessages::send(MPI_Comm comm, int to, int tag, const void* data, std::size_t bytes) {
  for_pieces(bytes, most_bytes_, [&](std::size_t offset, int count) {
    MPI_Isend(static_cast<const std::byte*>(data) + offset, count, MPI_BYTE, to, tag, comm,
              add(to));
  });
}

void MpiMessages::receive(MPI_Comm comm, int from, int tag, void* data, std::size_t bytes) {
  for_pieces(bytes, most_bytes_, [&](std::size_t offset, int count) {
    MPI_Irecv(static_cast<std::byte*>(data) + offset, count, MPI_BYTE, from, tag, comm, add(from));
  });
}

bool MpiMessages::have_ended() {
  int ended = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &ended, MPI_STATUSES_IGNORE);
  return ended != 0;
}

std::vector<int> MpiMessages::missing() const {
  std::set<int> ranks;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int ended = 0;
    MPI_Request_get_status(requests_[i], &ended, MPI_STATUS_IGNORE);
    if (ended == 0) ranks.insert(peers_[i]);
  }
  return {ranks.begin(), ranks.end()};
}

std::string MpiMessages::missing_in_world(MPI_Comm comm) const {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::string ranks;
  for (const int member : missing()) {
    int world_rank = 0;
    MPI_Group_translate_ranks(group, 1, &member, world, &world_rank);
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(world_rank);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return ranks;
}

}  // namespace pptrain
