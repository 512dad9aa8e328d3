#include "cost/egress.hpp"

#include <algorithm>

#include "cost/stage_time.hpp"
#include "cost/transfer_forms.hpp"

namespace pptrain {
namespace {

constexpr double bytes_per_gb = 1e9;

class LeavingBytes {
 public:
  LeavingBytes(const Instance& instance, const Plan& plan)
      : instance_(instance), plan_(plan), bytes_(instance.cluster.switches.size(), 0.0) {
    for (const Stage& stage : plan.stages) {
      const StageParts parts(stage);
      for (const StagePart& part : parts.all()) add_replicas(part);
    }
    add_cuts();
  }
  std::vector<double> take() { return std::move(bytes_); }

 private:
  double micro_batches() const { return static_cast<double>(plan_.micro_batches); }

  void add(DeviceId from, DeviceId to, double bytes) {
    const int nodes = instance_.cluster.num_nodes();
    for (const Uplink& uplink : instance_.cluster.uplinks(from, to)) {
      const bool leaves = uplink.direction == Uplink::Direction::up && uplink.owner >= nodes;
      if (leaves) bytes_[static_cast<std::size_t>(uplink.owner - nodes)] += bytes;
    }
  }

  void add_cuts() {
    const TransferForms forms = cheapest_forms(instance_, plan_);
    const std::vector<Chunk> chunks = chunks_in_order(plan_);
    for (std::size_t c = 1; c < chunks.size(); ++c) {
      const StageParts before(plan_.stages[static_cast<std::size_t>(chunks[c - 1].stage)],
                              {chunks[c - 1].layers});
      const StageParts after(plan_.stages[static_cast<std::size_t>(chunks[c].stage)],
                             {chunks[c].layers});
      const auto layer = static_cast<std::size_t>(chunks[c].layers.begin - 1);
      const std::vector<EqualCopies> first = sample_copies(before.last_mesh());
      const std::vector<EqualCopies> second = sample_copies(after.first_mesh());
      const CutForms cut = forms.at(static_cast<int>(c) - 1);
      add_passage(passage(first, second, cut.activation),
                  instance_.profile.layers[layer].output_bytes);
      add_passage(passage(second, first, cut.gradient),
                  instance_.profile.layers[layer].output_bytes);
    }
  }

  void add_passage(const Passage& crossing, double bytes_per_sample) {
    for (const Message& message : crossing.messages) {
      const double samples = static_cast<double>(message.interval.size()) / crossing.units;
      add(message.from, message.to, micro_batches() * samples * bytes_per_sample);
    }
  }

  /// A ring of the nodes that the devices are on, in their order.
  void add_ring(const std::vector<DeviceId>& devices, double bytes) {
    std::vector<DeviceId> firsts;
    for (const DeviceId device : devices) {
      const int node = instance_.cluster.node_of(device);
      const bool seen = std::any_of(firsts.begin(), firsts.end(), [&](DeviceId other) {
        return instance_.cluster.node_of(other) == node;
      });
      if (!seen) firsts.push_back(device);
    }
    const std::size_t k = firsts.size();
    const double each = all_reduce_share(static_cast<int>(k)) * bytes;
    for (std::size_t i = 0; i < k && k > 1; ++i) add(firsts[i], firsts[(i + 1) % k], each);
  }

  /// Sums of gradients, and weights that are gathered before F and before B of every micro-batch.
  void add_replicas(const StagePart& part) {
    const Stage& mesh = *part.mesh;
    double parameters = 0.0;
    for (const Interval& layers : part.layers)
      parameters += parameters_of(instance_.profile, layers);
    const BytesPerParameter& of = instance_.profile.bytes_per_parameter;
    const double gathers = mesh.zero_stage >= 3 ? micro_batches() : 0.0;
    const std::vector<Interval> groups = mesh.sharding_groups();
    for (int k = 0; k < mesh.tensor_parallel; ++k) {
      const double own = parameters / mesh.tensor_parallel * member_load(mesh, k);
      const std::vector<DeviceId> shard = shard_group(mesh, k);
      std::vector<DeviceId> firsts;
      for (const Interval& group : groups) {
        add_ring({shard.begin() + group.begin, shard.begin() + group.end},
                 own * (of.sent() + gathers * of.weight));
        firsts.push_back(shard[static_cast<std::size_t>(group.begin)]);
      }
      add_ring(firsts, own * of.sent());
    }
  }

  const Instance& instance_;
  const Plan& plan_;
  std::vector<double> bytes_;
};

}  // namespace

std::vector<double> bytes_leaving_switches(const Instance& instance, const Plan& plan) {
  return LeavingBytes(instance, plan).take();
}

double egress_money(const Instance& instance, const Plan& plan) {
  const std::vector<Switch>& switches = instance.cluster.switches;
  const auto has_price = [](const Switch& s) { return s.egress > 0.0; };
  if (std::none_of(switches.begin(), switches.end(), has_price)) return 0.0;
  const std::vector<double> bytes = bytes_leaving_switches(instance, plan);
  double money = 0.0;
  for (std::size_t s = 0; s < bytes.size(); ++s)
    money += switches[s].egress * bytes[s] / bytes_per_gb;
  return money;
}

}  // namespace pptrain
