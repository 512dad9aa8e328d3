#include "planners/meshes/stage_mesh.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "planners/meshes/frontier.hpp"

namespace pptrain {
namespace {

using RowClass = StageMesh::RowClass;

void add_member(std::vector<RowClass::Member>& members, const RowClass::Member& member) {
  const auto covers = [](const RowClass::Member& a, const RowClass::Member& b) {
    return a.load >= b.load && a.memory <= b.memory;
  };
  if (admit(members, member, covers)) members.push_back(member);
}

/// Row `j` of the stage.
RowClass class_of_row(const Cluster& cluster, const Stage& stage, int j) {
  Stage row;
  row.tensor_parallel = stage.tensor_parallel;
  row.devices = {stage.devices[j]};
  row.samples = {{0, 0}};
  row.shards = stage.shards;
  RowClass result;
  result.group = replica_groups(cluster, row).front();
  for (int k = 0; k < stage.tensor_parallel; ++k) {
    add_member(result.members,
               {member_load(stage, k), cluster.kind_of(stage.devices[j][k]).memory});
  }
  return result;
}

/// Seconds of the whole model on rows of a class with that many samples.
double whole_model_seconds(LayerSums& sums, const StageMesh& mesh, int row_class,
                           std::int64_t samples) {
  ReplicaGroup group = mesh.classes()[row_class].group;
  group.samples = static_cast<double>(samples);
  return sums.times(group, mesh.tensor_parallel(), Recompute::none, mesh.sharding()).total.back();
}

}  // namespace

bool StageMesh::RowClass::alike(const RowClass& other) const {
  return group == other.group &&
         std::equal(members.begin(), members.end(), other.members.begin(), other.members.end(),
                    [](const Member& a, const Member& b) {
                      return a.load == b.load && a.memory == b.memory;
                    });
}

LoadClass StageMesh::RowClass::load_class(double state, double fixed, double per_sample) const {
  const auto left = [state](const Member& member) { return member.memory - member.load * state; };
  const Member& first =
      *std::min_element(members.begin(), members.end(),
                        [&](const Member& a, const Member& b) { return left(a) < left(b); });
  return {num_rows, first.load * state + fixed, per_sample, first.memory};
}

StageMesh::StageMesh(const Cluster& cluster, int tensor_parallel, std::vector<DeviceId> devices,
                     Sharding sharding, Shards shards)
    : tensor_parallel_(tensor_parallel),
      sharding_(sharding),
      devices_(std::move(devices)),
      shards_(std::move(shards)) {
  const int replicas = static_cast<int>(devices_.size()) / tensor_parallel;
  PPTRAIN_ASSERT(replicas * tensor_parallel == static_cast<int>(devices_.size()),
                 "{} devices at degree {}", devices_.size(), tensor_parallel);
  row_class_.resize(replicas);
  const Stage mesh = stage({});
  for (int j = 0; j < replicas; ++j) {
    RowClass mine = class_of_row(cluster, mesh, j);
    const auto known = std::find_if(classes_.begin(), classes_.end(),
                                    [&](const RowClass& c) { return c.alike(mine); });
    row_class_[j] = static_cast<int>(known - classes_.begin());
    if (known == classes_.end()) classes_.push_back(std::move(mine));
    ++classes_[row_class_[j]].num_rows;
  }
  for (int k = 0; k < tensor_parallel; ++k) {
    const ShardGroup mine = {cluster.slowest_link(shard_group(mesh, k)), member_load(mesh, k)};
    const bool known =
        std::any_of(shard_groups_.begin(), shard_groups_.end(), [&](const ShardGroup& g) {
          return g.link.bandwidth == mine.link.bandwidth && g.link.latency == mine.link.latency &&
                 g.load == mine.load;
        });
    if (!known) shard_groups_.push_back(mine);
  }
}

Stage StageMesh::stage(const std::vector<Interval>& samples) const {
  Stage stage;
  stage.replicas = replicas();
  stage.tensor_parallel = tensor_parallel_;
  for (int j = 0; j < replicas(); ++j) {
    const auto row = devices_.begin() + static_cast<std::ptrdiff_t>(j) * tensor_parallel_;
    stage.devices.emplace_back(row, row + tensor_parallel_);
  }
  stage.samples = samples;
  stage.shards = shards_;
  return stage;
}

void StageOption::apply_to(Stage& stage) const {
  stage.recompute = recompute;
  stage.zero_stage = zero_stage;
  stage.offload = offload;
  stage.offload_activations = offload_activations;
}

std::vector<OffloadChoice> offload_choices(const SearchSpace& space) {
  const Restrictions& allowed = space.restrictions;
  std::vector<OffloadChoice> choices = {{}};
  if (!space.instance.cluster.has_host_links()) return choices;
  const bool states = allowed.offload.value_or(true);
  const bool activations = allowed.offload_activations.value_or(true);
  if (states) choices.push_back({true, false});
  if (activations) choices.push_back({false, true});
  if (states && activations) choices.push_back({true, true});
  return choices;
}

std::vector<StageOption> stage_options(const SearchSpace& space) {
  const Restrictions& restrictions = space.restrictions;
  std::vector<Recompute> recomputes = {Recompute::none, Recompute::full};
  if (restrictions.recompute) recomputes = {*restrictions.recompute};
  std::vector<int> zero_stages = {0, 1, 2, 3};
  if (restrictions.zero_stage) zero_stages = {static_cast<int>(*restrictions.zero_stage)};
  std::vector<StageOption> options;
  for (const OffloadChoice& offload : offload_choices(space)) {
    for (const Recompute recompute : recomputes) {
      for (const int zero : zero_stages)
        options.push_back({recompute, zero, offload.states, offload.activations});
    }
  }
  return options;
}

MeshCost::MeshCost(const Instance& instance, LayerSums& sums, const StageMesh& mesh,
                   std::vector<Interval> samples, const std::vector<StageOption>& options)
    : instance_(instance),
      sums_(sums),
      mesh_(mesh),
      samples_(std::move(samples)),
      options_(options) {
  std::map<std::pair<int, std::int64_t>, bool> seen;
  for (int j = 0; j < mesh.replicas(); ++j) {
    const int row_class = mesh.class_of(j);
    if (seen.emplace(std::pair{row_class, samples_[j].size()}, true).second)
      add_part(sums, row_class, samples_[j].size());
  }
}

MeshCost::MeshCost(const Instance& instance, LayerSums& sums, const StageMesh& mesh,
                   const std::vector<ClassShare>& shares, const std::vector<StageOption>& options)
    : instance_(instance),
      sums_(sums),
      mesh_(mesh),
      samples_(samples_of(mesh, shares)),
      options_(options) {
  for (int k = 0; k < static_cast<int>(shares.size()); ++k) {
    add_part(sums, k, shares[k].units);
    if (shares[k].num_more > 0) add_part(sums, k, shares[k].units + 1);
  }
}

void MeshCost::add_part(LayerSums& sums, int row_class, std::int64_t samples) {
  ReplicaGroup group = mesh_.classes()[row_class].group;
  group.samples = static_cast<double>(samples);
  Part part = {{}, samples, &mesh_.classes()[row_class]};
  for (const StageOption& option : options_) {
    part.times.push_back(
        &sums.times(group, mesh_.tensor_parallel(), option.recompute, mesh_.sharding()));
  }
  parts_.push_back(std::move(part));
}

double MeshCost::gather_seconds(int option, int begin, int end) const {
  const int r = mesh_.replicas();
  if (options_[option].zero_stage < 3 || r == 1) return 0.0;
  const double bytes = instance_.profile.bytes_per_parameter.weight * sums_.parameters(begin, end) /
                       mesh_.tensor_parallel();
  double slowest = 0.0;
  for (const StageMesh::ShardGroup& group : mesh_.shard_groups()) {
    slowest = std::max(slowest, all_gather_seconds(group.link, r, group.load * bytes));
  }
  return 2.0 * slowest;
}

double MeshCost::seconds(int option, int begin, int end) const {
  double slowest = 0.0;
  for (const Part& part : parts_) {
    const double computing = part.times[option]->total[end] - part.times[option]->total[begin];
    slowest = std::max({slowest, computing, offload_seconds(option, begin, end, part.samples)});
  }
  return slowest + gather_seconds(option, begin, end);
}

double MeshCost::offload_seconds(int option, int begin, int end, std::int64_t samples) const {
  if (!options_[option].offload_activations) return 0.0;
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const DeviceId device : mesh_.devices()) {
    const Cluster& cluster = instance_.cluster;
    bandwidth = std::min(bandwidth, cluster.groups[cluster.group_of(device)].host_link.bandwidth);
  }
  const double stored = sums_.stored_bytes(begin, end, options_[option].recompute);
  return 2.0 * static_cast<double>(samples) * stored / bandwidth;
}

