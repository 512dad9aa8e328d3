#include "planners/ask/restrictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/names.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/published/whale/annotations.hpp"

namespace pptrain {
namespace {

bool is_schedule(const std::string& name) {
  const std::vector<std::string>& known = schedule_names();
  return std::find(known.begin(), known.end(), name) != known.end();
}

/// Refuses restrictions with the place of the key that is to be changed.
class RestrictionChecker {
 public:
  RestrictionChecker(const Instance& instance, const Restrictions& restrictions,
                     const std::string& source)
      : instance_(instance), fixed_(restrictions), source_(source) {}

  void check(PlanScope scope) const {
    check_schedule();
    check_positive();
    if (scope == PlanScope::uniform) check_grid();
    check_offload();
    check_devices();
    check_pipeline();
    check_micro_batch();
    check_tensor(scope);
    if (scope == PlanScope::uniform) check_any_left();
  }

  /// Refuses degrees whose product does not divide the devices.
  void check_found_none() const {
    const int devices = instance_.cluster.num_devices();
    const double product = product_of_degrees();
    if (std::fmod(devices, product) == 0.0) return;
    refuse(first_fixed_degree(), fmt::format("no plan was found with {}", fixed_degrees()),
           fmt::format("it takes {:.0f} devices or a multiple, which is no divisor of {}", product,
                       devices),
           fmt::format("use {}, or set one of them to \"auto\"", nearest_degrees("divide them")));
  }

 private:
  [[noreturn]] void refuse(const std::string& key, const std::string& problem,
                           const std::string& reason, const std::string& suggestion) const {
    throw_bad_input({fixed_.place_of(key, source_), problem, reason, suggestion});
  }

  void check_schedule() const {
    const std::string& name = fixed_.schedule;
    const std::vector<std::string>& known = schedule_names();
    if (!is_schedule(name)) {
      refuse("schedule", fmt::format("unknown schedule \"{}\"", name),
             "known schedules: " + join(known), did_you_mean(name, known, ""));
    }
    if (fixed_.unit > 0 && !schedule_kind(name).has_units && !is_open(name)) {
      refuse("unit", fmt::format("unit = {} with schedule \"{}\"", fixed_.unit, name),
             "only zeropp runs micro-batches in units", "use unit = 0, or schedule = \"zeropp\"");
    }
    check_chunks();
  }

  void check_chunks() const {
    const std::string& name = fixed_.schedule;
    const int chunks = static_cast<int>(fixed_.virtual_stages.value_or(1));
    const auto ask = [&] { return fmt::format("virtual_stages = {}", chunks); };
    if (chunks > 1 && !is_open(name) && !runs_chunks(name)) {
      refuse("virtual_stages", fmt::format("{} with schedule \"{}\"", ask(), name),
             "it runs one chunk per stage",
             "use virtual_stages = 1, or schedule = \"interleaved-1f1b\"");
    }
    if (schedule_kind(name).placement == ChunkPlacement::v_shape && chunks > 2) {
      refuse("virtual_stages", fmt::format("{} with schedule \"{}\"", ask(), name),
             "a V visits each stage twice", "use virtual_stages = 2");
    }
    const std::int64_t layers = instance_.profile.num_layers();
    const std::int64_t needed = schedule_under(fixed_).virtual_stages * fixed_.pipeline.value_or(1);
    if (chunks > 1 && needed > layers) {
      refuse("virtual_stages", fmt::format("{} is more chunks than layers", ask()),
             fmt::format("{} chunks need a layer each, the model has {}", needed, layers),
             "use fewer virtual_stages, or a smaller pipeline");
    }
  }

  void check_positive() const {
    if (instance_.global_batch_size < 1) {
      refuse("global_batch_size",
             fmt::format("a global batch of {} samples", instance_.global_batch_size),
             "an iteration needs at least one", "give a positive number");
    }
    for (const auto& [key, value] : {std::pair<const char*, AutoInt>{"data", fixed_.data},
                                     {"pipeline", fixed_.pipeline},
                                     {"tensor", fixed_.tensor},
                                     {"micro_batch_size", fixed_.micro_batch_size}}) {
      if (value && *value < 1)
        refuse(key, fmt::format("{} = {}", key, *value), "it must be at least 1", "use \"auto\"");
    }
  }

