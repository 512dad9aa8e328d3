#pragma once

#include <cstddef>
#include <functional>
#include <map>

#include "program/program.hpp"
#include "simulate/chunk_bytes.hpp"
#include "simulate/state_record.hpp"

namespace pptrain {

/// What the tasks of one device hold, one after another.
class TaskBytes {
 public:
  TaskBytes() = default;
  /// `chunk_of(c)` are the bytes of a chunk of the program, which must outlive this.
  TaskBytes(const Program& program, const std::function<const ChunkBytes&(ChunkId)>& chunk_of);

  /// Bytes taken when the task that is instruction `i` starts, and given back when it ends.
  double start(std::size_t i, Op op, const ChunkBytes& chunk);
  /// Bytes that the task which was started last gives back; call once behind each `start`, with
  /// equal arguments.
  double end(Op op, const ChunkBytes& chunk);
  /// Given back once all gradients are summed.
  double end_sums();

  /// Adds what the bytes of later tasks depend on.
  void describe(StateRecord& state) const;

 private:
  double start_offloaded(std::size_t i, const ChunkBytes& chunk, double carried);
  double end_offloaded(Op op, const ChunkBytes& chunk);
  double end_gradients(const ChunkBytes& chunk);

  const Program* program_ = nullptr;
  std::map<int, double> kept_;  ///< by the last layer of each chunk whose activations are offloaded
  double held_ = 0.0;           ///< of offloaded activations between the last task and the next
  double leaving_ = 0.0;        ///< of that
  double held_next_ = 0.0;      ///< both behind the task that runs
  double leaving_next_ = 0.0;
  std::size_t last_reader_ = 0;  ///< the last task that reads weights
  double work_ = 0.0;            ///< of the task that runs
  double summed_ = 0.0;          ///< left by the last W
};

}  // namespace pptrain
