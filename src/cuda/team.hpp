#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "base/bfloat16.hpp"

/// The threads that work on one row together, with the members of kernels::SerialTeam. Sums are
/// formed in an order that depends on the number of elements and threads alone. C++17.
namespace pptrain::cuda {

constexpr unsigned warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffU;

// Steps that only a device can take. The shared bodies are compiled for the host too, where nothing
// calls these.
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
PPTRAIN_FUNCTION inline float from_lane_xor(float value, int lanes) {
  return __shfl_xor_sync(all_lanes, value, lanes);
}
PPTRAIN_FUNCTION inline double from_lane_xor(double value, int lanes) {
  return __shfl_xor_sync(all_lanes, value, lanes);
}
PPTRAIN_FUNCTION inline void sync_warp() { __syncwarp(); }
PPTRAIN_FUNCTION inline void sync_block() { __syncthreads(); }
#else
PPTRAIN_FUNCTION inline float from_lane_xor(float value, int) { return value; }
PPTRAIN_FUNCTION inline double from_lane_xor(double value, int) { return value; }
PPTRAIN_FUNCTION inline void sync_warp() {}
PPTRAIN_FUNCTION inline void sync_block() {}
#endif

// The shared memory that a launch asks for (the host's tests define an array).
#ifdef __CUDACC__
extern __shared__ uint4 dynamic_shared_memory[];
#else
extern uint4 dynamic_shared_memory[];
#endif

struct Plus {
  template <class T>
  PPTRAIN_FUNCTION T operator()(T a, T b) const {
    return a + b;
  }
};

/// NaNs are skipped.
struct Larger {
  PPTRAIN_FUNCTION float operator()(float most, float value) const {
    return value > most ? value : most;
  }
};

/// All lanes get the same bits, since `combine` is commutative.
template <class T, class Combine>
PPTRAIN_FUNCTION T combine_lanes(T value, const Combine& combine) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2)
    value = combine(value, from_lane_xor(value, lanes));
  return value;
}

/// f(i) for the places i of [0, n) that member `member` of `members` visits, which are always the
/// same.
template <class F>
PPTRAIN_FUNCTION void visit(std::size_t n, unsigned member, unsigned members, const F& f) {
  for (std::size_t i = member; i < n; i += members) f(i);
}

/// The lanes of a warp, all of them.
class WarpTeam {
 public:
  PPTRAIN_FUNCTION explicit WarpTeam(unsigned lane) : lane_(lane) {}

  template <class F>
  PPTRAIN_FUNCTION void for_each(std::size_t n, const F& f) const {
    visit(n, lane_, warp_size, f);
  }
  template <class F>
  PPTRAIN_FUNCTION void once(const F& f) const {
    sync_warp();
    if (lane_ == 0) f();
  }
  template <class F>
  PPTRAIN_FUNCTION float sum(std::size_t n, const F& f) const {
    float total = 0;
    visit(n, lane_, warp_size, [&](std::size_t i) { total += f(i); });
    return combine_lanes(total, Plus());
  }
  template <class F>
  PPTRAIN_FUNCTION float max(std::size_t n, const F& f) const {
    float most = -__builtin_huge_valf();
    visit(n, lane_, warp_size, [&](std::size_t i) { most = Larger()(most, f(i)); });
    return combine_lanes(most, Larger());
  }

 private:
  unsigned lane_;
};

/// Every member's value combined, in `scratch` of one value per warp, which all see; all threads of
/// the block call it.
template <class T, class Combine>
PPTRAIN_FUNCTION T combine_block(T value, T none, unsigned thread, unsigned threads, T* scratch,
                                 const Combine& combine) {
  const unsigned lane = thread % warp_size, warps = threads / warp_size;
  value = combine_lanes(value, combine);
  if (lane == 0) scratch[thread / warp_size] = value;
  sync_block();
  value = combine_lanes(lane < warps ? scratch[lane] : none, combine);
  sync_block();  // before the scratch is written again
  return value;
}

/// The threads of a block, a multiple of 32.
class BlockTeam {
 public:
  /// `scratch`: 32 floats of shared memory.
  PPTRAIN_FUNCTION BlockTeam(unsigned thread, unsigned threads, float* scratch)
      : thread_(thread), threads_(threads), scratch_(scratch) {}

  template <class F>
  PPTRAIN_FUNCTION void for_each(std::size_t n, const F& f) const {
    visit(n, thread_, threads_, f);
  }
  template <class F>
  PPTRAIN_FUNCTION void once(const F& f) const {
    sync_block();
    if (thread_ == 0) f();
  }
  template <class F>
  PPTRAIN_FUNCTION float sum(std::size_t n, const F& f) const {
    float total = 0;
    visit(n, thread_, threads_, [&](std::size_t i) { total += f(i); });
    return combine_block(total, 0.0f, thread_, threads_, scratch_, Plus());
  }
  template <class F>
  PPTRAIN_FUNCTION float max(std::size_t n, const F& f) const {
    float most = -__builtin_huge_valf();
    visit(n, thread_, threads_, [&](std::size_t i) { most = Larger()(most, f(i)); });
    return combine_block(most, -__builtin_huge_valf(), thread_, threads_, scratch_, Larger());
  }

 private:
  unsigned thread_, threads_;
  float* scratch_;
};

}  // namespace pptrain::cuda
