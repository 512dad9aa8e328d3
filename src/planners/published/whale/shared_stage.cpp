#include "planners/published/whale/shared_stage.hpp"

#include <algorithm>

#include "plan/patterns.hpp"

namespace pptrain {
namespace {

int begin_of(Interval layers) { return static_cast<int>(layers.begin); }
int end_of(Interval layers) { return static_cast<int>(layers.end); }

std::int64_t most_samples(const std::vector<Interval>& samples) {
  std::int64_t most = 0;
  for (const Interval& interval : samples) most = std::max(most, interval.size());
  return most;
}

}  // namespace

std::vector<Block> blocks_of(const Instance& instance, const StageMesh& mesh,
                             const std::vector<Interval>& samples, Interval layers) {
  Link slowest = mesh.classes().front().group.link;
  for (const StageMesh::RowClass& row_class : mesh.classes()) {
    slowest.bandwidth = std::min(slowest.bandwidth, row_class.group.link.bandwidth);
    slowest.latency = std::max(slowest.latency, row_class.group.link.latency);
  }
  std::vector<Block> blocks;
  for (std::int64_t l = layers.begin; l < layers.end; ++l) {
    TensorPattern pattern = TensorPattern::megatron;
    if (mesh.sharding() == Sharding::patterns) {
      pattern =
          least_communication(instance.profile, slowest, static_cast<int>(l),
                              mesh.tensor_parallel(), static_cast<double>(most_samples(samples)));
    }
    pattern = written_pattern(pattern, mesh.tensor_parallel());
    if (!blocks.empty() && blocks.back().pattern == pattern) {
      blocks.back().layers.end = l + 1;
    } else {
      blocks.push_back(
          {{l, l + 1}, mesh.replicas(), mesh.tensor_parallel(), pattern, samples, mesh.shards()});
    }
  }
  return blocks;
}

SharedStage::SharedStage(const Instance& instance, SampleTimes& times, const SharedMeshes& meshes,
                         std::int64_t micro_batch, StageOption option, double in_flight)
    : instance_(instance),
      base_mesh_(meshes.base),
      runs_mesh_(meshes.runs),
      micro_batch_(micro_batch),
      option_(option),
      in_flight_(in_flight),
      base_(instance, times, meshes.base, micro_batch, {option}, Shares::balanced),
      runs_(instance, times, meshes.runs, micro_batch, {option}, Shares::balanced),
      slowest_(instance.cluster.slowest_link(meshes.base.devices())) {
  for (const StageMesh::RowClass& row_class : base_mesh_.classes()) {
    rows_.push_back(&times.row(row_class.group, base_mesh_.tensor_parallel(), option.recompute,
                               base_mesh_.sharding()));
  }
  runs_load_.assign(base_mesh_.classes().size(), 0.0);
  const Stage split = runs_mesh_.stage({});
  for (int d = 0; d < base_mesh_.num_devices(); ++d) {
    double& load = runs_load_[base_mesh_.class_of(d / base_mesh_.tensor_parallel())];
    load = std::max(load, member_load(split, d % runs_mesh_.tensor_parallel()));
  }
  const Stage before = base_mesh_.stage(base_.by_speed().samples());
  const Stage after = runs_mesh_.stage(runs_.by_speed().samples());
  into_runs_ = missing_samples(before, after);
  out_of_runs_ = missing_samples(after, before);
}

std::vector<SharedStage::Piece> SharedStage::pieces(Interval layers,
                                                    const std::vector<Interval>& runs) {
  std::vector<Piece> pieces;
  std::int64_t next = layers.begin;
  for (const Interval& run : runs) {
    if (next < run.begin) pieces.push_back({{next, run.begin}, false});
    pieces.push_back({run, true});
    next = run.end;
  }
  if (next < layers.end) pieces.push_back({{next, layers.end}, false});
  return pieces;
}

SharedStage::Cost SharedStage::cost(Interval layers, const std::vector<Interval>& runs) const {
  // Into a run in F, out of it in B, or the other way round: the same two exchanges at each
  // boundary.
  const auto exchange = [this](double samples, double bytes) {
    return samples > 0.0 ? samples * bytes / slowest_.bandwidth + slowest_.latency : 0.0;
  };
  Cost cost;
  for (const Piece& piece : pieces(layers, runs)) {
    const MeshCost& mesh = (piece.is_run ? runs_ : base_).by_speed();
    cost.seconds += mesh.seconds(0, begin_of(piece.layers), end_of(piece.layers));
    cost.gradient_seconds += mesh.gradient_seconds(begin_of(piece.layers), end_of(piece.layers));
    if (piece.layers.begin == layers.begin) continue;
    const double bytes = instance_.profile.layers[piece.layers.begin - 1].output_bytes;
    cost.seconds += exchange(into_runs_, bytes) + exchange(out_of_runs_, bytes);
  }
  return cost;
}

double SharedStage::least_seconds(Interval layers) const {
  double sum = 0.0;
  for (int l = begin_of(layers); l < end_of(layers); ++l) {
    sum += std::min(base_.least_seconds(l, l + 1), runs_.least_seconds(l, l + 1));
  }
  return sum;
}

/// The base's rows; what the runs need counts as fixed, with the samples of their fullest replica.
std::vector<LoadClass> SharedStage::classes(const std::vector<Piece>& pieces) const {
  const Profile& profile = instance_.profile;
  const auto most = static_cast<double>(most_samples(runs_.by_speed().samples()));
  double fixed = profile.workspace_bytes + most * profile.workspace_bytes_per_sample;
  double per_sample = profile.workspace_bytes_per_sample;
  double state = 0.0;
  double runs_state = 0.0;
  for (const Piece& piece : pieces) {
    const MeshCost& mesh = (piece.is_run ? runs_ : base_).by_speed();
    const int begin = begin_of(piece.layers);
    const int end = end_of(piece.layers);
    const double stored =
        mesh.bytes_per_sample(0, begin, end, in_flight_) - profile.workspace_bytes_per_sample;
    (piece.is_run ? fixed : per_sample) += piece.is_run ? most * stored : stored;
    (piece.is_run ? runs_state : state) += mesh.state_bytes(0, begin, end);
  }
  std::vector<LoadClass> classes;
  for (std::size_t k = 0; k < base_mesh_.classes().size(); ++k) {
    classes.push_back(
        base_mesh_.classes()[k].load_class(state, fixed + runs_load_[k] * runs_state, per_sample));
  }
  return classes;
}

Stage SharedStage::stage_with(const std::vector<ClassShare>& shares, Interval layers,
                              const std::vector<Interval>& runs) const {
  Stage stage = base_mesh_.stage(samples_of(base_mesh_, shares));
  stage.layers = {layers};
  option_.apply_to(stage);
  for (const Interval& run : runs) {
    const std::vector<Block> blocks =
        blocks_of(instance_, runs_mesh_, runs_.by_speed().samples(), run);
    stage.blocks.insert(stage.blocks.end(), blocks.begin(), blocks.end());
  }
  return stage;
}

std::optional<Stage> SharedStage::stage(Interval layers, const std::vector<Interval>& runs) const {
  const std::vector<Piece> all = pieces(layers, runs);
  const auto seconds = [&](int k, std::int64_t samples) {
    double sum = 0.0;
    for (const Piece& piece : all) {
      if (!piece.is_run)
        sum += rows_[k]->seconds(samples, begin_of(piece.layers), end_of(piece.layers));
    }
    return sum;
  };
  const std::optional<LoadBalance> balance = balance_load(classes(all), micro_batch_, seconds);
  if (!balance) return std::nullopt;
  return stage_with(balance->shares, layers, runs);
}

Stage SharedStage::tightest_stage(Interval layers, const std::vector<Interval>& runs) const {
  return stage_with(least_shortage(classes(pieces(layers, runs)), micro_batch_).shares, layers,
                    runs);
}

}  // namespace pptrain
