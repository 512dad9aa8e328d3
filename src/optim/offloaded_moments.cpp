#include "optim/offloaded_moments.hpp"

#include <algorithm>
#include <array>

#include "cost/offload.hpp"

namespace pptrain {
namespace {

/// Elements of a run from `begin` on, with the state at `m` and `v`.
AdamWRun part_of(const AdamWRun& run, std::size_t begin, std::size_t size, float* m, float* v) {
  AdamWRun part = run;
  part.parameter += begin;
  part.gradient += begin;
  part.m = m;
  part.v = v;
  part.size = size;
  if (run.copy.data != nullptr) part.copy = run.copy.columns_from(begin, size);
  return part;
}

}  // namespace

OffloadedMoments::OffloadedMoments(std::vector<AdamWRun> runs, std::vector<std::size_t> offsets, std::size_t size,
                                   float* first, float* second, Arena& arena, Kernels& kernels)
    : runs_(std::move(runs)),
      first_(first),
      second_(second),
      arena_(arena),
      kernels_(kernels),
      chunk_elements_(offloaded_chunk_elements(size)) {
  cut(offsets, size);
}

void OffloadedMoments::cut(const std::vector<std::size_t>& offsets, std::size_t size) {
  for (std::size_t begin = 0; begin < size; begin += chunk_elements_) {
    chunks_.push_back({begin, std::min(begin + chunk_elements_, size), {}});
  }
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    for (std::size_t done = 0; done < runs_[r].size;) {
      const std::size_t offset = offsets[r] + done;
      Chunk& chunk = chunks_[offset / chunk_elements_];
      const std::size_t piece = std::min(runs_[r].size - done, chunk.end - offset);
      chunk.pieces.push_back({r, done, offset, piece, done + piece == runs_[r].size});
      done += piece;
    }
  }
}

void OffloadedMoments::fetch(const Chunk& chunk, Slot& slot) {
  const std::size_t bytes = (chunk.end - chunk.begin) * sizeof(float);
  slot.copies.push_back(arena_.device().start_fetch(slot.first(), first_ + chunk.begin, bytes));
  slot.copies.push_back(arena_.device().start_fetch(slot.second(), second_ + chunk.begin, bytes));
}

void OffloadedMoments::send_back(const Chunk& chunk, Slot& slot) {
  const std::size_t bytes = (chunk.end - chunk.begin) * sizeof(float);
  slot.copies.push_back(arena_.device().start_download(first_ + chunk.begin, slot.first(), bytes));
  slot.copies.push_back(arena_.device().start_download(second_ + chunk.begin, slot.second(), bytes));
}

void OffloadedMoments::follow(Slot& slot) {
  for (const DeviceWorkPtr& copy : slot.copies) arena_.device().follow(*copy);
  slot.copies.clear();
}

void OffloadedMoments::update(const Chunk& chunk, const Slot& slot, const AdamWStep& step) {
  std::vector<AdamWRun> parts;
  for (const Piece& piece : chunk.pieces) {
    const std::size_t there = piece.offset - chunk.begin;
    parts.push_back(part_of(runs_[piece.run], piece.begin, piece.size, slot.first() + there, slot.second() + there));
  }
  for (std::size_t done = 0; done < parts.size();) done += kernels_.adamw(&parts[done], parts.size() - done, step);
}

void OffloadedMoments::step(const AdamWStep& step, const std::function<void(std::size_t)>& updated) {
  std::array<Slot, 2> slots;
  const std::size_t num_used = std::min(slots.size(), chunks_.size());
  for (std::size_t c = 0; c < num_used; ++c) {
    slots[c].moments = Tensor(arena_, 2, chunk_elements_);
    fetch(chunks_[c], slots[c]);
  }
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    Slot& slot = slots[c % slots.size()];
    follow(slot);
    update(chunks_[c], slot, step);
    send_back(chunks_[c], slot);
    if (c + slots.size() < chunks_.size()) {
      slot.copies.clear();  // the fetch comes behind them
      fetch(chunks_[c + slots.size()], slot);
    }
    for (const Piece& piece : chunks_[c].pieces) {
      if (piece.is_last) updated(piece.run);
    }
  }
  for (Slot& slot : slots) follow(slot);  // before its memory is another's
}

}  // namespace pptrain
