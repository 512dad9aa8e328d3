// The search of frames: bounds, threads, devices left out.

#include <array>
#include <functional>
#include <optional>
#include <set>

#include "planners/everything_free.hpp"
#include "planners/frames/frame_divider.hpp"
#include "planners/frames/frame_queue.hpp"
#include "planners/frames/frame_search.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/large_instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

using test::everything_free;

/// Simulates every division of every shape of a site with one micro-batch size, and returns how
/// many there were.
int check_bounds(const SearchSpace& space, const Site& site, std::int64_t micro_batch) {
  FrameTables tables(space.instance);
  PlanSimulator simulator(space.instance);
  int count = 0;
  for (const Shape& shape : shapes_of(space, site)) {
    std::vector<DeviceRows> meshes = meshes_of(site, shape);
    if (!has_rows(space.instance, meshes)) continue;
    const PlacedShape placed(space.instance, std::move(meshes), ZeroGroup::replicas);
    if (placed.most_data() > micro_batch) continue;
    const FrameCosts costs(space.instance, tables, placed, micro_batch);
    std::vector<FrameDivision> divisions = FrameDivider(space, costs, infinity).first();
    for (FrameDivision& other : FrameDivider(space, costs, infinity).others())
      divisions.push_back(std::move(other));
    for (const FrameDivision& division : divisions) {
      const Plan plan = plan_of(space, costs, division);
      validate_plan(plan, space.instance.profile.num_layers(), space.instance.cluster.num_devices(),
                    "frame");
      CAPTURE(site.name, plan.shape(), plan.schedule.name, plan.schedule.virtual_stages,
              plan.schedule.unit, plan.stages.front().zero_stage, plan.micro_batches);
      if (!simulator.of(plan).why_not.empty()) continue;
      const double seconds = simulator.of(plan).iteration_seconds;
      REQUIRE(division.bound <= seconds * (1.0 + 1e-9));
      REQUIRE(costs.least_seconds(Recompute::none) <= seconds * (1.0 + 1e-9));
      ++count;
    }
  }
  return count;
}

TEST_CASE("no plan of a frame takes less than the frame's bound", "[planners]") {
  const Profile profile = blocks(12, 0.4);
  const Restrictions free = everything_free();
  for (const double memory : {1.0, 0.2}) {  // the smaller one has room for few micro-batches
    int count = 0;
    for (const auto& [nodes, devices] : {std::pair{2, 2}, {4, 1}}) {
      Cluster cluster = mixed_nodes(nodes, devices);
      for (DeviceKind& kind : cluster.device_kinds) kind.memory *= memory;
      const Instance instance = {profile, cluster, 16};
      const SearchSpace space = {instance, free};
      for (const Site& site : sites_of(instance)) {
        for (const std::int64_t micro_batch : {2, 4, 8})
          count += check_bounds(space, site, micro_batch);
      }
    }
    CHECK(count > (memory < 1.0 ? 300 : 1000));
  }
}

/// The cluster with so many bytes on each device.
Cluster with_memory(Cluster cluster, double memory) {
  for (DeviceKind& kind : cluster.device_kinds) kind.memory = memory;
  return cluster;
}

