#include "planners/published/alpa/alpa_search.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/infinity.hpp"

namespace pptrain {

AlpaSearch::AlpaSearch(const SearchSpace& space, LayerSums& sums, const SubMeshes& meshes,
                       std::int64_t micro_batch)
    : space_(space),
      sums_(sums),
      meshes_(meshes),
      micro_batch_(micro_batch),
      form_(static_cast<double>(space.instance.global_batch_size / micro_batch)),
      in_flight_(space.schedule, space.instance.global_batch_size / micro_batch, sums.num_layers()),
      cuts_(space.instance.cluster, costs_) {
  for (const MeshClass& mesh : meshes.classes()) {
    auto cost = std::make_unique<ShardingCost>(space, sums, mesh, micro_batch);
    costs_.push_back(cost->num_divisions() > 0 ? std::move(cost) : nullptr);
    mean_.weights.push_back({1.0 + form_.repeats() * mesh.share, mesh.share});
    sum_.weights.push_back({1.0, 0.0});
  }
  to_.resize(meshes.num_devices() + 1);
  for (int begin = 0; begin < meshes.num_devices(); ++begin) {
    for (const SubMesh& mesh : meshes.from(begin)) {
      if (costs_[mesh.mesh_class]) to_[mesh.end].emplace_back(begin, mesh.mesh_class);
    }
  }
  std::vector<DeviceId> devices;
  for (int d = 0; d < meshes.num_devices(); ++d) devices.emplace_back(d);
  slowest_ = space.instance.cluster.slowest_link(devices);
  const int num_layers = sums.num_layers();
  const bool some_do_not_fit = std::any_of(costs_.begin(), costs_.end(), [&](const auto& cost) {
    return cost && cost->may_lack_memory(0, num_layers, in_flight_.behind(num_layers - 1));
  });
  counts_ = StageCounts::of(space.restrictions.pipeline, some_do_not_fit, in_flight_.most_behind());
  relax(mean_);
  relax(sum_);
}

void AlpaSearch::relax(Relaxation& relaxation) const {
  const int num_layers = sums_.num_layers();
  const int stride = num_layers + 1;
  relaxation.stages.resize(costs_.size());
  for (std::size_t c = 0; c < costs_.size(); ++c) {
    if (!costs_[c]) continue;
    std::vector<double>& stages = relaxation.stages[c];
    stages.resize(static_cast<std::size_t>(stride) * stride);
    const ShardingBounds bounds(*costs_[c], num_layers, in_flight_.behind(0));
    for (int begin = 0; begin < num_layers; ++begin)
      bounds.find(relaxation.weights[c], begin, &stages[begin * stride]);
  }
  relaxation.before.assign(meshes_.num_devices() + 1, std::vector<double>(stride, infinity));
  relaxation.before[0][0] = 0.0;
  for (int place = 0; place < meshes_.num_devices(); ++place) {
    std::vector<double>& before = relaxation.before[place];
    for (double& seconds : before) seconds += cuts_.least_seconds(place);
    for (const SubMesh& mesh : meshes_.from(place)) {
      if (!costs_[mesh.mesh_class]) continue;
      double* after = relaxation.before[mesh.end].data();
      for (int begin = 0; begin < num_layers; ++begin) {
        const double so_far = before[begin];
        if (so_far == infinity) continue;
        const double* stage = &relaxation.stages[mesh.mesh_class][begin * stride];
        for (int end = begin + 1; end <= num_layers; ++end) {
          const double seconds = so_far + stage[end];
          after[end] = seconds < after[end] ? seconds : after[end];
        }
      }
    }
  }
}

double AlpaSearch::least_seconds() const {
  constexpr double rounding = 1.0 - 1e-12;  // sums are taken in another order than a plan's
  return rounding * std::max(mean_.before.back().back(), sum_.before.back().back());
}

double AlpaSearch::mean_bound(const Label& label) const {
  return form_.seconds({label.sum, label.shared_seconds, label.shared_reduction});
}

std::optional<AlpaChoice> AlpaSearch::search(double limit, double slack) {
  const int num_layers = sums_.num_layers();
  limit_ = limit;
  slack_ = slack;
  num_examined_ = 0;
  stopped_ = false;
  best_ = -1;
  runs_.clear();
  labels_.clear();
  at_.assign(num_layers + 1, std::vector<std::vector<Standing>>(meshes_.num_devices() + 1));
  at_[num_layers][meshes_.num_devices()] = {{{}, 0.0, 0, -1, 0, labels_.add({})}};
  for (int end = num_layers; end > 0 && !stopped_; --end) extend(end);
  if (best_ < 0) return std::nullopt;
  return choice_of(labels_[best_]);
}

/// Puts stages that end at layer `end` before all labels that begin there.
void AlpaSearch::extend(int end) {
  std::vector<Group> groups(costs_.size());
  for (int place = 1; place <= meshes_.num_devices(); ++place) {
    if (!at_[end][place].empty()) collect(end, place, groups);
  }
  for (std::size_t c = 0; c < groups.size() && !stopped_; ++c) {
    if (!groups[c].candidates.empty()) add_stages(end, static_cast<int>(c), groups[c]);
    stopped_ = space_.stop.requested();
  }
}

/// Sub-meshes that end at `mesh_end` and may be worth a stage, by the relaxations.
void AlpaSearch::collect(int end, int mesh_end, std::vector<Group>& groups) const {
  double least_mean = infinity;
  double least_sum = infinity;
  for (const Standing& standing : at_[end][mesh_end]) {
    least_mean = std::min(least_mean, mean_bound(labels_[standing.label]));
    least_sum = std::min(least_sum, form_.seconds(standing.seconds));
  }
  const int stride = sums_.num_layers() + 1;
  for (const auto& [begin, mesh_class] : to_[mesh_end]) {
    Group& group = groups[mesh_class];
    const double* mean_stage = mean_.stages[mesh_class].data() + end;
    const double* sum_stage = sum_.stages[mesh_class].data() + end;
    bool any = false;
    for (int layer = 0; layer < end; ++layer) {
      const double mean = mean_.before[begin][layer] + least_mean;
      const double sum = sum_.before[begin][layer] + least_sum;
      if (mean + mean_stage[layer * stride] >= limit_ || sum + sum_stage[layer * stride] >= limit_)
        continue;
      if (!any && group.candidates.empty()) group.rest.assign(end, infinity);
      any = true;
      group.rest[layer] = std::min(group.rest[layer], mean);
    }
    if (any) group.candidates.push_back({begin, mesh_end, {}, {}, {}});
  }
}

/// The labels behind the candidate, and the seconds of the cut there, for each division of its last
/// layer and each head that it meets.
void AlpaSearch::find_cuts(int end, int mesh_class, Candidate& candidate) {
  std::map<std::pair<int, int>, int> known;
  for (const Standing& standing : at_[end][candidate.end]) {
    const Label& label = labels_[standing.label];
    const auto [head, is_new] =
        known.try_emplace({label.mesh_class, label.head}, static_cast<int>(known.size()));
    candidate.all.push_back({label, label.shared_seconds, label.shared_reduction, label.num_stages,
                             standing.label, head->second});
    if (!is_new) continue;
    std::vector<double>& cuts = candidate.cuts.emplace_back();
    for (int tail = 0; tail < costs_[mesh_class]->num_divisions(); ++tail) {
      cuts.push_back(label.mesh_class < 0
                         ? 0.0
                         : cuts_.seconds({candidate.begin, mesh_class, tail},
                                         {candidate.end, label.mesh_class, label.head},
                                         space_.instance.profile.layers[end - 1].output_bytes));
    }
  }
}

/// Chooses the labels that leave so many micro-batches in flight; 0: any number.
void AlpaSearch::find_next(double in_flight, Candidate& candidate) const {
  candidate.next.clear();
  for (const Next& next : candidate.all) {
    if (in_flight > 0.0 && in_flight != in_flight_.behind(next.num_stages)) continue;
    candidate.next.push_back(next);
  }
}

void AlpaSearch::add_stages(int end, int mesh_class, Group& group) {
  const int num_divisions = costs_[mesh_class]->num_divisions();
  ShardingGoal goal = {end, 1.0, mean_.weights[mesh_class], std::move(group.rest), limit_, slack_,
                       {},  {}};
  goal.least_cut.assign(num_divisions, infinity);
  goal.cut_excess.assign(num_divisions, std::vector<double>(num_divisions, 0.0));
  std::set<double> in_flights;
  for (Candidate& candidate : group.candidates) {
    find_cuts(end, mesh_class, candidate);
    for (const std::vector<double>& cuts : candidate.cuts) {
      for (int a = 0; a < num_divisions; ++a) {
        goal.least_cut[a] = std::min(goal.least_cut[a], cuts[a]);
        for (int b = 0; b < num_divisions; ++b) {
          goal.cut_excess[a][b] = std::max(goal.cut_excess[a][b], cuts[a] - cuts[b]);
        }
      }
    }
    for (const Next& next : candidate.all) in_flights.insert(in_flight_.behind(next.num_stages));
  }
  const auto first =
      std::find_if(goal.rest.begin(), goal.rest.end(), [](double rest) { return rest < infinity; });
  const int begin = static_cast<int>(first - goal.rest.begin());
  if (!costs_[mesh_class]->may_lack_memory(begin, end, *in_flights.rbegin()))
    in_flights = {0.0};  // any number fits
  ShardingLabels labels(*costs_[mesh_class], runs_);
  for (const double in_flight : in_flights) {
    goal.in_flight = in_flight;
    goal.limit = limit_;
    for (Candidate& candidate : group.candidates) find_next(in_flight, candidate);
    labels.search(goal, [&](int layer, const ShardingOption& option) {
      prepend(group, goal, mesh_class, layer, option);
    });
  }
}

/// Puts a stage with layers [begin, goal.end) before all labels that it may precede.
void AlpaSearch::prepend(const Group& group, const ShardingGoal& goal, int mesh_class, int begin,
                         const ShardingOption& option) {
  const double share = meshes_.classes()[mesh_class].share;
  const AutoInt& pipeline = space_.restrictions.pipeline;
  for (const Candidate& candidate : group.candidates) {
    const double mean_before = mean_.before[candidate.begin][begin];
    const double sum_before = sum_.before[candidate.begin][begin];
    if (mean_before == infinity) continue;
    for (const Next& next : candidate.next) {
      if (pipeline &&
          (begin == 0 ? next.num_stages + 1 != *pipeline : next.num_stages + 2 > *pipeline))
        continue;
      Label label;
      label.sum = next.seconds.sum + option.seconds + candidate.cuts[next.head][option.tail];
      label.slowest = std::max(next.seconds.slowest, option.seconds);
      label.gradient = std::max(next.seconds.gradient, option.reduction);
      label.shared_seconds = next.shared_seconds + share * option.seconds;
      label.shared_reduction = next.shared_reduction + share * option.reduction;
      if (mean_bound(label) + mean_before >= limit_ || form_.seconds(label) + sum_before >= limit_)
        continue;
      label.num_stages = next.num_stages + 1;
      label.end = goal.end;
      label.mesh_class = mesh_class;
      label.head = option.head;
      label.run = option.run;
      label.next = next.label;
      insert(begin, candidate.begin, label);
    }
  }
}

void AlpaSearch::insert(int layer, int place, const Label& label) {
  ++num_examined_;
  std::vector<Standing>& frontier = at_[layer][place];
  const Standing standing = standing_of(label, layer, place);
  if (!admit(frontier, standing,
             [&](const Standing& a, const Standing& b) { return covers(a, b); }))
    return;
  frontier.push_back(standing);
  frontier.back().label = labels_.add(label);
  if (layer > 0) return;
  best_ = frontier.back().label;
  limit_ = form_.seconds(label);
}

AlpaSearch::Standing AlpaSearch::standing_of(const Label& label, int layer, int place) const {
  double with_cut = label.sum;
  if (layer > 0) {
    const auto samples =
        static_cast<double>(costs_[label.mesh_class]->division(label.head).samples.front().size());
    const double bytes = samples * space_.instance.profile.layers[layer - 1].output_bytes;
    with_cut += 2.0 * (bytes / slowest_.bandwidth + slowest_.latency) - cuts_.least_seconds(place);
  }
  return {label, with_cut, label.num_stages, label.mesh_class, label.head, -1};
}

/// Whether `a` is at least as good as `b` whatever comes before: its larger maxima cost it no more
/// than its smaller sum saves, the cut in front of it included, and no earlier stage holds more
/// micro-batches.
bool AlpaSearch::covers(const Standing& a, const Standing& b) const {
  if (!form_.covers(a.seconds, b.seconds, slack_) || !counts_.covers(a.num_stages, b.num_stages))
    return false;
  if (a.mesh_class == b.mesh_class && a.head == b.head) return true;
  StageLabel with_cut = a.seconds;
  with_cut.sum = a.with_cut;
  return form_.covers(with_cut, b.seconds, slack_);
}

AlpaChoice AlpaSearch::choice_of(const Label& first) const {
  AlpaChoice choice;
  choice.seconds = form_.seconds(first);
  int place = 0;
  int layer = 0;
  for (const Label* label = &first; label->mesh_class >= 0; label = &labels_[label->next]) {
    AlpaChoice::ChosenStage& stage = choice.stages.emplace_back();
    stage.begin = place;
    for (int run = label->run; run >= 0; run = runs_[run].next) {
      stage.parts.push_back({{layer, runs_[run].end},
                             costs_[label->mesh_class]->division(runs_[run].division).division});
      layer = runs_[run].end;
    }
    place += meshes_.classes()[label->mesh_class].num_devices();
  }
  return choice;
}

}  // namespace pptrain
