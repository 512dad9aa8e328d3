#include "comm/staging.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace pptrain {
namespace {

bool have_ended(const std::vector<DeviceWorkPtr>& works) {
  return std::all_of(works.begin(), works.end(),
                     [](const DeviceWorkPtr& work) { return work->has_ended(); });
}

}  // namespace

StagedTransfer::StagedTransfer(Staging& staging, StagedWork work)
    : staging_(staging), work_(std::move(work)) {
  const bool waits = work_.behind != nullptr || !work_.downloads.empty();
  if (work_.behind != nullptr) {
    downloads_.push_back(std::move(work_.behind));
  } else {
    block_ = Buffer(staging.blocks(), work_.bytes);
  }
  for (const StagedPiece& piece : work_.downloads) {
    if (piece.bytes == 0) continue;
    downloads_.push_back(staging_.device().start_download(
        static_cast<std::byte*>(block_.data()) + piece.offset, piece.device, piece.bytes));
  }
  if (!waits) start_move();
  staging_.transfers_.push_back(this);
}

StagedTransfer::~StagedTransfer() {
  // Only an error leaves a transfer behind. The message is taken back before its block goes.
  staging_.transfers_.remove(this);
  transfer_.reset();
  // Whether the device has done with it is asked later: it may answer with an error.
  if (block_) staging_.kept_.push_back({std::move(block_), std::move(downloads_)});
}

bool StagedTransfer::test() {
  staging_.progress();
  return phase_ == Phase::ended;
}

std::string StagedTransfer::missing() const {
  if (phase_ == Phase::ended) return nothing_missing;
  return transfer_ == nullptr ? "the work of " + staging_.device().name() + " before a transfer"
                              : transfer_->missing();
}

bool StagedTransfer::is_downloaded() { return have_ended(downloads_); }

void StagedTransfer::start_move() {
  transfer_ = work_.move(static_cast<std::byte*>(block_.data()));
  phase_ = Phase::move;
}

void StagedTransfer::try_to_end() {
  if (!transfer_->test()) return;
  phase_ = Phase::ended;
  std::vector<DeviceWorkPtr> uploads;
  for (const StagedPiece& piece : work_.uploads) {
    if (piece.bytes == 0) continue;
    uploads.push_back(staging_.device().start_upload(
        piece.device, static_cast<std::byte*>(block_.data()) + piece.offset, piece.bytes));
  }
  transfer_.reset();
  staging_.keep(std::move(block_), std::move(uploads));
}

Staging::~Staging() {
  try {
    device_.synchronize();
  } catch (const Error& error) {
    log_warning("{}", error.what());
  }
  kept_.clear();
}

void Staging::keep(Buffer block, std::vector<DeviceWorkPtr> works) {
  if (!have_ended(works)) kept_.push_back({std::move(block), std::move(works)});
}

void Staging::progress() {
  bool starts = true;  // so far all have been started in their order
  for (auto next = transfers_.begin(); next != transfers_.end();) {
    StagedTransfer& transfer = **next;
    starts =
        starts && (transfer.phase_ != StagedTransfer::Phase::download || transfer.is_downloaded());
    if (starts && transfer.phase_ == StagedTransfer::Phase::download) transfer.start_move();
    if (transfer.phase_ == StagedTransfer::Phase::move) transfer.try_to_end();
    next =
        transfer.phase_ == StagedTransfer::Phase::ended ? transfers_.erase(next) : std::next(next);
  }
  kept_.remove_if([](const Kept& kept) { return have_ended(kept.works); });
}

}  // namespace pptrain