double MeshCost::least_seconds(int option, int begin, int end) const {
  const Part* slowest = &parts_.front();
  for (const Part& part : parts_) {
    if (part.times[option]->total.back() > slowest->times[option]->total.back()) slowest = &part;
  }
  return slowest->times[option]->total[end] - slowest->times[option]->total[begin];
}

double MeshCost::gradient_seconds(int begin, int end) const {
  if (mesh_.replicas() == 1) return 0.0;
  const double bytes = instance_.profile.bytes_per_parameter.sent() * sums_.parameters(begin, end) /
                       mesh_.tensor_parallel();
  double slowest = 0.0;
  for (const StageMesh::ShardGroup& group : mesh_.shard_groups()) {
    slowest =
        std::max(slowest, all_reduce_seconds(group.link, mesh_.replicas(), group.load * bytes));
  }
  return slowest;
}

double MeshCost::state_bytes(int option, int begin, int end) const {
  const BytesPerParameter& bytes = instance_.profile.bytes_per_parameter;
  const int zero = options_[option].zero_stage;
  const double r = mesh_.replicas();
  const double each = bytes.weight / (zero >= 3 ? r : 1.0) +
                      bytes.gradient / (zero >= 2 ? r : 1.0) +
                      (options_[option].offload ? 0.0 : bytes.optimizer / (zero >= 1 ? r : 1.0));
  return each * sums_.parameters(begin, end) / mesh_.tensor_parallel();
}