TEST_CASE("the order of auto fits with several chunks where 1F1B has room", "[planners]") {
  const Profile profile = blocks(16, 0.0);
  const Restrictions free = everything_free();
  const std::vector<Interval> chunks = even_division(16, 8);
  int fitting = 0;
  for (double memory = 3.5e9; memory < 4.5e9; memory += 0.05e9) {
    const Cluster cluster = with_memory(mixed_nodes(2, 4), memory);
    const Instance instance = {profile, cluster, 64};
    const SearchSpace space = {instance, free};
    FrameTables tables(instance);
    const Site site = {"the V100s", {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)}};
    const PlacedShape placed(instance, meshes_of(site, {{4, 1, 1}}), ZeroGroup::replicas);
    const FrameCosts costs(instance, tables, placed, 1);
    ScheduledCost searched(costs, {"auto", 2, 0}, {RecomputeRule::none, 0});
    ScheduledCost fixed(costs, {"interleaved-1f1b", 2, 0}, {RecomputeRule::none, 0});
    if (searched.of(chunks).overrun > 0.0 || fixed.of(chunks).overrun == 0.0) continue;
    CAPTURE(memory);
    const FrameDivision division = {0.0,
                                    0.0,
                                    {"auto", 2, 0},
                                    0,
                                    0,
                                    chunks,
                                    std::vector<Recompute>(4),
                                    std::vector<int>(4),
                                    std::vector<std::vector<Interval>>(4)};
    PlanSimulator simulator(instance);
    const SimulatedPlan& result = simulator.of(plan_of(space, costs, division));
    CHECK(result.why_not.empty());
    CHECK(result.iteration_seconds < 1.2 * searched.of(chunks).seconds);
    ++fitting;
  }
  CHECK(fitting > 3);
}

/// Eight stages of two V100s in a cluster whose devices have so many bytes, with micro-batches of
/// two samples.
struct TwoByEight {
  Cluster cluster;
  Instance instance;
  FrameTables tables;
  PlacedShape placed;
  FrameCosts costs;

  TwoByEight(const Profile& profile, double memory)
      : cluster(with_memory(mixed_nodes(4, 8), memory)),
        instance{profile, cluster, 64},
        tables(instance),
        placed(instance, meshes_of(v100s(), {{8, 2, 1}}), ZeroGroup::replicas),
        costs(instance, tables, placed, 2) {}

  static Site v100s() {
    Site site = {"the V100s", {}};
    for (int d = 0; d < 16; ++d) site.devices.emplace_back(d);
    return site;
  }
};

TEST_CASE("where short memory makes stages uneven, frames that compute F again are looked at too",
          "[planners]") {
  const Profile profile = blocks(32, 0.0);
  const Restrictions free = everything_free();
  Restrictions divided = free;
  divided.zero_stage = 3;
  int uneven = 0;
  for (double memory = 1e9; memory < 4e9; memory += 0.1e9) {
    const TwoByEight two_by_eight(profile, memory);
    const Instance& instance = two_by_eight.instance;
    const FrameCosts& costs = two_by_eight.costs;
    const SearchSpace space = {instance, free};
    // Layers of the largest stage of the order of auto, without recomputation.
    const auto largest = [&](const SearchSpace& asked, bool& recomputes) {
      std::int64_t most = 0;
      for (const FrameDivision& division : FrameDivider(asked, costs, infinity).others()) {
        if (division.schedule != ScheduleChoice{"auto", 1, 0}) continue;
        recomputes = recomputes || division.rule > 0;
        if (division.rule > 0) continue;
        for (const Interval& layers : division.chunks) most = std::max(most, layers.size());
      }
      return most;
    };
    bool recomputes = false;
    bool unused = false;
    const std::int64_t own = largest(space, recomputes);
    const std::int64_t roomy = largest({instance, divided}, unused);
    if (own == 0 || 5 * own < 6 * roomy) continue;
    CAPTURE(memory);
    CHECK(recomputes);
    ++uneven;
  }
  CHECK(uneven > 0);
}

