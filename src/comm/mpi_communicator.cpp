#include "comm/mpi_communicator.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/error.hpp"

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

PendingPtr MpiCommunicator::start(Collective collective, void* data, DType type,
                                  const std::vector<Interval>& slices) {
  if (type == DType::bf16) return start_typed(collective, static_cast<BFloat16*>(data), slices);
  PPTRAIN_ASSERT(type == DType::f32, "a collective of values in f16");
  return start_typed(collective, static_cast<float*>(data), slices);
}

template <class T>
PendingPtr MpiCommunicator::start_typed(Collective collective, T* data,
                                        const std::vector<Interval>& slices) {
  switch (collective) {
    case Collective::all_reduce_sum: return start_whole(Reduction::sum, data, slices.front());
    case Collective::all_reduce_max: return start_whole(Reduction::max, data, slices.front());
    case Collective::reduce_scatter_sum: return start_half(Halves::reduce_scatter, data, slices);
    case Collective::all_gather: return start_half(Halves::all_gather, data, slices);
  }
  return nullptr;
}

template <class T>
PendingPtr MpiCommunicator::start_whole(Reduction reduction, T* data, Interval slice) {
  return std::make_unique<OrderedAllReduce<T>>(next_channel(), arena_, reduction,
                                               data + slice.begin,
                                               static_cast<std::size_t>(slice.size()));
}

template <class T>
PendingPtr MpiCommunicator::start_half(Halves half, T* data, const std::vector<Interval>& slices) {
  return std::make_unique<OrderedAllReduce<T>>(next_channel(), arena_, half, data, slices);
}

void MpiCommunicator::run(Collective collective, float* data, const std::vector<Interval>& slices) {
  if (size_ > 1) wait(start_typed(collective, data, slices));
}

void MpiCommunicator::sum_on_host(double* data, std::size_t n) {
  if (size_ > 1) wait(start_whole(Reduction::sum, data, {0, static_cast<std::int64_t>(n)}));
}

void MpiCommunicator::wait(const PendingPtr& pending) {
  waiter_.wait(*pending, [this] { return name_; });
}

void MpiCommunicator::all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                                 const std::vector<std::size_t>& received) {
  wait(start_all_to_all(from, sent, to, received));
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
