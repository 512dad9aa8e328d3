#include "comm/mpi_communicator.hpp"

#include <fmt/format.h>

#include <cstring>

namespace pptrain {
namespace {

/// Tags wrap around: MPI keeps the order of equal tags, and no two collectives of a group that
/// are this far apart are ever under way at once.
constexpr int tag_period = 8192;

/// A message to or from one rank.
class MpiPending final : public Pending {
 public:
  MpiPending(RankId peer, std::size_t most_bytes) : messages(most_bytes), peer_(peer) {}
  bool test() override { return messages.have_ended(); }
  std::string missing() const override { return fmt::format("rank {}", peer_.value); }

  MpiMessages messages;

 private:
  RankId peer_;
};

/// Messages to and from members of a group.
class MessagesOfGroup final : public Pending {
 public:
  MessagesOfGroup(MPI_Comm comm, std::size_t most_bytes) : messages(most_bytes), comm_(comm) {}
  bool test() override { return messages.have_ended(); }
  std::string missing() const override {
    return fmt::format("an all-to-all with rank {}", messages.missing_in_world(comm_));
  }

  MpiMessages messages;

 private:
  MPI_Comm comm_;
};

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm parent, const std::vector<int>& members, int tag,
                                 std::string name, Arena& arena, Waiter& waiter)
    : comm_(MpiComm::group(parent, members, tag)),
      name_(std::move(name)),
      arena_(arena),
      waiter_(waiter) {
  rank_ = comm_.rank();
  size_ = comm_.size();
}

int MpiCommunicator::next_tag() {
  sequence_ = (sequence_ + 1) % tag_period;
  return 2 * sequence_;
}

template <class T>
void MpiCommunicator::run(Reduction reduction, T* data, std::size_t n) {
  if (size_ == 1) return;
  OrderedAllReduce<T> operation(next_channel(), arena_, reduction, data, n);
  waiter_.wait(operation, [this] { return name_; });
}

template void MpiCommunicator::run(Reduction, float*, std::size_t);
template void MpiCommunicator::run(Reduction, double*, std::size_t);

template <class T>
PendingPtr MpiCommunicator::start_sum(T* data, std::size_t n) {
  return std::make_unique<OrderedAllReduce<T>>(next_channel(), arena_, Reduction::sum, data, n);
}

template <class T>
PendingPtr MpiCommunicator::start_half(Halves half, T* data, const std::vector<Interval>& slices) {
  return std::make_unique<OrderedAllReduce<T>>(next_channel(), arena_, half, data, slices);
}

PendingPtr MpiCommunicator::start_all_reduce_sum(float* data, std::size_t n) {
  return start_sum(data, n);
}

PendingPtr MpiCommunicator::start_all_reduce_max(float* data, std::size_t n) {
  return std::make_unique<OrderedAllReduce<float>>(next_channel(), arena_, Reduction::max, data, n);
}

PendingPtr MpiCommunicator::start_reduce_scatter_sum(float* data,
                                                     const std::vector<Interval>& slices) {
  return start_half(Halves::reduce_scatter, data, slices);
}

PendingPtr MpiCommunicator::start_all_gather(float* data, const std::vector<Interval>& slices) {
  return start_half(Halves::all_gather, data, slices);
}

PendingPtr MpiCommunicator::start_all_reduce_sum(BFloat16* data, std::size_t n) {
  return start_sum(data, n);
}

PendingPtr MpiCommunicator::start_reduce_scatter_sum(BFloat16* data,
                                                     const std::vector<Interval>& slices) {
  return start_half(Halves::reduce_scatter, data, slices);
}

PendingPtr MpiCommunicator::start_all_gather(BFloat16* data, const std::vector<Interval>& slices) {
  return start_half(Halves::all_gather, data, slices);
}

void MpiCommunicator::all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                                 const std::vector<std::size_t>& received) {
  const PendingPtr messages = start_all_to_all(from, sent, to, received);
  waiter_.wait(*messages, [this] { return name_; });
}

/// One message to each other member that gets something, and one from each that sends something.
PendingPtr MpiCommunicator::start_all_to_all(const void* from, const std::vector<std::size_t>& sent,
                                             void* to, const std::vector<std::size_t>& received) {
  auto started = std::make_unique<MessagesOfGroup>(comm_.get(), most_bytes_);
  MpiMessages& messages = started->messages;
  const int tag = next_tag();
  const auto* next_sent = static_cast<const std::byte*>(from);
  auto* next_received = static_cast<std::byte*>(to);
  for (int member = 0; member < size_; ++member) {
    const auto m = static_cast<std::size_t>(member);
    if (member == rank_) {
      if (sent[m] > 0) std::memcpy(next_received, next_sent, sent[m]);
    } else {
      if (received[m] > 0) messages.receive(comm_.get(), member, tag, next_received, received[m]);
      if (sent[m] > 0) messages.send(comm_.get(), member, tag, next_sent, sent[m]);
    }
    next_sent += sent[m];
    next_received += received[m];
  }
  return started;
}

void MpiCommunicator::all_gather(float* data, const std::vector<Interval>& slices) {
  if (size_ == 1) return;
  const PendingPtr gather = start_all_gather(data, slices);
  waiter_.wait(*gather, [this] { return name_; });
}

MpiTransport::MpiTransport(MPI_Comm parent, std::size_t most_bytes)
    : comm_(MpiComm::duplicate(parent)), most_bytes_(most_bytes) {
  int* largest = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm_.get(), MPI_TAG_UB, &largest, &found);
  if (found != 0) num_tags_ = *largest;
}

PendingPtr MpiTransport::send(RankId to, int tag, const void* data, std::size_t bytes) {
  auto pending = std::make_unique<MpiPending>(to, most_bytes_);
  pending->messages.send(comm_.get(), to.value, tag, data, bytes);
  return pending;
}

PendingPtr MpiTransport::receive(RankId from, int tag, void* data, std::size_t bytes) {
  auto pending = std::make_unique<MpiPending>(from, most_bytes_);
  pending->messages.receive(comm_.get(), from.value, tag, data, bytes);
  return pending;
}

}  // namespace pptrain
