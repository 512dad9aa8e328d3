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

double EmulatedCommunicator::sum_seconds(double bytes) const {
  return all_reduce_seconds(link_, size(), bytes);
}

double EmulatedCommunicator::gather_seconds(const std::vector<Interval>& slices,
                                            std::size_t element_bytes) const {
  return all_gather_seconds(link_, size(), bytes_of(slices, element_bytes));
}

void EmulatedCommunicator::end_with(double seconds) {
  const PendingPtr end = lane_.start(others_, seconds);
  waiter_.wait(*end, [] { return std::string(); });
}

void EmulatedCommunicator::all_reduce_sum(float* data, std::size_t n) {
  ForwardingCommunicator::all_reduce_sum(data, n);
  end_with(sum_seconds(static_cast<double>(n * sizeof(float))));
}

void EmulatedCommunicator::all_reduce_sum(double* data, std::size_t n) {
  ForwardingCommunicator::all_reduce_sum(data, n);
  end_with(sum_seconds(static_cast<double>(n * sizeof(double))));
}

void EmulatedCommunicator::all_reduce_max(float* data, std::size_t n) {
  ForwardingCommunicator::all_reduce_max(data, n);
  end_with(sum_seconds(static_cast<double>(n * sizeof(float))));
}

void EmulatedCommunicator::all_gather(float* data, const std::vector<Interval>& slices) {
  ForwardingCommunicator::all_gather(data, slices);
  end_with(gather_seconds(slices, sizeof(float)));
}

void EmulatedCommunicator::all_to_all(const void* from, const std::vector<std::size_t>& sent,
                                      void* to, const std::vector<std::size_t>& received) {
  ForwardingCommunicator::all_to_all(from, sent, to, received);
  const auto bytes = static_cast<double>(std::accumulate(sent.begin(), sent.end(), std::size_t{0}));
  end_with(all_to_all_seconds(link_, size(), bytes));
}

PendingPtr EmulatedCommunicator::start_all_reduce_sum(float* data, std::size_t n) {
  PendingPtr time = start_time(sum_seconds(static_cast<double>(n * sizeof(float))));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start_all_reduce_sum(data, n),
                                   std::move(time));
}

PendingPtr EmulatedCommunicator::start_reduce_scatter_sum(float* data,
                                                          const std::vector<Interval>& slices) {
  PendingPtr time = start_time(gather_seconds(slices, sizeof(float)));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start_reduce_scatter_sum(data, slices),
                                   std::move(time));
}

PendingPtr EmulatedCommunicator::start_all_gather(float* data,
                                                  const std::vector<Interval>& slices) {
  PendingPtr time = start_time(gather_seconds(slices, sizeof(float)));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start_all_gather(data, slices),
                                   std::move(time));
}

PendingPtr EmulatedCommunicator::start_all_reduce_sum(BFloat16* data, std::size_t n) {
  PendingPtr time = start_time(sum_seconds(static_cast<double>(n * sizeof(BFloat16))));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start_all_reduce_sum(data, n),
                                   std::move(time));
}

PendingPtr EmulatedCommunicator::start_reduce_scatter_sum(BFloat16* data,
                                                          const std::vector<Interval>& slices) {
  PendingPtr time = start_time(gather_seconds(slices, sizeof(BFloat16)));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start_reduce_scatter_sum(data, slices),
                                   std::move(time));
}

PendingPtr EmulatedCommunicator::start_all_gather(BFloat16* data,
                                                  const std::vector<Interval>& slices) {
  PendingPtr time = start_time(gather_seconds(slices, sizeof(BFloat16)));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start_all_gather(data, slices),
                                   std::move(time));
}

PendingPtr EmulatedGathers::start_all_gather(float* data, const std::vector<Interval>& slices) {
  PendingPtr time =
      lane_.start(others_, all_gather_seconds(link_, size(), bytes_of(slices, sizeof(float))));
  return std::make_unique<BothEnd>(ForwardingCommunicator::start_all_gather(data, slices),
                                   std::move(time));
}

void EmulatedSums::all_reduce_sum(float* data, std::size_t n) {
  ForwardingCommunicator::all_reduce_sum(data, n);
  clock_.reach(EmulatedClock::host());
}

void EmulatedSums::all_reduce_sum(double* data, std::size_t n) {
  ForwardingCommunicator::all_reduce_sum(data, n);
  clock_.reach(EmulatedClock::host());
}

void EmulatedSums::all_reduce_max(float* data, std::size_t n) {
  ForwardingCommunicator::all_reduce_max(data, n);
  clock_.reach(EmulatedClock::host());
}

}  // namespace pptrain
