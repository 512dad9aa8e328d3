#include "optim/offloaded_state.hpp"

#include <algorithm>
#include <array>

#include "cost/offload.hpp"

namespace pptrain {
namespace {

/// Elements of a run from `begin` on, with the state that is given.
UpdateRun part_of(const UpdateRun& run, std::size_t begin, std::size_t size, float* first,
                  float* second) {
  UpdateRun part = run;
  part.parameter += begin;
  part.gradient += begin;
  part.first = first;
  part.second = second;
  part.size = size;
  if (run.copy.data != nullptr) part.copy = run.copy.columns_from(begin, size);
  return part;
}

}  // namespace

OffloadedState::OffloadedState(std::vector<UpdateRun> runs, const std::vector<std::size_t>& offsets,
                               std::size_t size, std::vector<float*> arrays, Arena& arena)
    : runs_(std::move(runs)),
      arrays_(std::move(arrays)),
      arena_(arena),
      chunk_elements_(offloaded_chunk_elements(size)) {
  cut(offsets, size);
}

void OffloadedState::cut(const std::vector<std::size_t>& offsets, std::size_t size) {
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

void OffloadedState::fetch(const Chunk& chunk, Slot& slot) {
  const std::size_t bytes = (chunk.end - chunk.begin) * sizeof(float);
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    slot.copies.push_back(
        arena_.device().start_fetch(slot.quantity(k), arrays_[k] + chunk.begin, bytes));
  }
}

void OffloadedState::send_back(const Chunk& chunk, Slot& slot) {
  const std::size_t bytes = (chunk.end - chunk.begin) * sizeof(float);
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    slot.copies.push_back(
        arena_.device().start_download(arrays_[k] + chunk.begin, slot.quantity(k), bytes));
  }
}

void OffloadedState::follow(Slot& slot) {
  for (const DeviceWorkPtr& copy : slot.copies) arena_.device().follow(*copy);
  slot.copies.clear();
}

void OffloadedState::update(const Chunk& chunk, const Slot& slot, const ElementStep& step) {
  std::vector<UpdateRun> parts;
  for (const Piece& piece : chunk.pieces) {
    const std::size_t there = piece.offset - chunk.begin;
    float* second = arrays_.size() > 1 ? slot.quantity(1) + there : nullptr;
    parts.push_back(
        part_of(runs_[piece.run], piece.begin, piece.size, slot.quantity(0) + there, second));
  }
  for (std::size_t done = 0; done < parts.size();) done += step(&parts[done], parts.size() - done);
}

void OffloadedState::step(const ElementStep& step,
                          const std::function<void(std::size_t)>& updated) {
  std::array<Slot, 2> slots;
  const std::size_t num_used = std::min(slots.size(), chunks_.size());
  for (std::size_t c = 0; c < num_used; ++c) {
    slots[c].values = Tensor(arena_, arrays_.size(), chunk_elements_);
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
