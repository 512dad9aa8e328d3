#include "runtime/emulation/emulated_device.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "comm/mpi.hpp"
#include "cost/shared_uplinks.hpp"
#include "runtime/emulation/counted_memory.hpp"
#include "runtime/emulation/emulated_communicator.hpp"
#include "runtime/emulation/emulated_layer.hpp"
#include "runtime/emulation/emulated_transport.hpp"
#include "simulate/phase_seconds.hpp"

namespace pptrain {
namespace {

/// An optimizer whose step takes as long as on the emulated device; all runs are updated at its
/// end.
class EmulatedOptimizer final : public Optimizer {
 public:
  EmulatedOptimizer(std::unique_ptr<Optimizer> real, double seconds, EmulatedClock& clock)
      : real_(std::move(real)), seconds_(seconds), clock_(clock) {}
  using Optimizer::step;
  void step(const StepValues& values, const std::function<void(std::size_t)>& updated) override {
    const double due = clock_.now() + seconds_;
    std::size_t runs = 0;
    real_->step(values, [&runs](std::size_t) { ++runs; });
    clock_.wait_rest(due);
    for (std::size_t run = 0; run < runs; ++run) updated(run);
  }
  std::vector<std::vector<RunState>> state() override { return real_->state(); }
  Device& state_device() override { return real_->state_device(); }

