#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cuda_on_host::ptx {

/// When a thread of a grid is, as far as others can tell: accesses of two threads have an order
/// where a barrier of their block lies between them, or one of their warp that both took part in.
/// Shuffles order nothing.
class Clock {
 public:
  static constexpr unsigned lanes = 32;

  void begin(unsigned block, unsigned thread) { *this = Clock(block, thread); }
  unsigned block() const { return block_; }
  unsigned thread() const { return thread_; }
  unsigned warp() const { return thread_ / lanes; }
  /// Barriers of the block that the thread has passed.
  unsigned epoch() const { return epoch_; }
  /// Barriers of its warp that it knows lane `lane` of its warp to have passed.
  unsigned tick(unsigned lane) const { return ticks_[lane]; }
  unsigned own_tick() const { return ticks_[thread_ % lanes]; }

  void pass_block_barrier() { ++epoch_; }
  /// The threads that `mask` names of the warp whose first one is clocks[0] meet.
  static void pass_warp_barrier(const std::array<Clock*, lanes>& clocks, unsigned mask);

  Clock() = default;

 private:
  Clock(unsigned block, unsigned thread) : block_(block), thread_(thread) {}

  unsigned block_ = 0, thread_ = 0, epoch_ = 0;
  std::array<unsigned, lanes> ticks_ = {};
};

/// Who wrote and read a place of memory last.
class Place {
 public:
  /// What is wrong with an access, or nullptr: it has an order to all before it that it must have
  /// one to.
  const char* read(const Clock& now);
  const char* write(const Clock& now);
  bool is_read() const { return read_.is_there; }
  bool is_written() const { return write_.is_there; }
  /// Whether somebody of a block but `block` used it last.
  bool is_of_other_block(unsigned block) const {
    return (write_.is_there && write_.block != block) || (read_.is_there && read_.block != block);
  }

 private:
  struct Access {
    bool is_there = false;
    unsigned block = 0, thread = 0, epoch = 0, tick = 0;
  };

  static Access made_by(const Clock& now);
  static bool is_ordered(const Access& before, const Clock& now);
  const char* why_not_after_reads(const Clock& now) const;

  Access write_;
  Access read_;  // the latest one
  // Lanes that have read in the block and epoch of read_; of several warps or blocks, nothing but
  // that is known.
  std::uint32_t reading_lanes_ = 0;
  bool by_warps_ = false, by_blocks_ = false;
};

/// The places of a block's shared memory, one for `bytes_per_place` bytes.
class SharedPlaces {
 public:
  explicit SharedPlaces(unsigned bytes_per_place) : bytes_per_place_(bytes_per_place) {}

  /// f(place) for the places of `bytes` bytes from `address` on. What an earlier block left there
  /// is forgotten: `block` has its own memory.
  template <class F>
  void for_each(std::uint64_t address, unsigned bytes, unsigned block, const F& f) {
    const std::size_t first = address / bytes_per_place_,
                      end = (address + bytes - 1) / bytes_per_place_ + 1;
    if (end > places_.size()) places_.resize(end);
    for (std::size_t i = first; i < end; ++i) {
      if (places_[i].is_of_other_block(block)) places_[i] = Place();
      f(places_[i]);
    }
  }

 private:
  unsigned bytes_per_place_;
  std::vector<Place> places_;
};

/// The places of global memory, one for `bytes_per_place` bytes, made when they are first used.
class GlobalPlaces {
 public:
  explicit GlobalPlaces(unsigned bytes_per_place) : bytes_per_place_(bytes_per_place) {}

  /// f(place) for the places of `bytes` bytes from `address` on.
  template <class F>
  void for_each(std::uint64_t address, unsigned bytes, const F& f) {
    for (std::uint64_t at = address; at < address + bytes; at += bytes_per_place_) f(place(at));
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  using Page = std::vector<Place>;

  Place& place(std::uint64_t address) {
    const std::uint64_t number = address / page_bytes;
    if (number != last_number_ || last_ == nullptr) find_page(number);
    return (*last_)[address % page_bytes / bytes_per_place_];
  }
  void find_page(std::uint64_t number);

  unsigned bytes_per_place_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = 0;
  Page* last_ = nullptr;
};

}  // namespace cuda_on_host::ptx