  /// `data = 4, pipeline = 2` of the degrees that are fixed.
  std::string fixed_degrees() const {
    return degrees_text(fixed_.data.value_or(1), fixed_.pipeline.value_or(1),
                        fixed_.tensor.value_or(1));
  }

  /// The degrees of a grid, those that are fixed.
  std::string degrees_text(std::int64_t data, std::int64_t pipeline, std::int64_t tensor) const {
    std::vector<std::string> parts;
    if (fixed_.data) parts.push_back(fmt::format("data = {}", data / fixed_.context));
    if (fixed_.context > 1) parts.push_back(fmt::format("context = {}", fixed_.context));
    if (fixed_.pipeline) parts.push_back(fmt::format("pipeline = {}", pipeline));
    if (fixed_.tensor) parts.push_back(fmt::format("tensor = {}", tensor));
    return join(parts);
  }

  std::vector<Grid> grids() const { return grids_of(instance_.cluster.num_devices(), fixed_); }

  /// What to type in place of fixed degrees: those that a grid of all devices has and that differ
  /// least, by factors. `do_so`: the verb that says it.
  std::string nearest_degrees(const char* do_so) const {
    Restrictions free = fixed_;
    free.data = free.pipeline = free.tensor = std::nullopt;
    const auto factor = [](const AutoInt& fixed, int degree) {
      return fixed ? std::abs(std::log(static_cast<double>(*fixed) / degree)) : 0.0;
    };
    const auto distance = [&](const Grid& grid) {
      return factor(fixed_.data, grid.data) + factor(fixed_.pipeline, grid.pipeline) +
             factor(fixed_.tensor, grid.tensor);
    };
    const std::vector<Grid> all = grids_of(instance_.cluster.num_devices(), free);
    if (all.empty()) return "a context that divides the number of devices";
    const Grid& nearest =
        *std::min_element(all.begin(), all.end(),
                          [&](const Grid& a, const Grid& b) { return distance(a) < distance(b); });
    return degrees_text(nearest.data, nearest.pipeline, nearest.tensor) + ", the nearest that " +
           do_so;
  }

  /// As a number that three large degrees do not overflow.
  double product_of_degrees() const {
    auto product = static_cast<double>(fixed_.data.value_or(fixed_.context));
    for (const AutoInt& degree : {fixed_.pipeline, fixed_.tensor})
      product *= static_cast<double>(degree.value_or(1));
    return product;
  }

  std::string first_fixed_degree() const {
    if (fixed_.data || fixed_.pipeline) return fixed_.data ? "data" : "pipeline";
    return fixed_.tensor ? "tensor" : "context";
  }
  bool fixes_degree() const {
    return fixed_.data || fixed_.pipeline || fixed_.tensor || fixed_.context > 1;
  }

  void check_grid() const {
    if (!fixes_degree()) return;
    const int devices = instance_.cluster.num_devices();
    if (!grids().empty()) return;
    const bool all = fixed_.data && fixed_.pipeline && fixed_.tensor;
    const double product = product_of_degrees();
    refuse(first_fixed_degree(),
           fmt::format("{} does not multiply up to {} devices", fixed_degrees(), devices),
           all ? fmt::format("data x pipeline x tensor = {:.0f}", product)
               : fmt::format("{:.0f} is no divisor of {}", product, devices),
           all ? fmt::format("start {:.0f} ranks, or set one of them to \"auto\"", product)
               : fmt::format("use {}, or set them to \"auto\"", nearest_degrees("do")));
  }

  void check_offload() const {
    if (instance_.cluster.has_host_links()) return;
    for (const auto& [key, asked] : {std::pair<const char*, AutoFlag>{"offload", fixed_.offload},
                                     {"offload_activations", fixed_.offload_activations}}) {
      if (!asked.value_or(false)) continue;
      refuse(key, fmt::format("{} = true, but there is nothing to offload to", key),
             fmt::format("nodes of cluster \"{}\" have no host_link", instance_.cluster.name),
             fmt::format(
                 "add host_link = {{ bandwidth = \"...\" }} to each [[node]], or use {} = false",
                 key));
    }
  }

