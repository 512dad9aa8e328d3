#pragma once

#include "program/program.hpp"
#include "runtime/execute/executor_parts.hpp"
#include "runtime/execute/iteration.hpp"
#include "runtime/execute/stored_task.hpp"

namespace pptrain {

/// Brings samples to the memory of the device: of the micro-batch of a task those that this device
/// computes.
class SampleLoader {
 public:
  explicit SampleLoader(const ExecutorParts& parts) : parts_(parts) {}

  /// What the first layer reads, of the samples of the part that it is in.
  void load_inputs(StoredTask& stored, const Instruction& instruction,
                   const Iteration& iteration) const;
  /// What the loss is computed from, of the samples of the part that it is in: the images that a
  /// network should draw, or classes. `loss`: where the loss is summed, in the device's memory.
  void load_targets(StoredTask& stored, const Instruction& instruction, const Iteration& iteration,
                    double* loss) const;
  /// What layers of every chunk may read beside: where documents and padding begin, the tokens of a
  /// decoder.
  void load_beside(StoredTask& stored, const Instruction& instruction,
                   const Iteration& iteration) const;

 private:
  template <class SlotOf>
  void read_samples(const Instruction& task, const Iteration& iteration, Interval own,
                    const SlotOf& slot_of) const;
  void load_documents(StoredTask& stored, const Instruction& instruction,
                      const Iteration& iteration) const;
  void load_lengths(StoredTask& stored, const Instruction& instruction,
                    const Iteration& iteration) const;
  void load_decoder_tokens(StoredTask& stored, const Instruction& instruction,
                           const Iteration& iteration) const;

  ExecutorParts parts_;
};

}  // namespace pptrain