TEST_CASE("where ZeRO is needed, the order of auto is looked at with the next stronger stage too",
          "[planners]") {
  const Profile profile = blocks(32, 0.0);
  const Restrictions free = everything_free();
  std::array<int, 4> cases = {};  // by the weakest stage that fits
  for (double memory = 1e9; memory < 4e9; memory += 0.1e9) {
    const TwoByEight two_by_eight(profile, memory);
    const FrameCosts& costs = two_by_eight.costs;
    const SearchSpace space = {two_by_eight.instance, free};
    std::set<std::size_t> zeros;
    std::optional<FrameDivision> any;
    for (const FrameDivision& division : FrameDivider(space, costs, infinity).others()) {
      const bool is_equal = division.zero < 4;  // of all stages
      if (division.schedule != ScheduleChoice{"auto", 1, 0} || division.rule > 0 || !is_equal)
        continue;
      zeros.insert(division.zero);
      any = division;
    }
    if (zeros.empty()) continue;
    CAPTURE(memory, *zeros.begin());
    ++cases[*zeros.begin()];
    if (*zeros.begin() == 1 || *zeros.begin() == 2) CHECK(zeros.contains(*zeros.begin() + 1));
    // A leader is tried with every stage that fits.
    std::set<std::size_t> others = {any->zero};
    for (const FrameDivision& other : FrameDivider(space, costs, infinity).with_other_zeros(*any)) {
      CHECK(other.schedule == any->schedule);
      CHECK(other.rule == any->rule);
      CHECK(others.insert(other.zero).second);
    }
    CHECK(others.size() == 4 - *zeros.begin());
  }
  CHECK(cases[1] > 0);
  CHECK(cases[2] > 0);
}

TEST_CASE("the best frames are tried with other ZeRO stages, and what is slower stays",
          "[planners]") {
  const Profile profile = blocks(32, 0.0);
  Restrictions free = everything_free();
  free.effort = Effort::quick;
  const auto is_beside = [](const Plan& a, const Plan& b) {
    const auto same_mesh = [](const Stage& x, const Stage& y) {
      return x.devices == y.devices && x.layers.size() == y.layers.size();
    };
    return a.micro_batch_size == b.micro_batch_size &&
           std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(),
                      same_mesh);
  };
  std::size_t varied = 0;
  for (const double memory : {1.5e9, 2e9, 3e9}) {
    const Cluster cluster = with_memory(mixed_nodes(4, 8), memory);
    const Instance instance = {profile, cluster, 64};
    const FoundFrames found =
        search_frames({instance, free}, infinity, std::make_shared<KnownOrders>());
    std::size_t faster = 0;
    for (std::size_t i = 0; i < found.plans.size(); ++i) {
      for (std::size_t j = i + 1; j < found.plans.size(); ++j) {
        if (!is_beside(found.plans[i].plan, found.plans[j].plan)) continue;
        ++faster;
        CHECK(found.plans[i].seconds < found.plans[j].seconds);
        break;
      }
    }
    CAPTURE(memory);
    CHECK(faster >= found.num_varied);
    varied += found.num_varied;
  }
  CHECK(varied > 0);
}

/// All divisions of layers into so many chunks.
std::vector<std::vector<Interval>> all_divisions(int layers, int chunks) {
  if (chunks == 1) return {{{0, layers}}};
  std::vector<std::vector<Interval>> all;
  for (int end = chunks - 1; end < layers; ++end) {
    for (std::vector<Interval>& before : all_divisions(end, chunks - 1)) {
      before.push_back({end, layers});
      all.push_back(std::move(before));
    }
  }
  return all;
}

