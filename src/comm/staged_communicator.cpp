#include "comm/staged_communicator.hpp"

#include <numeric>
#include <utility>

namespace pptrain {
namespace {

/// Slices of an array, and the same one behind another in a block.
struct Packed {
  std::vector<Interval> slices;
  std::vector<StagedPiece> pieces;
  std::size_t bytes = 0;

  template <class T>
  Packed(T* data, const std::vector<Interval>& of_array) {
    std::int64_t end = 0;
    for (const Interval& slice : of_array) {
      const auto size = static_cast<std::size_t>(slice.size()) * sizeof(T);
      slices.push_back({end, end + slice.size()});
      pieces.push_back({bytes, data + slice.begin, size});
      end += slice.size();
      bytes += size;
    }
  }
};

template <class T>
T* values(std::byte* block) {
  return reinterpret_cast<T*>(block);
}

}  // namespace

void StagedCommunicator::wait(const PendingPtr& pending) {
  waiter_.wait(*pending, [this] { return name_; });
}

template <class T>
PendingPtr StagedCommunicator::start_whole(T* data, std::size_t n,
                                           std::function<PendingPtr(T*)> move) {
  const StagedPiece whole = {0, data, n * sizeof(T)};
  return std::make_unique<StagedTransfer>(
      staging_,
      StagedWork{
          nullptr, whole.bytes, {whole}, {whole}, [move = std::move(move)](std::byte* block) {
            return move(values<T>(block));
          }});
}

template <class T>
PendingPtr StagedCommunicator::start_scatter(T* data, const std::vector<Interval>& slices) {
  const Packed packed(data, slices);
  const StagedPiece own = packed.pieces[static_cast<std::size_t>(rank())];
  return std::make_unique<StagedTransfer>(
      staging_, StagedWork{nullptr,
                           packed.bytes,
                           packed.pieces,
                           {own},
                           [this, slices = packed.slices](std::byte* block) {
                             return host_->start_reduce_scatter_sum(values<T>(block), slices);
                           }});
}

template <class T>
PendingPtr StagedCommunicator::start_gather(T* data, const std::vector<Interval>& slices) {
  const Packed packed(data, slices);
  std::vector<StagedPiece> others = packed.pieces;
  const StagedPiece own = std::exchange(others[static_cast<std::size_t>(rank())], {});
  return std::make_unique<StagedTransfer>(
      staging_,
      StagedWork{
          nullptr, packed.bytes, {own}, others, [this, slices = packed.slices](std::byte* block) {
            return host_->start_all_gather(values<T>(block), slices);
          }});
}

PendingPtr StagedCommunicator::start_all_reduce_sum(float* data, std::size_t n) {
  return start_whole<float>(
      data, n, [this, n](float* block) { return host_->start_all_reduce_sum(block, n); });
}

void StagedCommunicator::all_reduce_max(float* data, std::size_t n) {
  wait(start_whole<float>(
      data, n, [this, n](float* block) { return host_->start_all_reduce_max(block, n); }));
}

/// A block has what goes, and behind it what comes.
void StagedCommunicator::all_to_all(const void* from, const std::vector<std::size_t>& sent,
                                    void* to, const std::vector<std::size_t>& received) {
  const std::size_t goes = std::accumulate(sent.begin(), sent.end(), std::size_t{0});
  const std::size_t comes = std::accumulate(received.begin(), received.end(), std::size_t{0});
  const StagedPiece down = {0, const_cast<void*>(from), goes};  // only read: it is not among the
                                                                // uploads
  const StagedPiece up = {goes, to, comes};
  StagedTransfer transfer(staging_,
                          {nullptr, goes + comes, {down}, {up}, [&, this](std::byte* block) {
                             return host_->start_all_to_all(block, sent, block + goes, received);
                           }});
  waiter_.wait(transfer, [this] { return name_; });
}

PendingPtr StagedCommunicator::start_reduce_scatter_sum(float* data,
                                                        const std::vector<Interval>& slices) {
  return start_scatter(data, slices);
}

PendingPtr StagedCommunicator::start_all_gather(float* data, const std::vector<Interval>& slices) {
  return start_gather(data, slices);
}

PendingPtr StagedCommunicator::start_all_reduce_sum(BFloat16* data, std::size_t n) {
  return start_whole<BFloat16>(
      data, n, [this, n](BFloat16* block) { return host_->start_all_reduce_sum(block, n); });
}

PendingPtr StagedCommunicator::start_reduce_scatter_sum(BFloat16* data,
                                                        const std::vector<Interval>& slices) {
  return start_scatter(data, slices);
}

PendingPtr StagedCommunicator::start_all_gather(BFloat16* data,
                                                const std::vector<Interval>& slices) {
  return start_gather(data, slices);
}

PendingPtr StagedTransport::send(RankId to, int tag, const void* data, std::size_t bytes) {
  const StagedPiece whole = {0, const_cast<void*>(data), bytes};  // only read: it is not among the
                                                                  // uploads
  return std::make_unique<StagedTransfer>(
      staging_, StagedWork{nullptr, bytes, {whole}, {}, [this, to, tag, bytes](std::byte* b) {
                             return host_->send(to, tag, b, bytes);
                           }});
}

PendingPtr StagedTransport::receive(RankId from, int tag, void* data, std::size_t bytes) {
  return std::make_unique<StagedTransfer>(
      staging_,
      StagedWork{nullptr, bytes, {}, {{0, data, bytes}}, [this, from, tag, bytes](std::byte* b) {
                   return host_->receive(from, tag, b, bytes);
                 }});
}

}  // namespace pptrain
