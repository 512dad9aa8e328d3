#pragma once

#include <Random123/philox.h>

#include <cstddef>
#include <cstdint>

#include "kernels/bodies/row_team.hpp"
#include "kernels/dropout_mask.hpp"

namespace pptrain::kernels::bodies {

/// Elements of x (n) that one block of random numbers decides about: dropped, or scaled up.
struct DropoutBlock {
  float* x;
  std::uint64_t n;
  DropoutMask mask;
  std::uint32_t threshold;
  float scale;

  /// Body that drops elements of x (n), to be run for each of `num_blocks` blocks.
  static DropoutBlock of(float* x, std::size_t n, const DropoutMask& mask) {
    return {x, n, mask, static_cast<std::uint32_t>(mask.rate * 4294967296.0),
            static_cast<float>(1.0 / (1.0 - mask.rate))};
  }
  /// Blocks of four random numbers that elements of x take theirs from.
  std::size_t num_blocks() const { return n == 0 ? 0 : (mask.first + n + 3) / 4 - mask.first / 4; }

  PPTRAIN_FUNCTION void operator()(std::size_t block) const {
    const std::uint64_t index = mask.first / 4 + block;
    const philox4x32_ctr_t counter = {
        {low(index), high(index), low(mask.stream), high(mask.stream)}};
    const philox4x32_key_t key = {{low(mask.seed), high(mask.seed)}};
    const philox4x32_ctr_t words = philox4x32_R(10, counter, key);
    for (unsigned word = 0; word < 4; ++word) {
      // Below 0, and so beyond n, in front of the tensor.
      const std::uint64_t i = 4 * index + word - mask.first;
      if (i < n) x[i] = words.v[word] < threshold ? 0.0f : x[i] * scale;
    }
  }

 private:
  PPTRAIN_FUNCTION static std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
  }
  PPTRAIN_FUNCTION static std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
  }
};

}  // namespace pptrain::kernels::bodies
