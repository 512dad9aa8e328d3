#include "watch.hpp"

#include <algorithm>

namespace cuda_on_host::ptx {

void Clock::pass_warp_barrier(const std::array<Clock*, lanes>& clocks, unsigned mask) {
  std::array<unsigned, lanes> joined = {};
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    ++clocks[lane]->ticks_[lane];
    for (unsigned other = 0; other < lanes; ++other)
      joined[other] = std::max(joined[other], clocks[lane]->ticks_[other]);
  }
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if ((mask >> lane & 1U) != 0) clocks[lane]->ticks_ = joined;
  }
}

Place::Access Place::made_by(const Clock& now) {
  return {true, now.block(), now.thread(), now.epoch(), now.own_tick()};
}

bool Place::is_ordered(const Access& before, const Clock& now) {
  if (before.block != now.block()) return false;
  if (before.thread == now.thread() || before.epoch < now.epoch()) return true;
  return before.thread / Clock::lanes == now.warp() &&
         now.tick(before.thread % Clock::lanes) > before.tick;
}

const char* Place::read(const Clock& now) {
  const bool is_ours = !write_.is_there || is_ordered(write_, now);
  const bool is_other_block = read_.is_there && read_.block != now.block();
  by_blocks_ = by_blocks_ || is_other_block;
  if (!read_.is_there || is_other_block || read_.epoch < now.epoch()) {
    reading_lanes_ = 0;
    by_warps_ = false;
  } else {
    by_warps_ = by_warps_ || read_.thread / Clock::lanes != now.warp();
  }
  reading_lanes_ |= 1U << now.thread() % Clock::lanes;
  read_ = made_by(now);
  if (is_ours) return nullptr;
  return write_.block == now.block() ? "reads what another thread writes"
                                     : "reads what another block writes";
}

/// Reads in an earlier epoch lie before a barrier of the block. Lanes that have read in this epoch
/// must have passed a barrier of the warp since.
const char* Place::why_not_after_reads(const Clock& now) const {
  if (!read_.is_there) return nullptr;
  if (by_blocks_ || read_.block != now.block()) return "writes what another block reads";
  if (read_.epoch < now.epoch()) return nullptr;
  if (by_warps_ || read_.thread / Clock::lanes != now.warp())
    return "writes what another warp reads";
  for (unsigned lane = 0; lane < Clock::lanes; ++lane) {
    const bool is_other = (reading_lanes_ >> lane & 1U) != 0 && lane != now.thread() % Clock::lanes;
    if (is_other && now.tick(lane) <= read_.tick) return "writes what another lane reads";
  }
  return nullptr;
}

const char* Place::write(const Clock& now) {
  const char* wrong = why_not_after_reads(now);
  if (wrong == nullptr && write_.is_there && !is_ordered(write_, now)) {
    wrong = write_.block == now.block() ? "writes what another thread writes"
                                        : "writes what another block writes";
  }
  write_ = made_by(now);
  return wrong;
}

void GlobalPlaces::find_page(std::uint64_t number) {
  auto& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>(page_bytes / bytes_per_place_);
  last_ = page.get();
  last_number_ = number;
}

}  // namespace cuda_on_host::ptx
