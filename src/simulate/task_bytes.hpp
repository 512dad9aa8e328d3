#pragma once

#include <cstddef>

#include "program/program.hpp"
#include "simulate/chunk_bytes.hpp"

namespace pptrain {

/// What the tasks of one device hold, one after another.
class TaskBytes {
 public:
  TaskBytes() = default;
  explicit TaskBytes(const Program& program);

  /// Bytes taken when the task that is instruction `i` starts, and given back when it ends.
  double start(std::size_t i, Op op, const ChunkBytes& chunk);
  double end(Op op, const ChunkBytes& chunk);
  /// Given back once all gradients are summed.
  double end_sums();

 private:
  std::size_t last_reader_ = 0;  ///< the last task that reads weights
  double work_ = 0.0;            ///< of the task that runs
  double summed_ = 0.0;          ///< left by the last W
  double open_ = 0.0;            ///< gradients that the W of another chunk adds to
};

}  // namespace pptrain
