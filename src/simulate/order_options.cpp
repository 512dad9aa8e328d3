#include "simulate/order_options.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/stage_time.hpp"
#include "cost/transfer_forms.hpp"
#include "simulate/prices.hpp"

namespace pptrain {
namespace {

/// Programs of the plan without instructions: prices ask only where they run.
Programs without_instructions(const Plan& plan) {
  Programs programs;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const Stage& stage = plan.stages[s];
    for (int r = 0; r < stage.replicas; ++r) {
      for (int k = 0; k < stage.tensor_parallel; ++k) {
        programs.push_back({stage.devices[r][k], StageId(s), r, k, {}});
      }
    }
  }
  return programs;
}

/// What is left of a chunk's collective of gradients after its last W.
double seconds_after_last(const Prices& prices, int number) {
  if (number < 0) return 0.0;
  const PricedCollective& sum = prices.reductions()[number];
  return sum.after_each_task && sum.at_end ? 2.0 * sum.seconds : sum.seconds;
}

bool between_nodes(const Cluster& cluster, const Passage& crossing) {
  return std::any_of(crossing.messages.begin(), crossing.messages.end(), [&cluster](const Message& message) {
    return cluster.node_of(message.from) != cluster.node_of(message.to);
  });
}

CutWay way_of(const Cluster& cluster, const Passage& crossing, double bytes) {
  const double seconds = passage_seconds(cluster, crossing, bytes);
  return {seconds, seconds - passage_seconds(cluster, crossing, 0.0)};  // what is left for no bytes is latency
}

/// The task that needs slices starts with their gather.
double slices_seconds(const Cluster& cluster, const Passage& crossing, const Stage& receiver, double bytes) {
  if (crossing.form == TransferForm::whole) return 0.0;
  return received_gather_seconds(cluster, sample_copies(receiver), bytes);
}

/// Fills in what a schedule looks at.
class OptionsMaker {
 public:
  OptionsMaker(const Instance& instance, const Plan& plan, const Programs& programs, const Prices& prices)
      : instance_(instance), plan_(plan), programs_(programs), prices_(prices), chunks_(chunks_in_order(plan)) {}

  OrderOptions run(OrderInputs inputs, const TransferForms& forms) {
    count_workspace();
    for (int s = 0; s < plan_.num_stages(); ++s) options_.most_stored.push_back(most_stored(StageId(s)));
    if (inputs == OrderInputs::memory) return std::move(options_);
    for (std::size_t c = 0; c < chunks_.size(); ++c) add_chunk(ChunkId(static_cast<int>(c)));
    for (std::size_t c = 0; c + 1 < chunks_.size(); ++c) add_cut(c, forms.at(static_cast<int>(c)));
    return std::move(options_);
  }

 private:
  /// What comes and goes beside activations and tasks is at most the profile's workspace; elsewhere it counts as fixed.
  void count_workspace() {
    workspace_ = fixed_bytes(instance_, plan_, Workspace::counted);
    const std::vector<double> state = fixed_bytes(instance_, plan_, Workspace::left_out);
    for (std::size_t d = 0; d < state.size(); ++d) workspace_[d] -= state[d];
  }

  /// Each of a micro-batch, on the device of the stage that has least room.
  int most_stored(StageId stage) const {
    const double least = plan_.schedule.virtual_stages;
    double most = least * static_cast<double>(plan_.micro_batches);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (programs_[p].stage == stage) most = std::min(most, most_that_fit(static_cast<int>(p)));
    }
    return static_cast<int>(std::max(most, least));
  }

