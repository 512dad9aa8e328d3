#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace pptrain {

/// MPI counts in ints: longer messages travel in pieces of so many bytes.
inline constexpr std::size_t most_message_bytes = std::size_t{1} << 30;

/// Messages to and from ranks of a communicator that are under way. What one rank sends another
/// with one tag arrives in the order in which it was sent, so that pieces of a message need no tags
/// of their own.
class MpiMessages {
 public:
  explicit MpiMessages(std::size_t most_bytes = most_message_bytes) : most_bytes_(most_bytes) {}
  /// Only an error leaves messages behind: they are taken back, so that nothing writes into freed
  /// memory.
  ~MpiMessages();
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  /// Starts to send so many bytes to a rank of `comm`; `data` must stay until `have_ended`.
  void send(MPI_Comm comm, int to, int tag, const void* data, std::size_t bytes);
  /// Starts to receive so many bytes from a rank of `comm`; `data` must stay until `have_ended`.
  void receive(MPI_Comm comm, int from, int tag, void* data, std::size_t bytes);

  /// Whether all messages have ended; never blocks.
  bool have_ended();
  /// The ranks to or from which some messages have not ended, each once, ascending.
  std::vector<int> missing() const;
  /// The `missing` ranks of `comm` as their numbers among all ranks: "3, 5".
  std::string missing_in_world(MPI_Comm comm) const;

 private:
  MPI_Request* add(int peer);

  std::size_t most_bytes_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  ///< of the requests
};

}  // namespace pptrain