TEST_CASE(
    "memory rules out only frames none of whose divisions fit; a stage's work is no more than its "
    "cost",
    "[planners]") {
  constexpr int layers = 9;
  const Restrictions free = everything_free();
  int ruled_out = 0;
  int fitting = 0;
  for (const double room : {0.2, 0.5, 1.0, 2.0}) {
    const Profile profile = blocks(layers, 0.4);
    Cluster cluster = mixed_nodes(2, 2);
    for (DeviceKind& kind : cluster.device_kinds) kind.memory *= room;
    const Instance instance = {profile, cluster, 8};
    const SearchSpace space = {instance, free};
    const Site site = sites_of(instance).front();
    FrameTables tables(instance);
    for (const Shape& shape : shapes_of(space, site)) {
      std::vector<DeviceRows> meshes = meshes_of(site, shape);
      if (!has_rows(instance, meshes)) continue;
      const PlacedShape placed(instance, std::move(meshes), ZeroGroup::replicas);
      const FrameCosts costs(instance, tables, placed, 4);
      for (const RecomputeRule rule :
           {RecomputeRule::none, RecomputeRule::full, RecomputeRule::needed}) {
        for (const int zero_stage : {0, 1, 3}) {
          ScheduledCost cost(costs, {"1f1b", 1, 0}, {rule, zero_stage});
          bool fits = false;
          for (const std::vector<Interval>& chunks : all_divisions(layers, placed.num_stages())) {
            const ScheduledCost::Cost one = cost.of_stages(chunks);
            fits = fits || one.overrun == 0.0;
            for (int s = 0; s < placed.num_stages(); ++s) {
              REQUIRE(cost.least_seconds(s, chunks) <= one.seconds * (1.0 + 1e-12));
            }
          }
          if (fits) REQUIRE(cost.may_fit());
          ruled_out += cost.may_fit() ? 0 : 1;
          fitting += fits ? 1 : 0;
        }
      }
    }
  }
  CHECK(ruled_out > 10);
  CHECK(fitting > 10);
}

TEST_CASE("stages have the weakest ZeRO stage by which they fit where each has one of its own",
          "[planners]") {
  constexpr int layers = 12;
  const Profile profile = blocks(layers, 0.2);
  const Restrictions free = everything_free();
  int unlike = 0, made_unlike = 0;
  for (double memory = 4e9; memory < 8e9; memory += 0.25e9) {
    const Cluster cluster = with_memory(mixed_nodes(2, 4), memory);
    const Instance instance = {profile, cluster, 16};
    const SearchSpace space = {instance, free};
    FrameTables tables(instance);
    const Site site = sites_of(instance).front();
    const PlacedShape placed(instance, meshes_of(site, {{2, 2, 1}}), ZeroGroup::replicas);
    const FrameCosts costs(instance, tables, placed, 2);
    const auto with = [&](int zero_stage, bool by_need) {
      return ScheduledCost(costs, {"1f1b", 1, 0}, {RecomputeRule::none, zero_stage, by_need});
    };
    ScheduledCost weakest = with(1, false), middle = with(2, false), strongest = with(3, false),
                  own = with(1, true);
    for (const std::vector<Interval>& chunks : all_divisions(layers, 2)) {
      const double overruns[] = {weakest.of(chunks).overrun, middle.of(chunks).overrun,
                                 strongest.of(chunks).overrun};
      const ScheduledCost::Cost cost = own.of(chunks);
      CHECK(cost.overrun == overruns[2]);
      if (overruns[0] == 0.0) CHECK(cost.seconds == weakest.of(chunks).seconds);
      const int most = std::max(own.zero_stage_of(0), own.zero_stage_of(1));
      if (cost.overrun == 0.0) CHECK(overruns[most - 1] == 0.0);
      if (most > 1) CHECK(overruns[most - 2] > 0.0);
      unlike += cost.overrun == 0.0 && own.zero_stage_of(0) != own.zero_stage_of(1) ? 1 : 0;
    }
    for (const FrameDivision& division : FrameDivider(space, costs, infinity).first()) {
      const Plan plan = plan_of(space, costs, division);
      for (int s = 0; s < 2; ++s) CHECK(plan.stages[s].zero_stage == division.zero_stages[s]);
      made_unlike += division.zero_stages[0] != division.zero_stages[1] ? 1 : 0;
    }
  }
  CHECK(unlike > 10);
  CHECK(made_unlike > 0);
}

