#include "simulate/order_options.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/schedule_kinds.hpp"
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
  return std::any_of(crossing.messages.begin(), crossing.messages.end(),
                     [&cluster](const Message& message) {
                       return cluster.node_of(message.from) != cluster.node_of(message.to);
                     });
}

CutWay way_of(const Cluster& cluster, const Passage& crossing, double bytes) {
  const double seconds = passage_seconds(cluster, crossing, bytes);
  return {seconds, seconds - passage_seconds(cluster, crossing, 0.0)};  // what is left for no bytes
                                                                        // is latency
}

/// The task that needs slices starts with their gather.
double slices_seconds(const Cluster& cluster, const Passage& crossing, const Mesh& receiver,
                      double bytes) {
  if (crossing.form == TransferForm::whole) return 0.0;
  return received_gather_seconds(cluster, sample_copies(receiver), bytes);
}

/// Fills in what a schedule looks at.
class OptionsMaker {
 public:
  OptionsMaker(const Instance& instance, const Plan& plan, const Programs& programs,
               const Prices& prices)
      : instance_(instance),
        plan_(plan),
        programs_(programs),
        prices_(prices),
        chunks_(chunks_in_order(plan)) {}

  OrderOptions run(OrderInputs inputs, const TransferForms& forms) {
    count_workspace();
    for (int s = 0; s < plan_.num_stages(); ++s) add_memory(StageId(s));
    if (inputs == OrderInputs::memory) return std::move(options_);
    for (std::size_t c = 0; c < chunks_.size(); ++c) add_chunk(ChunkId(static_cast<int>(c)));
    for (std::size_t c = 0; c + 1 < chunks_.size(); ++c) add_cut(c, forms.at(static_cast<int>(c)));
    return std::move(options_);
  }

 private:
  /// What comes and goes beside activations and tasks is at most the profile's workspace; elsewhere
  /// it counts as fixed.
  void count_workspace() {
    workspace_ = fixed_bytes(instance_, plan_, Workspace::counted);
    const std::vector<double> state = fixed_bytes(instance_, plan_, Workspace::left_out);
    for (std::size_t d = 0; d < state.size(); ++d) workspace_[d] -= state[d];
  }

  /// What a stage may store, on that of its devices which has least room for it.
  void add_memory(StageId stage) {
    int fullest = -1;
    double most = std::numeric_limits<double>::infinity();  // of the largest chunk
    for (int p = 0; p < static_cast<int>(programs_.size()); ++p) {
      if (programs_[p].stage != stage) continue;
      const double fitting = most_that_fit(p);
      if (fullest >= 0 && !(fitting < most)) continue;
      fullest = p;
      most = fitting;
    }
    if (counts_bytes()) {
      add_bytes(fullest);
    } else {
      const double least = plan_.schedule.virtual_stages;
      const double all = least * static_cast<double>(plan_.micro_batches);
      options_.most_stored.push_back(static_cast<int>(std::clamp(std::floor(most), least, all)));
    }
  }

  /// Whether orders go by bytes: what a micro-batch holds changes with B, and tasks may wait for
  /// that.
  bool counts_bytes() const {
    const ScheduleKind& kind = schedule_kind(plan_.schedule.name);
    return kind.splits_backward && !kind.has_units;
  }

