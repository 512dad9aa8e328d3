#include "runtime/emulation/emulated_communicator.hpp"

#include <algorithm>
#include <numeric>

#include "cost/collective.hpp"
#include "nn/parameters/parameter_store.hpp"

namespace pptrain {
namespace {

/// Ends when the data are there and the emulated links have had their time.
class BothEnd final : public Pending {
 public:
  BothEnd(PendingPtr data, PendingPtr time) : data_(std::move(data)), time_(std::move(time)) {}
  bool test() override {
    const bool moved = data_->test();
    return time_->test() && moved;
  }
  std::string missing() const override { return data_->missing(); }

 private:
  PendingPtr data_;
  PendingPtr time_;
};

/// Bytes that take as long in equal slices as these: all of them where they are equal, but for
/// their rounding to cache lines, else as many as if each were as large as the largest, which its
/// owner sends to all others.
double bytes_of(const std::vector<Interval>& slices, std::size_t element_bytes) {
  std::int64_t elements = 0;
  std::int64_t largest = 0;
  for (const Interval& slice : slices) {
    elements += slice.size();
    largest = std::max(largest, slice.size());
  }
  const auto members = static_cast<std::int64_t>(slices.size());
  if ((largest - line_elements) * members > elements) elements = largest * members;
  return static_cast<double>(elements) * static_cast<double>(element_bytes);
}

}  // namespace

/// An all-gather takes as long as a reduce-scatter.
double EmulatedCommunicator::seconds_of(Collective collective, const std::vector<Interval>& slices,
                                        std::size_t element_bytes) const {
  if (collective == Collective::reduce_scatter_sum || collective == Collective::all_gather)
    return all_gather_seconds(link_, size(), bytes_of(slices, element_bytes));
  const auto elements = static_cast<double>(slices.front().size());
  return all_reduce_seconds(link_, size(), elements * static_cast<double>(element_bytes));
}

void EmulatedCommunicator::end_with(double seconds) {
  const PendingPtr end = lane_.start(others_, seconds);
  waiter_.wait(*end, [] { return std::string(); });
}

PendingPtr EmulatedCommunicator::start(Collective collective, void* data, DType type,
                                       const std::vector<Interval>& slices) {
  PendingPtr time = lane_.start(others_, seconds_of(collective, slices, size_of(type)));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start(collective, data, type, slices),
                                   std::move(time));
}

void EmulatedCommunicator::run(Collective collective, float* data,
                               const std::vector<Interval>& slices) {
  ForwardingCommunicator::run(collective, data, slices);
  end_with(seconds_of(collective, slices, sizeof(float)));
}

void EmulatedCommunicator::sum_on_host(double* data, std::size_t n) {
  ForwardingCommunicator::sum_on_host(data, n);
  end_with(all_reduce_seconds(link_, size(), static_cast<double>(n * sizeof(double))));
}

void EmulatedCommunicator::all_to_all(const void* from, const std::vector<std::size_t>& sent,
                                      void* to, const std::vector<std::size_t>& received) {
  ForwardingCommunicator::all_to_all(from, sent, to, received);
  const auto bytes = static_cast<double>(std::accumulate(sent.begin(), sent.end(), std::size_t{0}));
  end_with(all_to_all_seconds(link_, size(), bytes));
}

PendingPtr EmulatedGathers::start(Collective collective, void* data, DType type,
                                  const std::vector<Interval>& slices) {
  if (collective != Collective::all_gather)
    return ForwardingCommunicator::start(collective, data, type, slices);
  PendingPtr time =
      lane_.start(others_, all_gather_seconds(link_, size(), bytes_of(slices, size_of(type))));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start(collective, data, type, slices),
                                   std::move(time));
}

void EmulatedSums::run(Collective collective, float* data, const std::vector<Interval>& slices) {
  ForwardingCommunicator::run(collective, data, slices);
  clock_.reach(EmulatedClock::host());
}

void EmulatedSums::sum_on_host(double* data, std::size_t n) {
  ForwardingCommunicator::sum_on_host(data, n);
  clock_.reach(EmulatedClock::host());
}

}  // namespace pptrain
