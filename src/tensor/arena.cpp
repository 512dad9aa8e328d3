#include "tensor/arena.hpp"

#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

constexpr std::size_t alignment = 64;

/// Sizes are rounded up so that nearly equal requests share blocks; at most an eighth is wasted.
std::size_t rounded(std::size_t bytes) {
  std::size_t step = alignment;
  while (bytes > step * 16) step *= 2;
  return (bytes + step - 1) / step * step;
}

}  // namespace

Arena::~Arena() {
  for (auto& [size, blocks] : cache_) {
    for (void* block : blocks) std::free(block);
  }
}

void* Arena::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes == 0 ? 1 : bytes);
  if (capacity_ != 0 && in_use_ + size > capacity_) {
    throw_runtime_failure(
        {"",
         fmt::format("out of device memory: {} asked for with {} in use", format_bytes(static_cast<double>(size)),
                     format_bytes(static_cast<double>(in_use_))),
         fmt::format("the device has {}", format_bytes(static_cast<double>(capacity_))),
         "use a smaller micro-batch or more pipeline stages"});
  }
  std::vector<void*>& blocks = cache_[size];
  void* block = nullptr;
  if (blocks.empty()) {
    block = std::aligned_alloc(alignment, size);
    if (block == nullptr) {
      throw_runtime_failure({"", fmt::format("the host gave no {} of memory", format_bytes(static_cast<double>(size))),
                             "", "use a smaller micro-batch or fewer ranks per host"});
    }
  } else {
    block = blocks.back();
    blocks.pop_back();
  }
  in_use_ += size;
  if (in_use_ > peak_) peak_ = in_use_;
  if (poison_) std::memset(block, 0xff, size);
  return block;
}

void Arena::release(void* block, std::size_t bytes) {
  const std::size_t size = rounded(bytes == 0 ? 1 : bytes);
  in_use_ -= size;
  cache_[size].push_back(block);
}

}  // namespace pptrain