double MeshCost::bytes_per_sample(int option, int begin, int end, double in_flight) const {
  const Recompute recompute = options_[option].recompute;
  double stored = in_flight * sums_.stored_bytes(begin, end, recompute);
  if (options_[option].offload_activations)
    stored = std::min(stored, offloaded_bytes_per_sample(begin, end, recompute));
  return stored + instance_.profile.workspace_bytes_per_sample;
}

/// Activations of the layer at work, of one that leaves and of one that comes.
double MeshCost::offloaded_bytes_per_sample(int begin, int end, Recompute recompute) const {
  double largest = 0.0;
  for (int l = begin; l < end; ++l)
    largest = std::max(largest, sums_.stored_bytes(l, l + 1, recompute));
  return 3.0 * largest;
}

std::optional<int> MeshCost::fitting_option(int begin, int end, double in_flight) const {
  std::optional<int> best;
  for (std::size_t o = 0; o < options_.size(); ++o) {
    const int option = static_cast<int>(o);
    if (best && seconds(option, begin, end) >= seconds(*best, begin, end)) continue;
    const double state = state_bytes(option, begin, end);
    const double stored = bytes_per_sample(option, begin, end, in_flight);
    const bool fits = std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      const LoadClass load =
          part.row_class->load_class(state, instance_.profile.workspace_bytes, stored);
      return load.need(part.samples) <= load.memory;
    });
    if (fits) best = option;
  }
  return best;
}

bool MeshCost::may_fit(int begin, int end) const {
  for (std::size_t o = 0; o < options_.size(); ++o) {
    const double state = state_bytes(static_cast<int>(o), begin, end);
    const bool may = std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      const LoadClass load =
          part.row_class->load_class(state, instance_.profile.workspace_bytes, 0.0);
      return load.fixed_bytes <= load.memory;
    });
    if (may) return true;
  }
  return false;
}

std::vector<ClassShare> shares_by_speed(const StageMesh& mesh, std::int64_t micro_batch,
                                        const LoadSeconds& seconds) {
  if (mesh.classes().size() == 1) {
    return {{micro_batch / mesh.replicas(), static_cast<int>(micro_batch % mesh.replicas())}};
  }
  std::vector<LoadClass> classes;  // none of which is ever full, but the larger one is less so
  double unlimited = 0.0;
  for (const StageMesh::RowClass& row_class : mesh.classes()) {
    classes.push_back(
        {row_class.num_rows, 0.0, 1.0 / row_class.load_class(0.0, 0.0, 0.0).memory, 0.0});
    unlimited = std::max(unlimited, classes.back().need(micro_batch));
  }
  for (LoadClass& c : classes) c.memory = unlimited;
  return balance_load(classes, micro_batch, seconds)->shares;
}

std::vector<Interval> samples_of(const StageMesh& mesh, const std::vector<ClassShare>& shares) {
  std::vector<int> seen(shares.size(), 0);
  std::vector<Interval> samples;
  std::int64_t begin = 0;
  for (int j = 0; j < mesh.replicas(); ++j) {
    const int k = mesh.class_of(j);
    const std::int64_t end = begin + shares[k].units + (seen[k]++ < shares[k].num_more ? 1 : 0);
    samples.push_back({begin, end});
    begin = end;
  }
  return samples;
}

std::optional<std::vector<Interval>> shared_samples(LayerSums& sums, const StageMesh& mesh,
                                                    std::int64_t micro_batch, Shares shares) {
  if (micro_batch < mesh.replicas()) return std::nullopt;
  if (shares == Shares::even) return even_division(micro_batch, mesh.replicas());
  const auto seconds = [&](int k, std::int64_t samples) {
    return whole_model_seconds(sums, mesh, k, samples);
  };
  return samples_of(mesh, shares_by_speed(mesh, micro_batch, seconds));
}

}  // namespace pptrain