TEST_CASE("a schedule that stores more micro-batches lacks no less memory", "[planners]") {
  constexpr int layers = 8;
  const Profile profile = blocks(layers, 0.4);
  Cluster cluster = mixed_nodes(2, 4);
  for (DeviceKind& kind : cluster.device_kinds) kind.memory *= 0.1;
  const Instance instance = {profile, cluster, 16};
  FrameTables tables(instance);
  const Site site = {"the V100s", {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)}};
  const PlacedShape placed(instance, meshes_of(site, {{4, 1, 1}}), ZeroGroup::replicas);
  const FrameCosts costs(instance, tables, placed, 1);
  int pairs = 0;
  const std::vector<ScheduleChoice> schedules = {
      {"1f1b", 1, 0},  {"auto", 1, 0},  {"zb-h1", 1, 0}, {"dapple-b", 1, 0},
      {"zb-h2", 1, 0}, {"gpipe", 1, 0}, {"zeropp", 1, 2}};
  for (const ScheduleChoice& less : schedules) {
    for (const ScheduleChoice& more : schedules) {
      ScheduledCost a(costs, less, {RecomputeRule::needed, 0});
      ScheduledCost b(costs, more, {RecomputeRule::needed, 0});
      const std::vector<double>& stored = a.in_flight();
      if (!std::equal(stored.begin(), stored.end(), b.in_flight().begin(), std::less_equal<>()))
        continue;
      CAPTURE(less.name, more.name);
      ++pairs;
      for (const std::vector<Interval>& chunks : all_divisions(layers, 4)) {
        CHECK(a.of(chunks).overrun <= b.of(chunks).overrun);
      }
    }
  }
  CHECK(pairs > 20);
}

TEST_CASE("a division costs the same behind another one that was undone", "[planners]") {
  constexpr int layers = 8;
  const Profile profile = blocks(layers, 0.4);
  Cluster cluster = mixed_nodes(2, 2);
  for (DeviceKind& kind : cluster.device_kinds) kind.memory *= 0.5;
  const Instance instance = {profile, cluster, 8};
  const Restrictions free = everything_free();
  const SearchSpace space = {instance, free};
  const Site site = sites_of(instance).front();
  FrameTables tables(instance);
  int num_compared = 0;
  for (const Shape& shape : shapes_of(space, site)) {
    std::vector<DeviceRows> meshes = meshes_of(site, shape);
    if (!has_rows(instance, meshes)) continue;
    const PlacedShape placed(instance, std::move(meshes), ZeroGroup::replicas);
    const FrameCosts costs(instance, tables, placed, 4);
    for (const int chunks : {1, 2}) {
      if (chunks * placed.num_stages() > layers) continue;
      const ScheduleChoice schedule = {chunks == 1 ? "zb-h1" : "interleaved-1f1b", chunks, 0};
      const FrameModes modes = {RecomputeRule::needed, 1};
      ScheduledCost kept(costs, schedule, modes);
      std::vector<std::vector<Interval>> divisions =
          all_divisions(layers, chunks * placed.num_stages());
      if (divisions.size() > 20) divisions.resize(20);
      for (std::size_t d = 0; d < divisions.size(); ++d) {
        kept.of_stages(divisions[d]);
        kept.of_stages(divisions.back());
        kept.undo();
        const ScheduledCost::Cost found = kept.of(divisions[d]);
        const ScheduledCost::Cost fresh = ScheduledCost(costs, schedule, modes).of(divisions[d]);
        REQUIRE(found.seconds == fresh.seconds);
        REQUIRE(found.overrun == fresh.overrun);
        REQUIRE(found.waits == fresh.waits);
        ++num_compared;
      }
    }
  }
  CHECK(num_compared > 50);
}

TEST_CASE("a queue of frames ends where frames have next to no work", "[planners]") {
  FrameQueue queue(infinity);
  const auto push = [&queue](int index, double bound) {
    WaitingFrame frame;
    frame.rung = WaitingFrame::Rung::division;
    frame.index = index;
    frame.bound = frame.likely = frame.estimate = bound;
    frame.division.schedule.name = "1f1b";
    queue.push(std::move(frame));
  };
  for (const double bound : {1e-320, 0.0}) {
    push(bound > 0.0 ? 0 : 1, bound);
    REQUIRE(queue.any_left());
    queue.tell(queue.pop(), 1.0);  // a second is more than the largest number times the first bound
  }
  CHECK_FALSE(queue.any_left());
}