  void check_devices() const {
    const int devices = instance_.cluster.num_devices();
    const double least = product_of_degrees();
    if (least <= devices) return;
    const bool is_one = fixed_degrees().find(',') == std::string::npos;
    refuse(first_fixed_degree(),
           fmt::format("{} need{} {:.0f} devices", fixed_degrees(), is_one ? "s" : "", least),
           fmt::format("the cluster has {}", devices),
           is_one ? fmt::format("use at most {}", devices) : "set one of them to \"auto\"");
  }

  void check_pipeline() const {
    const int layers = instance_.profile.num_layers();
    if (!fixed_.pipeline || *fixed_.pipeline <= layers) return;
    refuse("pipeline", fmt::format("pipeline = {} is more stages than layers", *fixed_.pipeline),
           fmt::format("the model has {} layers, each stage needs one", layers),
           fmt::format("use at most {}", layers));
  }

  void check_micro_batch() const {
    const std::int64_t batch = instance_.global_batch_size;
    if (fixed_.micro_batch_size && batch % *fixed_.micro_batch_size != 0) {
      refuse("micro_batch_size",
             fmt::format("micro_batch_size = {} does not divide global_batch_size = {}",
                         *fixed_.micro_batch_size, batch),
             "an iteration is a whole number of micro-batches",
             "use " + near_divisors(batch, *fixed_.micro_batch_size));
    }
    const std::int64_t largest = fixed_.micro_batch_size.value_or(batch);
    if (fixed_.data && *fixed_.data > largest) {
      refuse("data",
             fmt::format("data = {} replicas cannot share {} samples", *fixed_.data, largest),
             "each needs one of every micro-batch", fmt::format("use at most {}", largest));
    }
  }

  /// "2 or 4": the divisors of `number` next to `wanted`.
  static std::string near_divisors(std::int64_t number, std::int64_t wanted) {
    std::int64_t below = 1;
    for (const std::int64_t d : divisors(number)) {
      if (d > wanted) return fmt::format("{} or {}", below, d);
      below = d;
    }
    return fmt::format("{}", below);
  }

  bool has_degree(std::int64_t n, PlanScope scope) const {
    const auto& groups = instance_.cluster.groups;
    const auto known = [&](const NodeGroup& group) {
      return instance_.profile.has_degree(group.device_kind, static_cast<int>(n));
    };
    return scope == PlanScope::uniform ? std::all_of(groups.begin(), groups.end(), known)
                                       : std::any_of(groups.begin(), groups.end(), known);
  }

  /// A grid uses every kind of device; another plan can leave those out that do not know the
  /// degree.
  void check_tensor(PlanScope scope) const {
    if (!fixed_.tensor || has_degree(*fixed_.tensor, scope)) return;
    const int devices = instance_.cluster.num_devices();
    std::vector<std::string> degrees;
    for (const int n : instance_.profile.degrees()) {
      const bool possible = n <= devices && (scope == PlanScope::any || devices % n == 0);
      if (possible && has_degree(n, scope)) degrees.push_back(fmt::format("{}", n));
    }
    refuse("tensor", fmt::format("tensor = {} cannot be used", *fixed_.tensor),
           fmt::format("the profile does not have every layer at that degree on {} kind of device",
                       scope == PlanScope::uniform ? "every" : "any"),
           fmt::format("degrees that it has for {} devices: {}", devices, join(degrees)));
  }

  /// Each key alone is possible; together they may leave nothing.
  void check_any_left() const {
    std::string reason;
    const Restrictions uneven = with_uneven_shares(instance_, fixed_);
    for (const Grid& grid : grids_of(instance_.cluster.num_devices(), uneven)) {
      const std::string why_not = why_not_in_space(grid, instance_, uneven);
      if (why_not.empty()) return;
      if (!reason.empty()) reason += "; ";
      reason += fmt::format("{}: {}", to_string(grid), why_not);
    }
    // A cluster that fits no plan with nothing fixed is not the configuration's fault.
    if (!fixes_degree() && !fixed_.micro_batch_size) return;
    const std::string key = fixes_degree() ? first_fixed_degree() : "micro_batch_size";
    refuse(
        key,
        fmt::format("these settings leave no grid of {} devices", instance_.cluster.num_devices()),
        reason, "set some of them to \"auto\", or use another number of devices or batch size");
  }

