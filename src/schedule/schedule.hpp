#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "plan/plan.hpp"
#include "program/passage.hpp"
#include "program/program.hpp"
#include "program/ties.hpp"
#include "schedule/pipeline_shape.hpp"

namespace pptrain {

enum class TaskKind { forward, backward_input, backward_weight, backward };

/// One task of a stage: F, B, W or B and W together of (chunk, micro-batch).
struct Task {
  TaskKind kind = TaskKind::forward;
  ChunkId chunk;
  MicroBatchId micro_batch;
  bool operator==(const Task&) const = default;
};

/// The order of tasks of one stage; every replica and shard of it follows the same order.
using TaskOrder = std::vector<Task>;

/// The orders of all stages, and what they cost.
struct FoundOrders {
  std::vector<TaskOrder> orders;
  std::int64_t work = 0;  ///< tasks that were scheduled or replayed until they were found
};

/// What is known of the pipeline beside the plan; what is empty counts as equal times, no latency
/// and no limit. Members as in `PipelineShape`.
struct OrderOptions {
  std::vector<TaskSeconds> seconds;
  std::vector<Cut> cuts;
  std::vector<double> reduce_seconds;
  std::vector<int> most_stored;
  std::vector<StoredBytes> stored;
  std::vector<double> room;
  OrderEffort effort = OrderEffort::full;
  auto operator<=>(const OrderOptions&) const = default;
};

/// The task order of every stage of the plan, by the schedule that the plan names
/// (docs/schedules.md). Throws `Error` (exit code 2) where the chunks do not lie as the schedule
/// needs them.
std::vector<TaskOrder> task_orders(const Plan& plan, const OrderOptions& options = {});
/// The task order of every stage of the plan, by the schedule that the plan names, and the work
/// that it took. Throws `Error` (exit code 2) where the chunks do not lie as the schedule needs
/// them.
FoundOrders find_task_orders(const Plan& plan, const OrderOptions& options);

/// Where a chunk lives. Chunks are numbered globally in layer order.
struct ChunkPlace {
  StageId stage;
  int local = 0;
  Interval layers;
};
std::vector<ChunkPlace> chunk_places(const Plan& plan);

/// Facts of the model that compilation needs, and choices that change when data moves and no
/// number.
struct CompileOptions {
  std::vector<Tie> ties = {};  ///< parameters that several layers share
  TransferForms forms = {};    ///< `cheapest_forms` says which are faster
};

class Crossings;

/// Compiles orders of tasks of one plan, again and again: what crosses its cuts is found once.
class TrainingCompiler {
 public:
  /// `plan` must outlive it.
  TrainingCompiler(const Plan& plan, CompileOptions options);
  TrainingCompiler(const TrainingCompiler&) = delete;
  TrainingCompiler& operator=(const TrainingCompiler&) = delete;
  ~TrainingCompiler();

  /// As `compile_training`: the programs whose indices are in `some`, which ascend; all where it is
  /// null.
  Programs compile(const std::vector<TaskOrder>& orders, const std::vector<int>* some);

 private:
  const Plan& plan_;
  CompileOptions options_;
  std::vector<ChunkPlace> places_;
  std::unique_ptr<Crossings> crossings_;
};

/// Compiles plan and order to one training program per device: transfers resolved to the
/// intersections of the sample intervals of the stages on both sides of each cut, gradient
/// reductions as soon as nothing is added to a chunk's gradients any more, then norm and optimizer
/// step.
Programs compile_training(const Plan& plan, const std::vector<TaskOrder>& orders,
                          const CompileOptions& options);
/// Only those of them whose indices are in `some`, which ascend.
Programs compile_training(const Plan& plan, const std::vector<TaskOrder>& orders,
                          const CompileOptions& options, const std::vector<int>& some);

/// Programs that run every micro-batch forwards only and sum the loss.
Programs compile_evaluation(const Plan& plan, const TransferForms& forms = {});

}  // namespace pptrain