TEST_CASE("a queue of frames gives divisions before what is not divided where that is asked",
          "[planners]") {
  FrameQueue queue(infinity);
  const auto push = [&queue](WaitingFrame::Rung rung, int index, double bound) {
    WaitingFrame frame;
    frame.rung = rung;
    frame.index = index;
    frame.bound = frame.likely = frame.estimate = bound;
    queue.push(std::move(frame));
  };
  push(WaitingFrame::Rung::first, 0, 1.0);
  CHECK_FALSE(queue.any_division_left());
  push(WaitingFrame::Rung::division, 1, 3.0);
  push(WaitingFrame::Rung::division, 2, 2.0);
  push(WaitingFrame::Rung::division, 3, 1.5);
  REQUIRE(queue.any_division_left());
  CHECK(queue.pop_division().index == 3);
  REQUIRE(queue.any_left());
  CHECK(queue.pop().index == 0);
  REQUIRE(queue.any_left());
  CHECK(queue.pop().index == 2);
  queue.set_limit(3.0);
  CHECK_FALSE(queue.any_division_left());
  CHECK_FALSE(queue.any_left());
}

TEST_CASE("frames and the whole search come to the same with any number of threads", "[planners]") {
  const Profile profile = blocks(12, 0.4);
  const Cluster cluster = mixed_nodes(2, 4);
  Restrictions free = everything_free();
  free.threads = 1;
  const Instance instance = {profile, cluster, 16};
  const FoundFrames one =
      search_frames({instance, free}, infinity, std::make_shared<KnownOrders>());
  const Plan alone = *search_plan("auto", instance, free, "x").plan;
  REQUIRE_FALSE(one.plans.empty());
  for (const int threads : {2, 4}) {
    free.threads = threads;
    const FoundFrames more =
        search_frames({instance, free}, infinity, std::make_shared<KnownOrders>());
    CHECK(more.num_simulated == one.num_simulated);
    CHECK(more.complete == one.complete);
    REQUIRE(more.plans.size() == one.plans.size());
    for (std::size_t i = 0; i < one.plans.size(); ++i) {
      CHECK(same_plan(more.plans[i].plan, one.plans[i].plan));
      CHECK(more.plans[i].seconds == one.plans[i].seconds);
    }
    const Plan together = *search_plan("auto", instance, free, "x").plan;
    CHECK(same_plan(together, alone));
    CHECK(together.predicted->iteration_seconds == alone.predicted->iteration_seconds);
  }
}

TEST_CASE("effort says how much a search may simulate", "[planners]") {
  const Profile profile = blocks(24, 0.4);
  const Cluster cluster = mixed_nodes(2, 4);
  const Instance instance = {profile, cluster, 64};
  Restrictions free = everything_free();
  const FoundFrames normal =
      search_frames({instance, free}, infinity, std::make_shared<KnownOrders>());
  free.effort = Effort::quick;
  const FoundFrames quick =
      search_frames({instance, free}, infinity, std::make_shared<KnownOrders>());
  CHECK_FALSE(quick.complete);
  CHECK(quick.num_simulated < normal.num_simulated);
  REQUIRE_FALSE(quick.plans.empty());
}

TEST_CASE("devices that do not pay are left out", "[planners]") {
  const Profile profile = blocks(12, 0.4);
  Cluster cluster = mixed_nodes(2, 4);
  cluster.groups[1].uplink = {1e6, 1e-3};  // the way to the T4s takes longer than they save
  cluster.finish("made");
  const Restrictions free = everything_free();
  const Plan plan = *search_plan("auto", {profile, cluster, 16}, free, "x").plan;
  for (const Stage& stage : plan.stages) {
    for (const auto& row : stage.devices) {
      for (const DeviceId device : row) CHECK(cluster.kind_of(device).name == "v100");
    }
  }
  CHECK(plan.num_devices() == 4);
}

