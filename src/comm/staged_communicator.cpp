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

  Packed(void* data, DType type, const std::vector<Interval>& of_array) {
    std::int64_t end = 0;
    for (const Interval& slice : of_array) {
      const std::size_t size = static_cast<std::size_t>(slice.size()) * size_of(type);
      const std::size_t offset = static_cast<std::size_t>(slice.begin) * size_of(type);
      slices.push_back({end, end + slice.size()});
      pieces.push_back({bytes, static_cast<std::byte*>(data) + offset, size});
      end += slice.size();
      bytes += size;
    }
  }
};

}  // namespace

void StagedCommunicator::wait(const PendingPtr& pending) {
  waiter_.wait(*pending, [this] { return name_; });
}

/// What a member has of the array goes down, and comes up what it gets: of a reduce-scatter its own
/// slice alone, of an all-gather the slices of the others.
PendingPtr StagedCommunicator::start(Collective collective, void* data, DType type,
                                     const std::vector<Interval>& slices) {
  const Packed packed(data, type, slices);
  std::vector<StagedPiece> down = packed.pieces;
  std::vector<StagedPiece> up = packed.pieces;
  const auto own = static_cast<std::size_t>(rank());
  if (collective == Collective::reduce_scatter_sum) up = {packed.pieces[own]};
  if (collective == Collective::all_gather) down = {std::exchange(up[own], {})};
  const auto move = [this, collective, type, slices = packed.slices](std::byte* block) {
    return host_->start(collective, block, type, slices);
  };
  return std::make_unique<StagedTransfer>(
      staging_, StagedWork{nullptr, packed.bytes, std::move(down), std::move(up), move});
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
