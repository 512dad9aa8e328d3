#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/waiter.hpp"
#include "runtime/replan/held_elements.hpp"
#include "tensor/arena.hpp"

namespace pptrain {

/// One rank's part in bringing elements from the ranks that hold them to those that need them. What
/// a rank both holds and needs it copies; the rest goes in messages of 1 MiB, some of which are
/// under way at a time.
class StateExchange {
 public:
  /// What each rank has of one quantity of a parameter.
  using Side = std::vector<Elements>;

  /// `nodes[r]` is the node of rank r; messages go through the memory of the host that `device`
  /// copies from fastest.
  StateExchange(int rank, const std::vector<int>& nodes, Device& device)
      : rank_(rank),
        num_ranks_(static_cast<int>(nodes.size())),
        choice_(nodes),
        messages_(0, {}, device.host_memory()) {}

  /// What is held before and needed after. All ranks add the same in the same order. Copies at
  /// once. Throws `Error` (exit code 4) when nobody holds what is needed.
  void add(const Side& before, const Side& after);
  /// Moves what was added since the last call. Collective.
  void run(Transport& transport, Waiter& waiter, const char* doing);

  /// Bytes that this rank has sent to others, over all calls of `run`.
  std::int64_t bytes_sent() const { return bytes_sent_; }
  /// Bytes that this rank has got from others, over all calls of `run`.
  std::int64_t bytes_received() const { return bytes_received_; }
  /// Bytes that this rank both held and needed, so that no message carried them; all calls of `add`
  /// together.
  std::int64_t bytes_kept() const { return bytes_kept_; }

 private:
  /// A run of values in the memory of this rank.
  struct Span {
    Device* device = nullptr;
    float* values = nullptr;
    std::size_t size = 0;
  };
  /// All that one rank sends to another, in the order of parameters, quantities and elements.
  struct Stream {
    int from = 0;
    int to = 0;
    std::vector<Span> spans;
    std::size_t size = 0;
    std::size_t next_span = 0;  ///< where the next message begins or goes on
    std::size_t next_value = 0;

    /// Appends a span in this rank's memory: the sender's is read by `run`, the receiver's written.
    void add(Span span);
    /// Hands the next `count` values out in pieces: device, values, number.
    template <class Action>
    void take(std::size_t count, const Action& action);
  };
  /// Part `index` of a stream.
  struct Message {
    Stream* stream;
    std::size_t index;
  };
  struct InFlight {
    Buffer buffer;
    Stream* stream;
    PendingPtr pending;
  };

  Stream& stream(int from, int to);
  std::vector<Message> messages();
  void start(Transport& transport, const Message& message);
  void end_oldest(Waiter& waiter, const char* doing);

  int rank_;
  int num_ranks_;
  MoveChoice choice_;
  Arena messages_;
  std::deque<Stream> streams_;
  std::deque<InFlight> in_flight_;
  std::vector<std::pair<Span, float*>> copies_;  ///< within what this rank needs, once all has come
  std::int64_t bytes_sent_ = 0;
  std::int64_t bytes_received_ = 0;
  std::int64_t bytes_kept_ = 0;
};

}  // namespace pptrain
