#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace pptrain {

/// When a device under ZeRO stage 3 that runs several chunks holds which chunk's weights: by task,
/// the chunks whose gathering starts before it and those that are released after it.
struct ChunkGathers {
  std::vector<std::vector<ChunkId>> before;
  std::vector<std::vector<ChunkId>> after;
};

/// One gather per run of F and B of one chunk (W needs no weights), so that ZeroPP has two per
/// chunk and unit and one for the last (Tang et al., 2024, Section 3.2). The next run's is started
/// when a run begins, so that it is under way beside the whole run; two chunks are there at once.
ChunkGathers chunk_gathers(const TaskOrder& order);

}  // namespace pptrain