  /// Beside what is held all the time, what the largest task takes and two chunks' gathered weights.
  double most_that_fit(int program) const {
    double stored = 0.0;
    double work = 0.0;
    double gathered = 0.0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      if (StageId(chunks_[c].stage) != programs_[program].stage) continue;
      const ChunkPrice& price = prices_.of(program, ChunkId(static_cast<int>(c)));
      stored = std::max({stored, price.bytes.stored, price.bytes.deferred});
      for (const Op op : {Op::forward, Op::backward, Op::backward_input, Op::backward_weight}) {
        work =
            std::max(work, price.bytes.work(op, ChunkBytes::Next::other_end, price.bytes.summed, price.bytes.carried));
      }
      gathered = std::max(gathered, 2.0 * price.gathered_bytes);
    }
    const DeviceId device = programs_[program].device;
    const double fixed =
        prices_.fixed_bytes(program) + (prices_.counts_buffers(program) ? workspace_[device.index()] : 0.0);
    const double room = instance_.cluster.kind_of(device).memory - fixed - work - gathered;
    return stored > 0.0 ? std::floor(room / stored) : std::numeric_limits<double>::infinity();
  }

  void add_chunk(ChunkId chunk) {
    TaskSeconds& seconds = options_.seconds.emplace_back(TaskSeconds{0.0, 0.0, 0.0});
    double& reduce = options_.reduce_seconds.emplace_back(0.0);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (programs_[p].stage != StageId(chunks_[chunk.index()].stage)) continue;
      const ChunkPrice& price = prices_.of(static_cast<int>(p), chunk);
      seconds.forward = std::max(seconds.forward, price.task(Phase::forward).seconds);
      seconds.backward_input = std::max(seconds.backward_input, price.task(Phase::backward_input).seconds);
      seconds.backward_weight = std::max(seconds.backward_weight, price.task(Phase::backward_weight).seconds);
      reduce = std::max(
          reduce, seconds_after_last(prices_, price.reduce_group) + seconds_after_last(prices_, price.across_group));
    }
  }

  void add_cut(std::size_t c, const CutForms& forms) {
    Cut& cut = options_.cuts.emplace_back();
    if (chunks_[c].stage == chunks_[c + 1].stage) return;
    const StageParts sender(plan_.stages[chunks_[c].stage]);
    const StageParts receiver(plan_.stages[chunks_[c + 1].stage]);
    const Stage& before = sender.mesh_at(chunks_[c].layers.end - 1);
    const Stage& after = receiver.mesh_at(chunks_[c + 1].layers.begin);
    const Passage there = passage(sample_copies(before), sample_copies(after), forms.activation);
    const Passage back = passage(sample_copies(after), sample_copies(before), forms.gradient);
    const double bytes = prices_.cut_bytes(ChunkId(static_cast<int>(c)));
    const Cluster& cluster = instance_.cluster;
    cut = {way_of(cluster, there, bytes), way_of(cluster, back, bytes),
           between_nodes(cluster, there) ? Cut::Port::uplink : Cut::Port::own};
    options_.seconds[c + 1].forward += slices_seconds(cluster, there, after, bytes);
    options_.seconds[c].backward_input += slices_seconds(cluster, back, before, bytes);
  }

  const Instance& instance_;
  const Plan& plan_;
  const Programs& programs_;
  const Prices& prices_;
  std::vector<Chunk> chunks_;
  std::vector<double> workspace_;  // by device of the cluster
  OrderOptions options_;
};

}  // namespace

OrderOptions order_options(const Instance& instance, const Plan& plan, const Programs& programs, const Prices& prices,
                           const TransferForms& forms) {
  const OrderInputs inputs = schedule_kind(plan.schedule.name).inputs;
  if (inputs == OrderInputs::none) return {};
  return OptionsMaker(instance, plan, programs, prices).run(inputs, forms);
}

OrderOptions order_options(const Instance& instance, const Plan& plan) {
  if (schedule_kind(plan.schedule.name).inputs == OrderInputs::none) return {};
  const Programs programs = without_instructions(plan);
  return order_options(instance, plan, programs, Prices(instance, plan, programs), cheapest_forms(instance, plan));
}

Programs planned_programs(const Instance& instance, const Plan& plan) {
  return compile_training(plan, task_orders(plan, order_options(instance, plan)),
                          {instance.ties, cheapest_forms(instance, plan)});
}

}  // namespace pptrain
