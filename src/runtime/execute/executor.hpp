#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.hpp"
#include "program/trace.hpp"
#include "runtime/execute/activation_offload.hpp"
#include "runtime/execute/boundary_messages.hpp"
#include "runtime/execute/device_times.hpp"
#include "runtime/execute/executor_parts.hpp"
#include "runtime/execute/expert_loads.hpp"
#include "runtime/execute/iteration.hpp"
#include "runtime/execute/sample_loader.hpp"
#include "runtime/execute/stored_task.hpp"

namespace pptrain {

/// Runs a program against memory, kernels and communicators.
class Executor {
 public:
  explicit Executor(const ExecutorParts& parts);

  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// One iteration of a training or evaluation program. Collective over all ranks.
  IterationResult run(const Program& program, const Iteration& iteration);

 private:
  /// Sums over an iteration, in the device's memory.
  struct Sums {
    Buffer buffer;
    /// Sum of the losses of this device's targets, not yet divided by their number.
    double* loss() const { return static_cast<double*>(buffer.data()); }
    /// Sum of the squares of the gradients that count here, with the loss scale in them.
    double* squares() const { return loss() + 1; }
    /// Each chunk has a sum for itself: the order in which tasks of chunks alternate decides none.
    double* balance(ChunkId chunk) const { return loss() + 2 + chunk.value; }
  };
  /// What an iteration leaves in the trace.
  struct Traced {
    const Instruction* instruction;
    Lane lane;
    DeviceTimes::Point begin, end;
  };

  std::int64_t count_targets(const Iteration& iteration) const;
  /// Rows of the global batch that pass through layers.
  double global_rows() const {
    return static_cast<double>(parts_.plan.global_batch_size * parts_.model.sample.rows);
  }
  /// What sums over the targets are divided by; a batch without any has a loss of 0.
  double divisor() const { return static_cast<double>(std::max<std::int64_t>(result_.targets, 1)); }
  void run_instruction(const Program& program, std::size_t number, const Iteration& iteration);
  void execute_traced(const Program& program, const Instruction& instruction,
                      const Iteration& iteration);
  void execute(const Instruction& instruction, const Iteration& iteration);
  void wait_for_sends(const Iteration& iteration);
  void count_times(double cpu_start);
  void write_trace(const Program& program, Trace& trace);
  void forward(const Instruction& instruction, const Iteration& iteration, bool keep);
  void backward_input(const Instruction& instruction, bool with_weight);
  void backward_weight(const Instruction& instruction);
  void wait_gradients();
  void reduce_loss(const Iteration& iteration);
  void reduce_norm(const Iteration& iteration);
  void update(const Iteration& iteration);
  void step(const Iteration& iteration);

  void fetch_for_next(const Instruction& task);
  void keep_or_send(const Instruction& task, bool last, Saved& saved);
  void bring_back(const Instruction& task, const StoredTask& stored, std::size_t part,
                  std::size_t layer);
  double own_balance();
  void read_chosen_rows(StoredTask& stored, MicroBatchId micro_batch);
  double value_of(const double* sum);
  void wait_for_device(DeviceWorkPtr work);
  void limit_lead();
  std::string place() const;

  ExecutorParts parts_;
  Arena values_;                    ///< of the host
  std::deque<DeviceWorkPtr> lead_;  ///< work of the device up to the ends of the last tasks
  int last_chunk_ = 0;
  BoundaryMessages messages_;
  SampleLoader samples_;
  std::map<std::pair<int, int>, StoredTask> stored_;
  const Instruction* current_ = nullptr;    ///< null between iterations
  const Instruction* next_task_ = nullptr;  ///< behind the current one, or null
  std::optional<ActivationOffload> offload_;
  Sums sums_;
  ExpertLoads expert_loads_;
  DeviceTimes times_;
  std::vector<Traced> traced_;
  IterationResult result_;
};

}  // namespace pptrain