 private:
  std::unique_ptr<Optimizer> real_;
  double seconds_;
  EmulatedClock& clock_;
};

/// The tag of meetings before tasks. Those of collectives have the tags of their groups.
constexpr int tag_of_tasks = 0;

}  // namespace

EmulatedDevice::EmulatedDevice(MPI_Comm world, const Instance& instance, const Plan& plan,
                               const RankMap& map, Waiter& waiter)
    : instance_(instance),
      plan_(plan),
      map_(map),
      waiter_(waiter),
      world_(world),
      rank_(rank_in(world)),
      device_(map.device_of(rank_)),
      role_(role_of(plan, device_)),
      log_(world),
      meetings_(world) {}

void EmulatedDevice::apply_to(SessionOptions& options) {
  options.communication = this;
  options.memory_bytes = static_cast<std::size_t>(instance_.cluster.kind_of(device_).memory);
  options.device_name = name_of(rank_, device_, instance_.cluster);
  options.layers = [this, real = options.layers](const Layer& layer, ChunkId chunk,
                                                 LayerContext& context) {
    return emulated(real(layer, chunk, context), layer);
  };
  if (!role_) return;
  const Stage& stage = plan_.stages[role_->stage.index()];
  const double update = step_seconds(instance_, StageParts(stage), stage, device_);
  options.optimizer = [this, update](std::unique_ptr<Optimizer> real) {
    return std::make_unique<EmulatedOptimizer>(std::move(real), update, clock_);
  };
}

std::unique_ptr<LayerModule> EmulatedDevice::emulated(std::unique_ptr<LayerModule> real,
                                                      const Layer& layer) {
  const std::vector<ProfileLayer>& layers = instance_.profile.layers;
  const auto row = std::find_if(layers.begin(), layers.end(),
                                [&](const ProfileLayer& l) { return l.name == layer.name; });
  if (row == layers.end()) {
    throw_bad_input({"the profile", fmt::format("it has no layer \"{}\"", layer.name),
                     "emulated layers take as long as their row says",
                     "use a profile of this very model"});
  }
  const std::int64_t number = row - layers.begin();
  const Stage& stage = plan_.stages[role_->stage.index()];
  const StageParts parts(stage, {Interval{number, number + 1}});
  const StagePart& part = parts.all().front();
  const int replica =
      place_in(*part.mesh, role_->replica * stage.tensor_parallel + role_->shard).replica;
  std::vector<int> members;
  for (const DeviceId device : part.mesh->devices[replica])
    members.push_back(map_.rank_of(device).value);
  return std::make_unique<EmulatedLayer>(std::move(real), seconds_of(part, replica), clock_,
                                         [this, others = others_of(members)] { meet(others); });
}

/// As `Prices` has it: members of a tensor-parallel group take equally long, collectives included.
LayerSeconds EmulatedDevice::seconds_of(const StagePart& part, int replica) const {
  const ReplicaGroup group =
      replica_group_with(tensor_bandwidth(instance_, part), instance_, part, replica);
  PhaseSeconds seconds = computing_seconds(instance_, part, group);
  seconds += tensor_phase_seconds(instance_, part, group);
  const auto of = [&](Phase phase) { return seconds[static_cast<std::size_t>(phase)]; };
  LayerSeconds layer = {of(Phase::forward), of(Phase::backward_input), of(Phase::backward_weight)};
  if (!part.mesh->offload_activations) return layer;
  const double moving = activation_offload_seconds(instance_, part, replica);  // beside F, and
                                                                               // beside B and W
  layer.forward = std::max(layer.forward, moving);
  layer.backward_input = std::max(layer.backward_input, moving - layer.backward_weight);
  return layer;
}

void EmulatedDevice::meet(const std::vector<RankId>& group) {
  if (group.empty()) return;
  Meeting meeting(meetings_, group, tag_of_tasks, clock_.now());
  waiter_.wait(meeting, [] { return std::string(); });
  clock_.reach(meeting.last());
}

std::unique_ptr<Communicator> EmulatedDevice::decorate(std::unique_ptr<Communicator> group,
                                                       GroupKind kind,
                                                       const std::vector<int>& ranks, int tag,
                                                       double share) {
  if (group->size() == 1) return group;
  if (kind == GroupKind::all) return std::make_unique<EmulatedSums>(std::move(group), clock_);
  std::vector<DeviceId> devices;
  for (const int rank : ranks) devices.push_back(map_.device_of(RankId(rank)));
  Link link = instance_.cluster.slowest_link(devices);
  if (kind == GroupKind::tensor) {
    return std::make_unique<EmulatedGathers>(std::move(group), link, others_of(ranks),
                                             EmulatedLane(meetings_, tag, clock_));
  }
  const Cluster& cluster = instance_.cluster;
  if (kind != GroupKind::statistics)
    link.bandwidth = std::min(link.bandwidth, bandwidth_between(devices, kind));
  const bool shares_uplink = cluster.node_of(devices.front()) != cluster.node_of(devices.back());
  if (kind == GroupKind::slices && shares_uplink) link.bandwidth *= share;
  return std::make_unique<EmulatedCommunicator>(std::move(group), link, others_of(ranks),
                                                EmulatedLane(meetings_, tag, clock_), waiter_);
}

/// Bandwidth that uplinks leave a group of replicas beside those of the other shards, which sum at
/// the same time, or where weights are gathered those of all stages.
double EmulatedDevice::bandwidth_between(const std::vector<DeviceId>& devices,
                                         GroupKind kind) const {
  const Stage& stage = plan_.stages[role_->stage.index()];
  const StageParts parts(stage);
  for (const StagePart& part : parts.all()) {
    std::vector<int> replicas;
    for (const DeviceId device : devices) {
      const auto row = std::find_if(
          part.mesh->devices.begin(), part.mesh->devices.end(), [&](const auto& members) {
            return std::find(members.begin(), members.end(), device) != members.end();
          });
      replicas.push_back(static_cast<int>(row - part.mesh->devices.begin()));
    }
    const std::set<int> distinct(replicas.begin(), replicas.end());
    if (distinct.size() < devices.size()) continue;
    std::vector<std::vector<DeviceId>> rings(static_cast<std::size_t>(part.mesh->tensor_parallel));
    for (const int r : replicas) {
      for (std::size_t k = 0; k < rings.size(); ++k) rings[k].push_back(part.mesh->devices[r][k]);
    }
    const double beside_shards = shared_uplink_bandwidth(instance_.cluster, rings);
    if (kind != GroupKind::gather) return beside_shards;
    return std::min(beside_shards, gathering_groups(instance_.cluster, plan_).bandwidth(devices));
  }
  return infinity;
}

std::unique_ptr<Transport> EmulatedDevice::decorate(std::unique_ptr<Transport> transport) {
  return std::make_unique<EmulatedTransport>(std::move(transport),
                                             std::make_unique<MpiTransport>(world_),
                                             instance_.cluster, map_, device_, log_, clock_);
}

std::vector<RankId> EmulatedDevice::others_of(const std::vector<int>& ranks) const {
  std::vector<RankId> others;
  for (const int rank : ranks) {
    if (RankId(rank) != rank_) others.emplace_back(rank);
  }
  return others;
}

}  // namespace pptrain
