#include "runtime/job/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "cluster/read.hpp"
#include "config/read.hpp"
#include "runtime/job/evaluation.hpp"
#include "runtime/replan/change_plan.hpp"

namespace pptrain {
namespace {

/// How fast a disk is taken to be as long as no checkpoint was written to it.
constexpr double assumed_bytes_per_second = 100e6;
/// For what else is done at the end of a job.
constexpr double spare_seconds = 1.0;

[[noreturn]] void throw_on_all(ExitCode code, const Complaint& complaint) {
  throw Error(code, format_complaint(complaint), ThrownBy::all_ranks);
}

}  // namespace

SampleSource samples_of(const Datasets& datasets, std::int64_t step) {
  return [&datasets, step](std::int64_t sample, const SampleSlot& slot) {
    datasets.train->sample(step, sample, slot);
  };
}

Trainer::Trainer(const PlanJob& job, const TrainingParts& parts,
                 std::unique_ptr<RunningPlan> running)
    : job_(job),
      config_(job.config),
      parts_(parts),
      drift_(job.world, parts.waiter, job.config, job.machine, job.instance.profile,
             parts.recorder),
      checkpointer_({job.world, job.config, job.model, nodes_of_ranks(job.machine),
                     parts.run_directory, job.machine.core_use},
                    parts.alarm) {
  take(std::move(running));
  if (rank_in(job_.world) == 0) announce_checkpoint();
}

/// How large a checkpoint will be, and whether the disk has room for it, before days go into what
/// it is to keep.
void Trainer::announce_checkpoint() const {
  const CheckpointConfig& checkpoint = config_.checkpoint;
  if (!checkpoint.at_end && checkpoint.interval == 0) return;
  const double bytes = checkpointer_.bytes();
  std::error_code unknown;
  const auto there =
      static_cast<double>(std::filesystem::space(parts_.run_directory, unknown).available);
  if (!unknown && there < bytes) {
    log_warning(
        "a checkpoint takes {} and {} has {} left: make room, set [job] output to a larger disk, "
        "or write --set "
        "checkpoint.at_end=false",
        format_bytes(bytes), parts_.run_directory, format_bytes(there));
  } else if (checkpoint.interval == 0) {
    log_info("A checkpoint of {} ends the job (not with --set checkpoint.at_end=false)",
             format_bytes(bytes));
  }
}

TrainingEnd Trainer::run(std::int64_t first) {
  steps_done_ = first;
  newest_checkpoint_ = parts_.resumed_from;
  tell_if_interrupted(reached());
  for (std::int64_t step = first; step < config_.training.steps; ++step) {
    IterationResult result;
    train_step(step, result);
    const bool is_last = step + 1 == config_.training.steps;
    const bool stops = result.stop != StopWish::none && !is_last;
    const bool saves = config_.checkpoint.interval > 0 || result.stop == StopWish::requested;
    if ((stops && saves) || saves_after(step)) save(step + 1);
    if (stops || is_last) checkpointer_.remove_old();
    tell_if_interrupted(reached());
    if (config_.metrics.trace && (stops || is_last)) parts_.recorder.write_trace(trace_);
    if (stops || is_last) drift_.summarise();
    if (stops)
      return result.stop == StopWish::interrupted ? TrainingEnd::interrupted : TrainingEnd::stopped;
    reckon(result.seconds);
  }
  check_trained();
  return TrainingEnd::done;
}

void Trainer::train_step(std::int64_t step, IterationResult& result) {
  result = session_->train(step, samples_of(parts_.datasets, step));
  count_time_between(result);
  parts_.recorder.record(step, result, session_->learning_rate_of(step), peak_bytes());
  steps_done_ = step + 1;
  tell_if_interrupted(reached());
  check_numbers(step, result);
  if (evaluates_after(step)) {
    evaluate_after(step, result);
    if (result.stop == StopWish::none) print_samples(step);
    last_end_.reset();
  }
  if (const std::optional<Plan> plan = drift_.after(step, result)) go_on_with(*plan, step);
}

std::string Trainer::reached() const {
  const std::string steps =
      fmt::format("after step {} of {}: ", steps_done_, config_.training.steps);
  if (!last_checkpoint_.path.empty())
    return steps + fmt::format("go on with --resume latest, from {}", last_checkpoint_.path);
  if (!parts_.resumed_from.empty())
    return steps +
           fmt::format("go on with --resume {}, nothing was saved since", parts_.resumed_from);
  const std::int64_t interval = config_.checkpoint.interval;
  if (interval > 0)
    return steps + fmt::format("nothing was saved; [checkpoint] interval is {}", interval);
  return steps +
         "nothing was saved; --set checkpoint.interval=N saves every N steps, to go on with "
         "--resume latest";
}

/// What a rank waits between two iterations, for the slower ones to tell their numbers, belongs to
/// the second one: it would otherwise wait as long inside of it. What evaluations, checkpoints and
/// changes of plan take does not.
void Trainer::count_time_between(IterationResult& result) {
  const Clock::time_point end = Clock::now();
  if (last_end_) {
    const double between = std::chrono::duration<double>(end - *last_end_).count() - result.seconds;
    result.seconds += std::max(0.0, between);
    result.idle_seconds += std::max(0.0, between);
  }
  last_end_ = end;
}

/// Every rank knows loss, norm and loss scale, so where one leaves all do.
void Trainer::check_numbers(std::int64_t step, const IterationResult& result) {
  const LossScale& scale = session_->loss_scale();
  if (scale.value() != result.loss_scale)
    parts_.recorder.record_loss_scale(step, result, scale.value());
  if (result.skipped && scale.is_dynamic() && scale.value() >= 1.0) return;
  if (result.skipped || !std::isfinite(result.loss))
    throw_on_all(ExitCode::runtime_failure, no_numbers(step, result));
  if (sound_checkpoint_ == newest_checkpoint_) return;
  sound_checkpoint_ = newest_checkpoint_;
  checkpointer_.remove_old();
}

Complaint Trainer::no_numbers(std::int64_t step, const IterationResult& result) const {
  Complaint complaint;
  complaint.where = fmt::format("step {}", step + 1);
  const LossScale& scale = session_->loss_scale();
  if (!result.skipped) {
    complaint.problem = "the loss is no number any more";
    complaint.reason = "the training diverged";
    complaint.suggestion = "lower [optimizer] learning_rate";
  } else if (config_.training.precision != Precision::fp16) {
    complaint.problem = "the gradients are not finite";
    complaint.reason = "the training diverged, or samples or initial parameters are no numbers";
    complaint.suggestion = "lower [optimizer] learning_rate, or set gradient_clip";
  } else if (!scale.is_dynamic()) {
    complaint.problem =
        fmt::format("the gradients are not finite with loss_scale = {:.8g}", scale.value());
    complaint.reason = "something exceeds 65,504, the largest number of fp16";
    complaint.suggestion = "lower [training] loss_scale, or write loss_scale = \"dynamic\"";
  } else {
    complaint.problem = "the gradients are not finite, however small the loss scale";
    complaint.reason =
        "activations or weights exceed 65,504, the largest number of fp16, or the training "
        "diverged";
    complaint.suggestion =
        "use precision = \"bf16\", which reaches as far as fp32, lower [optimizer] learning_rate, "
        "or "
        "look for samples or initial parameters that are no numbers";
  }
  if (!sound_checkpoint_.empty())
    complaint.suggestion += "; go on with --resume " + sound_checkpoint_;
  return complaint;
}

/// A job whose loss scale is still too large at its end has trained nothing.
void Trainer::check_trained() const {
  const std::int64_t steps = config_.training.steps;
  if (session_->loss_scale().state().skipped_steps < steps) return;
  throw_on_all(
      ExitCode::runtime_failure,
      {fmt::format("step {}", steps), "every step was skipped and nothing is trained",
       fmt::format("the gradients are not finite with any loss scale from {:.8g} to {:.8g}",
                   LossScale::first, 2.0 * session_->loss_scale().value()),
       "train more steps, each of which halves the scale, or write a smaller [training] "
       "loss_scale"});
}

/// One more iteration, a checkpoint, and something to spare, each of which may take twice as long
/// as it did.
void Trainer::reckon(double iteration_seconds) {
  iteration_seconds_ = std::max(iteration_seconds_, iteration_seconds);
  const double saving = last_checkpoint_.path.empty()
                            ? checkpointer_.bytes() / assumed_bytes_per_second
                            : last_checkpoint_.seconds;
  parts_.stop.need(2.0 * (iteration_seconds_ + saving) + spare_seconds);
}

bool Trainer::saves_after(std::int64_t step) const {
  const std::int64_t interval = config_.checkpoint.interval;
  if (step + 1 == config_.training.steps && config_.checkpoint.at_end) return true;
  return interval > 0 && (step + 1) % interval == 0;
}

void Trainer::save(std::int64_t steps_done) {
  CheckpointState state;
  state.step = steps_done;
  state.samples = steps_done * config_.training.global_batch_size;
  state.seed = config_.job.seed;
  const LossScale::State& scale = session_->loss_scale().state();
  state.loss_scale = session_->loss_scale().value();
  state.good_steps = scale.good_steps;
  state.skipped_steps = scale.skipped_steps;
  state.data = parts_.data_fingerprint;
  state.configuration = write_config(config_);
  state.plan = write_plan(running_->plan());
  state.profile = write_profile(job_.instance.profile);
  state.cluster = write_cluster(job_.instance.cluster);
  last_checkpoint_ = checkpointer_.save(state, *session_);
  newest_checkpoint_ = last_checkpoint_.path;
  last_end_.reset();
  parts_.recorder.record_checkpoint(steps_done, last_checkpoint_.path, last_checkpoint_.bytes,
                                    last_checkpoint_.seconds);
}

void Trainer::take(std::unique_ptr<RunningPlan> running) {
  running_ = std::move(running);
  last_end_.reset();
  session_ = &running_->session();
  if (config_.metrics.trace) session_->record(&trace_);
  drift_.restart(running_->plan());
  if (!parts_.samples.empty() && !SamplePrompts::can_print(running_->plan()) &&
      rank_in(job_.world) == 0) {
    log_warning(
        "ZeRO stage 3 spreads the weights over all replicas: [metrics] sample_prompts are not "
        "continued in training, "
        "but by `pptrain generate` from a checkpoint");
  }
}

void Trainer::go_on_with(const Plan& plan, std::int64_t step) {
  std::unique_ptr<RunningPlan> next =
      change_plan(job_, parts_.waiter, parts_.alarm, plan, *running_);
  if (next == nullptr) return;
  // The old plan and the new one hold their parts for a moment.
  past_peak_bytes_ = std::max(
      peak_bytes(), session_->arena().bytes_in_use() + next->session().arena().bytes_in_use());
  take(std::move(next));
  parts_.recorder.record_plan(step, plan);
}

bool Trainer::evaluates_after(std::int64_t step) const {
  if (parts_.datasets.validation == nullptr && config_.metrics.sample_prompts.empty()) return false;
  const std::int64_t interval = config_.metrics.evaluation_interval;
  return step + 1 == config_.training.steps || (interval > 0 && (step + 1) % interval == 0);
}

void Trainer::print_samples(std::int64_t step) {
  if (parts_.samples.empty() || !SamplePrompts::can_print(running_->plan())) return;
  Waiter waiter(parts_.waiter.timeout_seconds(), job_.machine.core_use);
  waiter.listen(&parts_.alarm);
  const std::vector<std::string> lines = parts_.samples.lines(
      step, *session_, {running_->plan(), job_.machine.map}, job_.world, waiter);
  if (rank_in(job_.world) > 0) return;
  for (const std::string& line : lines) log_info("{}", line);
}

/// A wish to stop that comes while it goes on ends it, and becomes that of the step.
void Trainer::evaluate_after(std::int64_t step, IterationResult& result) {
  if (parts_.datasets.validation == nullptr) return;
  const Evaluation evaluation = evaluate(*session_, *parts_.datasets.validation);
  result.stop = std::max(result.stop, evaluation.stop);
  if (evaluation.is_whole)
    parts_.recorder.record_evaluation(step, evaluation.loss, evaluation.part);
}

}  // namespace pptrain
