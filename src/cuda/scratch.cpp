#include "cuda/scratch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {

Scratch::~Scratch() {
  for (void* block : blocks_) device_.free(block);
}

/// An outgrown block is not given back: cudaFree waits for the whole GPU, where a sum over ranks
/// may go on that waits for another rank, and that one for this one's host.
void* Scratch::take_bytes(std::size_t bytes) {
  if (!blocks_.empty() && bytes <= bytes_) return blocks_.back();
  const std::size_t size = std::max(bytes, 2 * bytes_);
  void* block = device_.allocate(size);
  if (block == nullptr) {
    throw_runtime_failure(
        {"", fmt::format("{} gave no {} bytes for the kernels' own use", device_.name(), size),
         "its memory is full", "use a smaller micro-batch or fewer ranks per GPU"});
  }
  blocks_.push_back(block);
  bytes_ = size;
  return block;
}

}  // namespace pptrain