TEST_CASE("what saves memory is used because it is faster, or because nothing else fits",
          "[planners]") {
  const Profile profile = blocks(8, 0.0);
  Cluster cluster = mixed_nodes(2, 4);
  cluster.device_kinds[0].memory = cluster.device_kinds[1].memory = 3e9;  // 8 x 50e6 parameters x
                                                                          // 16 bytes are 6.4e9
  cluster.finish("made");
  const Restrictions free = everything_free();
  const Instance instance = {profile, cluster, 16};
  const Plan plan = *search_plan("auto", instance, free, "x").plan;
  CHECK(plan.predicted->basis == PredictionBasis::simulation);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    CHECK(plan.predicted->peak_bytes[static_cast<std::size_t>(d)] <=
          cluster.kind_of(DeviceId(d)).memory);
  }
  Restrictions replicated = free;
  replicated.pipeline = replicated.tensor = 1;
  const Plan divided = *search_plan("auto", instance, replicated, "x").plan;
  CHECK(divided.stages.front().zero_stage >= 1);
  replicated.zero_stage = 0;
  CHECK_FALSE(search_plan("auto", instance, replicated, "x").plan);
  cluster.device_kinds[0].memory = cluster.device_kinds[1].memory = 1e8;
  cluster.finish("made");
  const SearchResult nothing = search_plan("auto", instance, free, "x");
  CHECK_FALSE(nothing.plan);
  CHECK(nothing.why_not.find("needs") != std::string::npos);
}

TEST_CASE(
    "replicas on unlike devices divide the state by the room that these have where equal slices do "
    "not fit",
    "[planners]") {
  const Profile profile = blocks(32, 0.0);  // 1.6e9 parameters x 16 bytes: 3.2e9 for each of eight
  Cluster cluster = mixed_nodes(2, 4);
  cluster.device_kinds[0].memory = 8e9;
  cluster.device_kinds[1].memory = 4e9;  // of which a sample takes 1.9e9
  const Instance instance = {profile, cluster, 8};
  Restrictions restrictions = everything_free();
  restrictions.pipeline = restrictions.tensor = 1;
  restrictions.data = 8;
  restrictions.zero_stage = 3;
  restrictions.recompute = Recompute::none;
  const std::optional<Plan> plan = search_plan("auto", instance, restrictions, "x").plan;
  REQUIRE(plan);
  REQUIRE(plan->predicted->basis == PredictionBasis::simulation);
  const Stage& stage = plan->stages[0];
  REQUIRE(stage.zero_slices.size() == 8);
  for (int j = 0; j < 8; ++j) {
    const DeviceId device = stage.devices[static_cast<std::size_t>(j)][0];
    CHECK(plan->predicted->peak_bytes[device.index()] <= cluster.kind_of(device).memory);
    CHECK((stage.slices_of(j) < 8.0) == (cluster.kind_of(device).name == "v100"));
  }
  const ScheduleChoice one = {"1f1b", 1, 0};
  FrameTables tables(instance);
  const PlacedShape placed(instance, meshes_of(sites_of(instance).front(), {{1, 8, 1}}),
                           ZeroGroup::replicas);
  const FrameCosts costs(instance, tables, placed, 8, nullptr, Shares::even);
  const std::vector<Interval> all = {{0, 32}};
  CHECK(ScheduledCost(costs, one, {RecomputeRule::none, 3, false, false}).of(all).overrun > 0.0);
  ScheduledCost by_room(costs, one, {RecomputeRule::none, 3});
  CHECK(by_room.of(all).overrun == 0.0);
  CHECK(by_room.slices_of(0).size() == 8);
  restrictions.uniform = true;
  CHECK_FALSE(search_plan("auto", instance, restrictions, "x").plan);
}

}  // namespace
}  // namespace pptrain
