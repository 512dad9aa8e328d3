#include "tensor/arena.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/error.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

constexpr std::size_t least_step = 64;

/// Sizes are rounded up so that nearly equal requests share blocks; at most 1/64 is wasted.
std::size_t rounded(std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  std::size_t step = least_step;
  while (bytes > step * 128) step *= 2;
  return (bytes + step - 1) / step * step;
}

}  // namespace

Arena::~Arena() { trim(held_); }

void Arena::trim(std::size_t bytes) {
  std::size_t freed = 0;
  while (freed < bytes && !cache_.empty()) {
    const auto largest = std::prev(cache_.end());
    for (std::vector<void*>& blocks = largest->second; freed < bytes && !blocks.empty();
         blocks.pop_back()) {
      device_.free(blocks.back());
      freed += largest->first;
    }
    if (largest->second.empty()) cache_.erase(largest);
  }
  held_ -= freed;
}

void* Arena::kept_block(std::size_t size) {
  const bool much_is_kept = 4 * (held_ + size) > 5 * peak_;
  const auto end = much_is_kept ? cache_.upper_bound(2 * size) : cache_.upper_bound(size);
  for (auto kept = cache_.lower_bound(size); kept != end; ++kept) {
    auto& [of_block, blocks] = *kept;
    if (blocks.empty()) continue;
    void* block = blocks.back();
    blocks.pop_back();
    if (of_block > size) larger_[block] = of_block;
    return block;
  }
  return nullptr;
}

void* Arena::fresh_block(std::size_t size) {
  if (held_ + size > 2 * std::max(peak_, in_use_ + size)) trim(size);
  if (capacity_ != 0 && held_ + size > capacity_) trim(held_ + size - capacity_);
  void* block = device_.allocate(size);
  if (block == nullptr) {
    trim(held_);
    block = device_.allocate(size);
  }
  if (block == nullptr) {
    throw_runtime_failure(
        {"",
         fmt::format("{} gave no {} of memory", device_.is_host() ? "the host" : device_.name(),
                     format_bytes(static_cast<double>(size))),
         fmt::format("{} are in use", format_bytes(static_cast<double>(in_use_))),
         fmt::format("use a smaller micro-batch or fewer ranks per {}",
                     device_.is_host() ? "host" : "GPU")});
  }
  held_ += size;
  return block;
}

void* Arena::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  if (capacity_ != 0 && in_use_ + size > capacity_) {
    throw_runtime_failure(
        {owner_,
         fmt::format("out of device memory: {} asked for with {} in use",
                     format_bytes(static_cast<double>(size)),
                     format_bytes(static_cast<double>(in_use_))),
         fmt::format("the device has {}", format_bytes(static_cast<double>(capacity_))),
         "use a smaller micro-batch or more pipeline stages"});
  }
  void* block = kept_block(size);
  if (block == nullptr) block = fresh_block(size);
  in_use_ += size;
  if (in_use_ > peak_) peak_ = in_use_;
  if (poison_) device_.fill(block, 0xff, size);
  return block;
}

void Arena::release(void* block, std::size_t bytes) {
  std::size_t size = rounded(bytes);
  in_use_ -= size;
  if (const auto larger = larger_.find(block); larger != larger_.end()) {
    size = larger->second;
    larger_.erase(larger);
  }
  std::vector<void*>& blocks = cache_[size];
  // On the host the last one is in the processor's caches. On a device the lowest address goes out
  // first, so that equal tasks get equal blocks, in whatever order they gave them back.
  const auto place = device_.is_host()
                         ? blocks.end()
                         : std::lower_bound(blocks.begin(), blocks.end(), block, std::greater<>());
  blocks.insert(place, block);
}

}  // namespace pptrain
