#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "runtime/checkpoint/checkpointer.hpp"
#include "runtime/checkpoint/stop_request.hpp"
#include "runtime/generate/sample_prompts.hpp"
#include "runtime/job/datasets.hpp"
#include "runtime/record/recorder.hpp"
#include "runtime/replan/drift.hpp"
#include "runtime/replan/running_plan.hpp"

namespace pptrain {

/// How a training ended.
enum class TrainingEnd { done, stopped, interrupted };

/// The samples of a step.
SampleSource samples_of(const Datasets& datasets, std::int64_t step);

/// What a training needs beside the job; everything outlives it.
struct TrainingParts {
  Waiter& waiter;
  Alarm& alarm;
  const Datasets& datasets;
  Recorder& recorder;
  StopRequest& stop;
  const SamplePrompts& samples;
  std::string data_fingerprint;  ///< on rank 0
  std::string run_directory;     ///< on all ranks
  std::string resumed_from;      ///< the checkpoint that the job goes on from; "": from the start
};

/// The job of one rank from the plan on.
class Trainer {
 public:
  /// Collective.
  Trainer(const PlanJob& job, const TrainingParts& parts, std::unique_ptr<RunningPlan> running);

  /// Trains from step `first` on; stopped when some rank asked for it and a checkpoint is written,
  /// interrupted when some rank was and, where checkpoints are written at all, one is. Collective.
  TrainingEnd run(std::int64_t first);
  /// What an interrupted training has reached, and how to go on.
  std::string reached() const;
  /// Most bytes of the device's memory that this rank had in use at once, over all plans since
  /// construction.
  std::size_t peak_bytes() const {
    return std::max(past_peak_bytes_, session_->arena().peak_bytes());
  }
  /// The last checkpoint that `run` has written, known on all ranks; its path is empty before the
  /// first one.
  const WrittenCheckpoint& last_checkpoint() const { return last_checkpoint_; }

 private:
  using Clock = std::chrono::steady_clock;

  void take(std::unique_ptr<RunningPlan> running);
  void train_step(std::int64_t step, IterationResult& result);
  void count_time_between(IterationResult& result);
  void check_numbers(std::int64_t step, const IterationResult& result);
  Complaint no_numbers(std::int64_t step, const IterationResult& result) const;
  void check_trained() const;
  void go_on_with(const Plan& plan, std::int64_t step);
  bool evaluates_after(std::int64_t step) const;
  void evaluate_after(std::int64_t step, IterationResult& result);
  void print_samples(std::int64_t step);
  bool saves_after(std::int64_t step) const;
  void announce_checkpoint() const;
  void save(std::int64_t steps_done);
  void reckon(double iteration_seconds);

  const PlanJob& job_;
  const Config& config_;
  TrainingParts parts_;
  Drift drift_;
  Checkpointer checkpointer_;
  WrittenCheckpoint last_checkpoint_;
  std::string newest_checkpoint_;  ///< written or resumed from
  std::string sound_checkpoint_;  ///< the newest one from which a step has led to finite gradients;
                                  ///< "": none yet
  double iteration_seconds_ = 0.0;  ///< the longest one
  std::unique_ptr<RunningPlan> running_;
  Session* session_ = nullptr;       ///< of `running_`
  std::size_t past_peak_bytes_ = 0;  ///< of sessions of other plans
  std::int64_t steps_done_ = 0;
  Trace trace_;  ///< of the last iteration
  /// When the iteration before ended, where nothing but its numbers has been dealt with since.
  std::optional<Clock::time_point> last_end_;
};

}  // namespace pptrain
