#include "planners/divide/stage_search.hpp"

#include <algorithm>
#include <limits>

namespace pptrain {

StageSearch::StageSearch(const SearchSpace& space, LayerSums& sums, DeviceStates& states,
                         Merging merging, Shares shares)
    : space_(space),
      sums_(sums),
      states_(states),
      merging_(merging),
      shares_(shares),
      options_(stage_options(space)),
      counts_(StageCounts::of(space.restrictions.pipeline, true)) {}

std::optional<StageChain> StageSearch::search(std::int64_t micro_batch, double limit) {
  if (space_.stop.requested()) stopped_ = true;
  if (stopped_) return std::nullopt;
  start(micro_batch, limit);
  for (int end = sums_.num_layers(); end > 0 && !stopped_; --end) {
    // Frontiers of later layers are complete; those of earlier ones are filled from here.
    frontier_end_ = end;
    for (const auto& [key, frontier] : frontiers_[end]) {
      expand(frontier);
      if (stopped_) break;
    }
  }
  if (best_ < 0) return std::nullopt;
  return chain_of(best_);
}

void StageSearch::start(std::int64_t micro_batch, double limit) {
  micro_batch_ = micro_batch;
  const std::int64_t micro_batches = space_.instance.global_batch_size / micro_batch;
  form_ = PipelineForm(static_cast<double>(micro_batches));
  in_flight_.emplace(space_.schedule, micro_batches, sums_.num_layers());
  limit_ = limit;
  best_ = -1;
  costs_.clear();
  asked_.clear();
  cuts_.clear();
  labels_.clear();
  frontiers_.assign(sums_.num_layers() + 1, {});
  Label none;
  none.end = sums_.num_layers();
  frontiers_[sums_.num_layers()][0] = {0, {labels_.add(none)}};
  find_least_layers();
}

const MeshCost* StageSearch::cost(int mesh) {
  if (static_cast<int>(costs_.size()) < states_.num_meshes()) {
    costs_.resize(states_.num_meshes());
    asked_.resize(states_.num_meshes(), false);
  }
  if (!asked_[mesh]) {
    asked_[mesh] = true;
    if (auto samples = shared_samples(sums_, states_.mesh(mesh), micro_batch_, shares_)) {
      costs_[mesh] = std::make_unique<MeshCost>(space_.instance, sums_, states_.mesh(mesh),
                                                std::move(*samples), options_);
    }
  }
  return costs_[mesh].get();
}

/// For bounds: no mesh runs a layer in less time, or with fewer device-seconds.
void StageSearch::find_least_layers() {
  const int num_layers = sums_.num_layers();
  std::vector<double> seconds(num_layers, std::numeric_limits<double>::infinity());
  std::vector<double> work = seconds;
  for (int mesh = 0; mesh < states_.num_meshes(); ++mesh) {
    if (space_.stop.requested()) stopped_ = true;
    const MeshCost* mine = stopped_ ? nullptr : cost(mesh);
    if (mine == nullptr) continue;
    for (int l = 0; l < num_layers; ++l) {
      for (std::size_t option = 0; option < options_.size(); ++option) {
        const double t = mine->seconds(static_cast<int>(option), l, l + 1);
        seconds[l] = std::min(seconds[l], t);
        work[l] = std::min(work[l], t * mine->mesh().num_devices());
      }
    }
  }
  least_seconds_ = least_work_ = {0.0};
  for (int l = 0; l < num_layers; ++l) {
    least_seconds_.push_back(least_seconds_.back() + seconds[l]);
    least_work_.push_back(least_work_.back() + work[l]);
  }
}

void StageSearch::expand(const Frontier& frontier) {
  const auto& fixed = space_.restrictions;
  for (const StageMove& move : states_.moves(frontier.state)) {
    const StageMesh& mesh = states_.mesh(move.mesh);
    if (fixed.data && *fixed.data != mesh.replicas()) continue;
    if (fixed.tensor && *fixed.tensor != mesh.tensor_parallel()) continue;
    const MeshCost* mine = cost(move.mesh);
    if (mine == nullptr) continue;
    extend(frontier, move, *mine);
    if (space_.stop.requested()) {
      stopped_ = true;
      return;
    }
  }
}

void StageSearch::extend(const Frontier& frontier, const StageMove& move, const MeshCost& mine) {
  const int end = frontier_end_;
  const auto& fixed = space_.restrictions;
  const bool is_complete = states_.complete(move.state);
  const int first =
      states_.num_left(move.state) > 0 && !(fixed.pipeline && *fixed.pipeline == 1) ? end - 1 : 0;
  for (int begin = first; begin >= 0; --begin) {
    if (begin == 0 && !is_complete) break;
    if (!mine.may_fit(begin, end)) break;  // more layers need no less
    bool any = false;
    prices_.clear();
    for (const int next : frontier.labels) any |= prepend(begin, next, move, mine);
    if (!any) break;
  }
}

/// The price of a stage with layers from `begin`; labels behind it differ in little more than their
/// number.
const StageSearch::StagePrice& StageSearch::price(int begin, double in_flight,
                                                  const MeshCost& mine) {
  for (const StagePrice& known : prices_) {
    if (known.in_flight == in_flight) return known;
  }
  StagePrice& made = prices_.emplace_back();
  made.in_flight = in_flight;
  made.option = mine.fitting_option(begin, frontier_end_, in_flight);
  if (!made.option) return made;
  made.seconds = mine.seconds(*made.option, begin, frontier_end_);
  made.gradient_seconds = mine.gradient_seconds(begin, frontier_end_);
  return made;
}

/// Puts a stage with layers from `begin` before the stages of label `next`. False where a stage
/// with still more layers cannot help either.
bool StageSearch::prepend(int begin, int next, const StageMove& move, const MeshCost& mine) {
  const Label after = labels_[next];
  const int end = frontier_end_;
  const AutoInt& pipeline = space_.restrictions.pipeline;
  if (pipeline &&
      (begin == 0 ? after.num_stages + 1 != *pipeline : after.num_stages + 2 > *pipeline))
    return true;
  const StagePrice price = this->price(begin, in_flight_->behind(after.num_stages), mine);
  if (!price.option) return false;
  ++num_examined_;
  const double cut = after.mesh < 0 ? 0.0 : cut_seconds(move.mesh, after.mesh, end);
  const Label label = {{after.sum + price.seconds + cut, std::max(after.slowest, price.seconds),
                        std::max(after.gradient, price.gradient_seconds)},
                       after.num_stages + 1,
                       move.mesh,
                       *price.option,
                       end,
                       next};
  if (may_win(label, begin, move.state)) insert(begin, move.state, label);
  return form_.seconds(label) + least_seconds_[begin] < limit_;
}

/// Whether the label can end below the limit: the layers that are left take at least their least
/// time, and one of their stages at least their work shared out over the devices that are left.
bool StageSearch::may_win(const Label& label, int begin, int state) const {
  if (begin == 0) return form_.seconds(label) < limit_;
  const int left = states_.num_left(state);
  if (left == 0) return false;
  StageLabel rest = label;
  rest.sum += std::max(least_seconds_[begin], least_work_[begin] / left);
  rest.slowest = std::max(rest.slowest, least_work_[begin] / left);
  return form_.seconds(rest) < limit_;
}

void StageSearch::insert(int begin, int state, const Label& label) {
  if (begin == 0) {
    best_ = labels_.add(label);
    limit_ = form_.seconds(label);
    return;
  }
  const std::int64_t key =
      merging_ == Merging::exact
          ? static_cast<std::int64_t>(state) * states_.num_meshes() + label.mesh
          : state;
  Frontier& frontier = frontiers_[begin][key];
  frontier.state = state;
  labels_.insert(frontier.labels, label, [this](const Label& a, const Label& b) {
    return counts_.covers(a.num_stages, b.num_stages) && form_.covers(a, b);
  });
}

double StageSearch::cut_seconds(int sender, int receiver, int boundary) {
  const std::int64_t key = static_cast<std::int64_t>(sender) * states_.num_meshes() + receiver;
  auto place = cuts_.find(key);
  if (place == cuts_.end()) {
    place =
        cuts_.emplace(key, CutCost(space_.instance.cluster, *cost(sender), *cost(receiver))).first;
  }
  return place->second.seconds(space_.instance.profile.layers[boundary - 1].output_bytes);
}

StageChain StageSearch::chain_of(int label) const {
  StageChain chain = {micro_batch_, form_.seconds(labels_[label]), {}};
  for (int begin = 0; labels_[label].mesh >= 0; label = labels_[label].next) {
    const Label& mine = labels_[label];
    chain.stages.push_back({mine.mesh, mine.option, {begin, mine.end}});
    begin = mine.end;
  }
  return chain;
}

Plan StageSearch::plan_of(const StageChain& chain) {
  Plan plan;
  plan.global_batch_size = space_.instance.global_batch_size;
  plan.micro_batch_size = chain.micro_batch;
  plan.micro_batches = plan.global_batch_size / plan.micro_batch_size;
  plan.schedule.name = space_.schedule;
  for (const FoundStage& part : chain.stages) {
    const StageMesh& mesh = states_.mesh(part.mesh);
    Stage stage = mesh.stage(*shared_samples(sums_, mesh, chain.micro_batch, shares_));
    stage.layers = {part.layers};
    options_[part.option].apply_to(stage);
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace pptrain
