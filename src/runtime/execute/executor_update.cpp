// The end of an iteration: sums over the replicas and over all ranks, the optimizer's step.
#include <cmath>

#include "runtime/execute/executor.hpp"

namespace pptrain {

void Executor::wait_gradients() {
  parts_.waiter.wait(parts_.device->reductions(), [] { return std::string(); });
  parts_.device->drop_summed();
  // What several parts have of a tied parameter they exchange whole.
  for (const auto& part : parts_.device->parts()) {
    for (const std::size_t unit : part->tied_units()) part->shards().gather_gradients(unit);
  }
}

/// Whether to stop and how many rows went to experts are summed together with the loss, so that
/// they cost no messages of their own.
void Executor::reduce_loss(const Iteration& iteration) {
  // Shards of a replica all know its loss, so the first one alone reports it.
  const bool reports = parts_.device != nullptr && parts_.device->parts().back()->role().shard == 0;
  const StopWish wish = iteration.stop_wish ? iteration.stop_wish() : StopWish::none;
  std::vector<double> sums = {reports ? value_of(sums_.loss()) : 0.0,
                              wish == StopWish::requested ? 1.0 : 0.0,
                              wish == StopWish::interrupted ? 1.0 : 0.0,
                              iteration.router_aux_loss > 0.0 ? own_balance() : 0.0};
  const auto scalars = static_cast<std::ptrdiff_t>(sums.size());
  sums.insert(sums.end(), expert_loads_.rows().begin(), expert_loads_.rows().end());
  parts_.groups.all().all_reduce_sum(sums.data(), sums.size());
  result_.expert_rows.assign(sums.begin() + scalars, sums.end());
  result_.balance = sums[3] / global_rows();
  result_.loss = sums[0] / divisor() + iteration.router_aux_loss * result_.balance;
  result_.stop = sums[2] > 0.0   ? StopWish::interrupted
                 : sums[1] > 0.0 ? StopWish::requested
                                 : StopWish::none;
}

/// What the chunks of this device add to the balance of the experts, in the order of the chunks.
double Executor::own_balance() {
  if (parts_.model_balance != nullptr) return parts_.model_balance->sum();
  double sum = 0.0;
  for (int chunk = 0; parts_.device != nullptr && chunk <= last_chunk_; ++chunk) {
    if (parts_.device->has(ChunkId(chunk))) sum += value_of(sums_.balance(ChunkId(chunk)));
  }
  return sum;
}

/// All ranks know the norm, so all skip a step or none does. A norm that is not finite would make
/// all weights so.
void Executor::reduce_norm(const Iteration& iteration) {
  if (parts_.device != nullptr) {
    std::vector<ValueRun> runs;
    for (const auto& part : parts_.device->parts()) {
      for (const OwnPart& own : part->parameters().own_parts()) {
        const Interval counted = part->counted(own);
        if (counted.empty()) continue;
        runs.push_back({own.gradients + (counted.begin - own.begin),
                        static_cast<std::size_t>(counted.size())});
      }
    }
    parts_.kernels.sums_of_squares(runs.data(), runs.size(), sums_.squares());
  }
  double squares = value_of(sums_.squares());
  parts_.groups.all().all_reduce_sum(&squares, 1);
  result_.grad_norm = std::sqrt(squares) / iteration.loss_scale;
  result_.loss_scale = iteration.loss_scale;
  result_.skipped = !std::isfinite(result_.grad_norm);
}

double Executor::value_of(const double* sum) {
  const Buffer value(values_, sizeof(double));
  wait_for_device(parts_.arena.device().start_download(value.data(), sum, value.bytes()));
  return *static_cast<const double*>(value.data());
}

void Executor::update(const Iteration& iteration) {
  if (parts_.device == nullptr) return;
  parts_.device->settle();
  if (!result_.skipped) step(iteration);
  for (const auto& part : parts_.device->parts()) part->parameters().start_step();
}

/// The optimizer's step, behind which what it has updated is published.
void Executor::step(const Iteration& iteration) {
  /// A unit of a part's parameters.
  struct Unit {
    PartModel* part;
    std::size_t unit;
  };
  std::vector<Unit> units;           // in the order in which the optimizer comes to them
  std::vector<std::size_t> unit_of;  // of the optimizer's runs
  for (const auto& part : parts_.device->parts()) {
    const ParameterStore& store = part->parameters();
    const std::size_t first = units.size();
    for (std::size_t unit = 0; unit < store.num_units(); ++unit)
      units.push_back({part.get(), unit});
    for (const OwnPart& own : store.own_parts())
      unit_of.push_back(first + store.parameters()[own.parameter].unit);
  }
  std::size_t published = 0;
  const auto publish_before = [&](std::size_t end) {
    for (; published < end; ++published)
      units[published].part->shards().publish_weights(units[published].unit);
    parts_.device->progress();
  };
  const double scale =
      clip_factor(result_.grad_norm, iteration.gradient_clip) / iteration.loss_scale;
  parts_.optimizer->step({iteration.step - iteration.skipped_steps, iteration.learning_rate, scale},
                         [&](std::size_t run) {
                           if (run + 1 < unit_of.size()) publish_before(unit_of[run + 1]);
                         });
  publish_before(units.size());
}

}  // namespace pptrain
