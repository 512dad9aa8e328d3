#include "runtime/execute/session.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/build/check.hpp"
#include "optim/learning_rate.hpp"
#include "program/check.hpp"
#include "program/model_ties.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

Programs checked(const Plan& plan, Programs programs, ReplicaTasks replicas,
                 const std::vector<Tie>& ties = {}) {
  check_programs(plan, programs, ties, replicas);
  return programs;
}

/// What is left of a program for a rank without a device of the plan.
Program sums_only(const Program& program) {
  Program sums;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.op == Op::reduce_loss || instruction.op == Op::reduce_norm)
      sums.instructions.push_back(instruction);
  }
  return sums;
}

DType gradient_type(GradientPrecision precision) {
  return precision == GradientPrecision::bf16 ? DType::bf16 : DType::f32;
}

TiedGathers tied_gathers(const Program& program) {
  const bool some =
      std::any_of(program.instructions.begin(), program.instructions.end(),
                  [](const Instruction& i) { return i.op == Op::gather_received && i.is_tied(); });
  return some ? TiedGathers::some : TiedGathers::none;
}

ReplicaTasks replica_tasks(const Config& config, const Model& model) {
  return sums_over_micro_batches(config, model) ? ReplicaTasks::meet : ReplicaTasks::apart;
}

BatchSums batch_sums(const Config& config, const Model& model) {
  return sums_over_micro_batches(config, model) ? BatchSums::some : BatchSums::none;
}

}  // namespace

DType activation_type(Precision precision) {
  switch (precision) {
    case Precision::fp32: return DType::f32;
    case Precision::bf16: return DType::bf16;
    case Precision::fp16: return DType::f16;
  }
  PPTRAIN_ASSERT(false, "precision {}", static_cast<int>(precision));
}

std::vector<ParameterRun> parameter_runs(const ParameterStore& store, std::size_t part_of_model) {
  std::vector<ParameterRun> runs;
  for (const OwnPart& part : store.own_parts()) {
    const LocalParameter& parameter = store.parameters()[part.parameter];
    const bool decays = parameter.spec.decays();
    runs.push_back({part.weights, part.gradients, part.copies, part.size, decays, &parameter,
                    part.begin, part_of_model});
  }
  return runs;
}

Session::Session(MPI_Comm world, const Config& config, const Model& model, const Plan& plan,
                 const RankMap& map, const SessionOptions& options)
    : config_(config),
      model_(model),
      plan_(plan),
      map_(map),
      device_id_(map_.device_of(RankId(rank_in(world)))),
      role_(role_of(plan_, device_id_)),
      arena_(options.memory_bytes, options.device_name, options.backend.device),
      waiter_(config.job.timeout, options.core_use),
      ties_(ties_of(model_, sizeof(float))),
      training_(checked(
          plan_,
          compile_training(plan_, task_orders(plan_, options.orders), {ties_, options.forms}),
          replica_tasks(config, model_), ties_)),
      evaluation_(checked(plan_, compile_evaluation(plan_, options.forms), ReplicaTasks::apart)),
      idle_training_(sums_only(training_.front())),
      idle_evaluation_(sums_only(evaluation_.front())),
      communication_(options.communication),
      groups_(std::make_unique<RankGroups>(
          world, plan_, map_, arena_, waiter_,
          GroupOptions{options.communication, options.nodes,
                       Reach{options.direct, config.job.gpu_transport,
                             config.where("job.gpu_transport"), options.mpi_memory},
                       tied_gathers(own(training_)), batch_sums(config, model_)})),
      has_padding_(model.sample.has_source() || options.has_padding),
      loss_scale_(config.training) {
  waiter_.listen(options.alarm);
  stop_wish_ = options.stop_wish;
  if (role_) {
    const DeviceContext context = {
        model_,  activation_type(config.training.precision),        arena_, options.backend,
        waiter_, gradient_type(config.training.gradient_precision), ties_};
    device_ = std::make_unique<DeviceModel>(context, plan_, map_, *role_, *groups_, options.layers);
    std::vector<ParameterRun> runs;
    std::vector<UpdateGroups> groups;
    for (const auto& part : device_->parts()) {
      const std::vector<ParameterRun> of_part = parameter_runs(part->parameters(), groups.size());
      runs.insert(runs.end(), of_part.begin(), of_part.end());
      groups.push_back(part->update_groups());
    }
    const StatePlace place =
        plan_.stages[role_->stage.index()].offload ? StatePlace::host : StatePlace::device;
    optimizer_ =
        make_optimizer(config.optimizer, runs, arena_, options.backend, place, std::move(groups));
    if (options.optimizer) optimizer_ = options.optimizer(std::move(optimizer_));
  }
  if (config.training.balances_model()) {
    model_balance_ = std::make_unique<ModelBalance>(world, model_, plan_, map_, role_);
  }
  executor_ = std::make_unique<Executor>(
      ExecutorParts{model_, plan_, ties_, map_, role_, device_.get(), optimizer_.get(), *groups_,
                    waiter_, arena_, options.backend.kernels, model_balance_.get()});
}

const Program& Session::own(const Programs& programs) const {
  for (const Program& program : programs) {
    if (program.device == device_id_) return program;
  }
  return &programs == &training_ ? idle_training_ : idle_evaluation_;
}

double Session::learning_rate_of(std::int64_t step) const {
  return learning_rate(config_.optimizer, config_.lr_scheduler, step, config_.training.steps);
}

IterationResult Session::train(std::int64_t step, const SampleSource& source) {
  if (communication_ != nullptr) communication_->start_iteration();
  Iteration iteration;
  iteration.samples = source;
  iteration.step = step;
  iteration.learning_rate = learning_rate_of(step);
  iteration.gradient_clip = config_.optimizer.gradient_clip;
  iteration.trace = trace_;
  iteration.stop_wish = stop_wish_;
  iteration.loss_scale = loss_scale_.value();
  iteration.skipped_steps = loss_scale_.state().skipped_steps;
  if (config_.training.dropout > 0.0)
    iteration.dropout_seed = static_cast<std::uint64_t>(config_.job.seed);
  iteration.loss_form = {config_.training.z_loss, config_.training.label_smoothing};
  iteration.router_aux_loss = config_.training.router_aux_loss;
  iteration.needs_documents = !config_.data.attend_across_documents;
  iteration.has_padding = has_padding_;
  const IterationResult result = executor_->run(own(training_), iteration);
  loss_scale_.update(result.skipped);
  return result;
}

IterationResult Session::evaluate_batch(const SampleSource& source,
                                        std::optional<std::int64_t> counted) {
  Iteration iteration;
  iteration.samples = source;
  iteration.counted_samples = counted;
  iteration.stop_wish = stop_wish_;
  iteration.needs_documents = !config_.data.attend_across_documents;
  iteration.has_padding = has_padding_;
  return executor_->run(own(evaluation_), iteration);
}

}  // namespace pptrain
