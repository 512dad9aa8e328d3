#pragma once

#include <cstdint>

namespace pptrain {

/// Decides which elements of a tensor are dropped, by counter-based random numbers of seed, stream
/// and element.
///
/// Element i takes word i % 4 of block i / 4 of Philox 4x32-10 (Salmon et al., "Parallel random
/// numbers: as easy as 1, 2, 3", 2011), and is dropped where that is below `rate` * 2^32.
struct DropoutMask {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t first = 0;  ///< element of the stream that the first one of the tensor is
  double rate = 0.0;        ///< in [0, 1); what is left is multiplied by 1 / (1 - rate)
};

}  // namespace pptrain