  std::vector<ChunkId> chunks_of(int program) const {
    std::vector<ChunkId> own;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      if (StageId(chunks_[c].stage) == programs_[program].stage)
        own.emplace_back(static_cast<int>(c));
    }
    return own;
  }

  /// Says what the chunks of a stage store on this device, and its room: at least what one
  /// micro-batch needs.
  void add_bytes(int program) {
    options_.stored.resize(chunks_.size());
    std::vector<StoredBytes> own;
    for (const ChunkId chunk : chunks_of(program)) {
      const ChunkBytes& bytes = prices_.of(program, chunk).bytes;
      const double weight = work(program, chunk, Op::backward_weight);
      const double backward = work(program, chunk, Op::backward_input);
      own.push_back(
          {bytes.stored, bytes.deferred, work(program, chunk, Op::forward), backward, weight});
      options_.stored[chunk.index()] = own.back();
    }
    options_.room.push_back(std::max(room(program), least_room(own)));
  }

  /// Bytes in use while a task runs, beside what is stored.
  double work(int program, ChunkId chunk, Op op) const {
    const ChunkBytes& bytes = prices_.of(program, chunk).bytes;
    return bytes.work(op, ChunkBytes::Next::other_end, bytes.summed, bytes.carried);
  }

  /// How many micro-batches of the largest chunk a device has room for, those that are left behind
  /// B included where B and W are apart.
  double most_that_fit(int program) const {
    const bool splits = schedule_kind(plan_.schedule.name).splits_backward;
    double stored = 0.0;
    double most_work = 0.0;
    for (const ChunkId chunk : chunks_of(program)) {
      const ChunkBytes& bytes = prices_.of(program, chunk).bytes;
      stored = std::max({stored, bytes.stored, splits ? bytes.deferred : 0.0});
      for (const Op op : {Op::forward, Op::backward, Op::backward_input, Op::backward_weight}) {
        if (op == Op::forward || splits == (op != Op::backward))
          most_work = std::max(most_work, work(program, chunk, op));
      }
    }
    return stored > 0.0 ? (room(program) - most_work) / stored
                        : std::numeric_limits<double>::infinity();
  }

  /// Bytes of messages: what a device receives for its next task is there whole, of what it has
  /// sent meanwhile its slice.
  double message_bytes(int program) const {
    const Stage& stage = plan_.stages[programs_[program].stage.index()];
    const auto samples = static_cast<double>(stage.samples[programs_[program].replica].size());
    double bytes = 0.0;
    for (std::size_t c = 0; c + 1 < chunks_.size(); ++c) {
      const bool ends = StageId(chunks_[c].stage) == programs_[program].stage;
      const bool begins = StageId(chunks_[c + 1].stage) == programs_[program].stage;
      if (ends || begins)
        bytes = std::max(bytes, samples * prices_.cut_bytes(ChunkId(static_cast<int>(c))));
    }
    return bytes * (1.0 + 1.0 / stage.tensor_parallel);
  }

  /// Bytes beside what is held all the time, messages and two chunks' gathered weights.
  double room(int program) const {
    double gathered = 0.0;
    for (const ChunkId chunk : chunks_of(program))
      gathered = std::max(gathered, 2.0 * prices_.of(program, chunk).gathered_bytes);
    const DeviceId device = programs_[program].device;
    const double fixed =
        prices_.fixed_bytes(program) + (prices_.counts_buffers(program)
                                            ? workspace_[device.index()] + message_bytes(program)
                                            : 0.0);
    return instance_.cluster.kind_of(device).memory - fixed - gathered;
  }

  void add_chunk(ChunkId chunk) {
    TaskSeconds& seconds = options_.seconds.emplace_back(TaskSeconds{0.0, 0.0, 0.0});
    double& reduce = options_.reduce_seconds.emplace_back(0.0);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (programs_[p].stage != StageId(chunks_[chunk.index()].stage)) continue;
      const ChunkPrice& price = prices_.of(static_cast<int>(p), chunk);
      seconds.forward = std::max(seconds.forward, price.task(Phase::forward).seconds);
      seconds.backward_input =
          std::max(seconds.backward_input, price.task(Phase::backward_input).seconds);
      seconds.backward_weight =
          std::max(seconds.backward_weight, price.task(Phase::backward_weight).seconds);
      reduce = std::max(reduce, seconds_after_last(prices_, price.reduce_group) +
                                    seconds_after_last(prices_, price.across_group));
    }
  }

  void add_cut(std::size_t c, const CutForms& forms) {
    Cut& cut = options_.cuts.emplace_back();
    if (chunks_[c].stage == chunks_[c + 1].stage) return;
    const StageParts sender(plan_.stages[chunks_[c].stage]);
    const StageParts receiver(plan_.stages[chunks_[c + 1].stage]);
    const Mesh& before = sender.mesh_at(chunks_[c].layers.end - 1);
    const Mesh& after = receiver.mesh_at(chunks_[c + 1].layers.begin);
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

OrderOptions order_options(const Instance& instance, const Plan& plan, const Programs& programs,
                           const Prices& prices, const TransferForms& forms) {
  const OrderInputs inputs = schedule_kind(plan.schedule.name).inputs;
  if (inputs == OrderInputs::none) return {};
  return OptionsMaker(instance, plan, programs, prices).run(inputs, forms);
}

OrderOptions order_options(const Instance& instance, const Plan& plan) {
  if (schedule_kind(plan.schedule.name).inputs == OrderInputs::none) return {};
  const Programs programs = without_instructions(plan);
  return order_options(instance, plan, programs, Prices(instance, plan, programs),
                       cheapest_forms(instance, plan));
}

}  // namespace pptrain