  const Instance& instance_;
  const Restrictions& fixed_;
  const std::string& source_;
};

}  // namespace

std::string Restrictions::place_of(const std::string& key, const std::string& source) const {
  const auto place = places.find(key);
  return place == places.end() || place->second.empty() ? source : place->second;
}

Restrictions restrictions_of(const Config& config) {
  Restrictions restrictions;
  const std::int64_t context = config.parallelism.context;
  restrictions.context = static_cast<int>(context);
  if (config.parallelism.data) restrictions.data = *config.parallelism.data * context;
  restrictions.pipeline = config.parallelism.pipeline;
  restrictions.tensor = config.parallelism.tensor;
  restrictions.schedule = config.parallelism.schedule;
  restrictions.virtual_stages = config.parallelism.virtual_stages;
  restrictions.unit = static_cast<int>(config.parallelism.unit);
  restrictions.recompute = config.parallelism.recompute;
  restrictions.zero_stage = config.parallelism.zero_stage;
  restrictions.zero_group = config.parallelism.zero_group;
  restrictions.offload = config.parallelism.offload;
  restrictions.offload_activations = config.parallelism.offload_activations;
  restrictions.experts = config.parallelism.experts;
  restrictions.expert = config.parallelism.expert;
  restrictions.effort = config.planner.effort;
  restrictions.annotations = config.model.annotate;
  if (config.training.micro_batch_size)
    restrictions.micro_batch_size = *config.training.micro_batch_size * context;
  for (const char* key :
       {"data", "pipeline", "tensor", "context", "schedule", "virtual_stages", "unit", "zero_group",
        "offload", "offload_activations", "expert", "experts", "recompute", "zero_stage"}) {
    restrictions.places[key] = config.where(std::string("parallelism.") + key);
  }
  for (const char* key : {"micro_batch_size", "global_batch_size"}) {
    restrictions.places[key] = config.where(std::string("training.") + key);
  }
  for (std::size_t i = 0; i < restrictions.annotations.size(); ++i) {
    restrictions.places[fmt::format("annotate[{}]", i)] =
        config.where(fmt::format("model.annotate[{}]", i));
  }
  return restrictions;
}

Restrictions as_in_papers(Restrictions restrictions) {
  if (!restrictions.recompute) restrictions.recompute = Recompute::none;
  if (!restrictions.zero_stage) restrictions.zero_stage = 0;
  if (!restrictions.virtual_stages) restrictions.virtual_stages = 1;
  if (!restrictions.zero_group) restrictions.zero_group = ZeroGroup::replicas;
  if (!restrictions.offload) restrictions.offload = false;
  if (!restrictions.offload_activations) restrictions.offload_activations = false;
  if (restrictions.experts == Experts::chosen) restrictions.experts = Experts::columns;
  return restrictions;
}

bool runs_chunks(const std::string& schedule) {
  return !is_open(schedule) && schedule_kind(schedule).chunks != 1;
}

ScheduleChoice schedule_under(const Restrictions& restrictions) {
  ScheduleChoice choice = {restrictions.schedule,
                           static_cast<int>(restrictions.virtual_stages.value_or(1)),
                           restrictions.unit};
  if (is_open(choice.name))
    choice = {choice.virtual_stages > 1 ? "interleaved-1f1b" : "1f1b", choice.virtual_stages, 0};
  if (!is_schedule(choice.name)) return choice;
  if (const int chunks = schedule_kind(choice.name).chunks; chunks > 1)
    choice.virtual_stages = chunks;
  return choice;
}

bool plans_only_grids(const std::string& schedule, const Restrictions& restrictions) {
  const bool by_stages = is_schedule(schedule) && schedule_kind(schedule).planned_stage_by_stage;
  return !by_stages || restrictions.uniform || restrictions.zero_group == ZeroGroup::node;
}

void check_restrictions(const Instance& instance, const Restrictions& restrictions,
                        const std::string& source, PlanScope scope) {
  RestrictionChecker(instance, restrictions, source).check(scope);
  if (!restrictions.annotations.empty()) annotated_model(instance, restrictions, source);
}

void check_found_none(const Instance& instance, const Restrictions& restrictions,
                      const std::string& source) {
  RestrictionChecker(instance, restrictions, source).check_found_none();
}

}  // namespace pptrain
