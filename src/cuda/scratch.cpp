#include "cuda/scratch.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {

Scratch::~Scratch() {
  if (block_ != nullptr) device_.free(block_);
}

void* Scratch::take_bytes(std::size_t bytes) {
  if (bytes <= bytes_) return block_;
  if (block_ != nullptr) device_.free(block_);
  bytes_ = 0;
  block_ = device_.allocate(bytes);
  if (block_ == nullptr) {
    throw_runtime_failure({"", fmt::format("{} gave no {} bytes for the kernels' own use", device_.name(), bytes),
                           "its memory is full", "use a smaller micro-batch or fewer ranks per GPU"});
  }
  bytes_ = bytes;
  return block_;
}

}  // namespace pptrain
