// What the simulator says a run holds, against what its arenas held.
#include <algorithm>

#include "cost/cost.hpp"
#include "model/optimizers/update_rule.hpp"
#include "profile/json.hpp"
#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/measure/profiler.hpp"
#include "shaped_plans.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr Link at_once = {1e15, 1e-12};
constexpr Link slow = {1e7, 1e-3};

Cluster equal_devices(int count, const Link& link) {
  Cluster cluster;
  cluster.name = "test";
  cluster.device_kinds = {{"host", 64e9, {{"fp32", 1e12}}, 50e9}};
  NodeGroup group;
  group.device_kind = "host";
  group.count = 1;
  group.num_devices = count;
  group.link = group.uplink = link;
  group.host_link = {10e9, 1e-6};
  cluster.groups = {group};
  cluster.finish("made");
  return cluster;
}

/// Says which dispatched rows a member has: those of all experts, or those of its own alone.
/// Predictions are those of the former, so that a member with whole experts, of a model as small as
/// these, holds up to an eighth less.
enum class Rows { all, of_experts };

/// Compares plans of one reference run; measures its layers first. Collective.
class Comparison {
 public:
  explicit Comparison(const std::string& run) : Comparison(Reference(run)) {}
  explicit Comparison(const Reference& reference)
      : reference_(reference), waiter_(600.0, CoreUse::shared) {
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    cluster_ = equal_devices(num_ranks_, at_once);
    model_ = build_model(reference_.config.model, reference_.config.training, "test");
    profile_ = measure_profile(MPI_COMM_WORLD, waiter_,
                               {reference_.config, model_, cluster_, RankMap::identity(num_ranks_),
                                profiled_degrees(reference_.config, model_, cluster_, {})},
                               [](int, int) {});
  }

  Plan plan(int pipeline, int data, int tensor, std::int64_t micro_batch,
            const std::string& schedule, int chunks, int zero_stage, Recompute recompute) const {
    Plan plan = reference_.plan(pipeline, data, tensor, micro_batch, schedule, chunks);
    for (Stage& stage : plan.stages) {
      stage.zero_stage = zero_stage;
      stage.recompute = recompute;
    }
    return plan;
  }

  /// All ranks as replicas, of which so many divide the experts evenly and send rows to one
  /// another.
  Plan plan_with_sent_rows(int members, int zero_stage) const {
    return with_sent_rows(
        plan(1, num_ranks_, 1, num_ranks_, "1f1b", 1, zero_stage, Recompute::none), model_,
        std::vector<std::int64_t>(static_cast<std::size_t>(members), experts() / members));
  }

  /// Checks the plan with optimizer state, activations and both offloaded; on the host, to other
  /// memory of its own.
  void check_offloaded(Plan plan) {
    for (const auto& [states, activations] :
         {std::pair{true, false}, {false, true}, {true, true}}) {
      for (Stage& stage : plan.stages) {
        stage.offload = states;
        stage.offload_activations = activations;
      }
      check(plan);
    }
  }

  std::int64_t experts() const { return model_.axis_size(ShardAxis::experts); }
  /// Whether layers are timed at this degree.
  bool divides(int tensor) const { return model_.divided_units() % tensor == 0; }

  /// How many outputs are still on their way at the peak is a matter of the machine: of how MPI
  /// copies them and of who runs when. The arena holds what links that take no time leave, or what
  /// slow ones do, or something between.
  void check(const Plan& plan, Rows rows = Rows::all) {
    const double quick = simulated_bytes(plan, at_once);
    const double late = simulated_bytes(plan, slow);
    const auto held =
        static_cast<double>(train_reference(MPI_COMM_WORLD, reference_, plan, 2).peak_bytes);
    INFO(plan.shape() << " " << plan.schedule.name << " V " << plan.schedule.virtual_stages
                      << " zero " << plan.stages[0].zero_stage << " offload "
                      << plan.stages[0].offload << plan.stages[0].offload_activations
                      << " recompute " << to_string(plan.stages[0].recompute) << " rank " << rank_
                      << ": " << held << " bytes held, " << quick << " and " << late
                      << " simulated");
    CHECK(held >= (rows == Rows::all ? 0.95 : 0.85) * std::min(quick, late));
    CHECK(held <= 1.05 * std::max(quick, late));
  }

 private:
  /// The peak of this rank over links like `link`.
  double simulated_bytes(const Plan& plan, const Link& link) const {
    const Instance instance = {profile_, equal_devices(num_ranks_, link), plan.global_batch_size,
                               ties_of(reference_.config, profile_)};
    const Programs programs = compile_training(plan, task_orders(plan), {instance.ties});
    return simulate(instance, plan, programs).devices[rank_].peak_bytes + uncounted_bytes(plan);
  }

  /// What predictions leave out, which only a model of small tensors notices: weights, gradients
  /// and what the optimizer keeps of a parameter begin on cache lines; running averages.
  double uncounted_bytes(const Plan& plan) const {
    constexpr std::int64_t line = 16;
    double bytes = 0.0;
    for (const Stage& stage : plan.stages) {
      const auto holds = [&](const std::vector<DeviceId>& row) {
        return std::find(row.begin(), row.end(), DeviceId(rank_)) != row.end();
      };
      if (std::none_of(stage.devices.begin(), stage.devices.end(), holds)) continue;
      for (const Interval& layers : stage.layers) {
        for (std::int64_t l = layers.begin; l < layers.end; ++l) {
          const Layer& layer = model_.layers[static_cast<std::size_t>(l)];
          for (const ParameterSpec& spec : layer.parameters) {
            const auto quantities = 1 + quantities_of(reference_.config.optimizer, spec).size();
            bytes += 4.0 * static_cast<double>(quantities) *
                     static_cast<double>((line - spec.size() % line) % line);
          }
          for (const ParameterSpec& buffer : layer.buffers)
            bytes += 4.0 * static_cast<double>(buffer.size());
        }
      }
    }
    return bytes;
  }

  Reference reference_;
  Waiter waiter_;
  int num_ranks_ = 0;
  int rank_ = 0;
  Cluster cluster_;
  Model model_;
  Profile profile_;
};

}  // namespace

TEST_CASE("simulated peaks are what arenas of four ranks hold", "[np4]") {
  for (const char* run : {"untied", "tied"}) {
    Comparison compare(run);
    for (const auto& [pipeline, data, tensor] :
         {std::array{4, 1, 1}, {1, 4, 1}, {1, 1, 4}, {2, 2, 1}, {2, 1, 2}}) {
      compare.check(compare.plan(pipeline, data, tensor, 4, "1f1b", 1, 0, Recompute::none));
      compare.check(compare.plan(pipeline, data, tensor, 8, "gpipe", 1, 0, Recompute::full));
    }
    for (const Kind& kind : kinds) {
      for (const int chunks : kind.chunks) {
        compare.check(compare.plan(2, 2, 1, 2, kind.schedule, chunks, 0, Recompute::none));
        compare.check(compare.plan(2, 2, 1, 2, kind.schedule, chunks, 3, Recompute::none));
      }
    }
    for (const int zero_stage : {1, 2, 3}) {
      compare.check(compare.plan(1, 4, 1, 4, "1f1b", 1, zero_stage, Recompute::none));
      compare.check(compare.plan(1, 2, 2, 4, "1f1b", 1, zero_stage, Recompute::selective));
      compare.check(compare.plan(1, 4, 1, 8, "1f1b", 1, zero_stage, Recompute::full));
    }
  }
}

TEST_CASE("simulated peaks of published models are what arenas of four ranks hold", "[np4]") {
  for (const std::string& folder : all_published()) {
    INFO(folder);
    Comparison compare(folder);
    for (const auto& [pipeline, data, tensor] :
         {std::array{4, 1, 1}, {1, 4, 1}, {1, 1, 4}, {2, 2, 1}, {2, 1, 2}}) {
      if (!compare.divides(tensor)) continue;
      compare.check(compare.plan(pipeline, data, tensor, 4, "1f1b", 1, 0, Recompute::none));
      compare.check(compare.plan(pipeline, data, tensor, 4, "gpipe", 1, 3, Recompute::full));
      compare.check(compare.plan(pipeline, data, tensor, 4, "1f1b", 1, 1, Recompute::selective));
    }
  }
}

TEST_CASE("simulated peaks with whole experts are what arenas of four ranks hold", "[np4]") {
  for (const std::string& folder : published_experts) {
    INFO(folder);
    Comparison compare(folder);
    for (const auto& [pipeline, data, tensor] : {std::array{1, 1, 4}, {1, 2, 2}, {2, 1, 2}}) {
      for (const int zero_stage : {0, 3}) {
        Plan plan = compare.plan(pipeline, data, tensor, 4, "1f1b", 1, zero_stage, Recompute::none);
        for (Stage& stage : plan.stages)
          stage.shards["experts"] = even_division(compare.experts(), tensor);
        compare.check(plan, Rows::of_experts);
      }
    }
  }
}

TEST_CASE("simulated peaks with rows sent to experts are what arenas of four ranks hold", "[np4]") {
  // Every row goes to all experts, so that as many come as are counted.
  Reference reference("mixtral");
  std::string& description = reference.config.model.description;
  description = read_text_file(reference.config.model.from + "/config.json");
  const std::string chosen = "\"num_experts_per_tok\": ";
  description[description.find(chosen) + chosen.size()] = '4';
  Comparison compare(reference);
  REQUIRE(compare.experts() == 4);
  for (const int members : {2, 4}) {
    for (const int zero_stage : {0, 1})
      compare.check(compare.plan_with_sent_rows(members, zero_stage));
  }
}

TEST_CASE("simulated peaks with offloading are what arenas of four ranks hold", "[np4]") {
  Comparison compare("untied");
  compare.check_offloaded(compare.plan(4, 1, 1, 1, "gpipe", 1, 0, Recompute::none));
  compare.check_offloaded(compare.plan(2, 2, 1, 2, "1f1b", 1, 1, Recompute::none));
  compare.check_offloaded(compare.plan(2, 1, 2, 1, "zb-h1", 1, 0, Recompute::none));
  compare.check_offloaded(compare.plan(1, 4, 1, 4, "1f1b", 1, 1, Recompute::none));
  compare.check_offloaded(compare.plan(1, 4, 1, 4, "1f1b", 1, 3, Recompute::full));
  compare.check_offloaded(compare.plan(2, 2, 1, 2, "interleaved-1f1b", 2, 0, Recompute::none));
}

TEST_CASE("simulated peaks are what arenas hold on every grid of eight ranks", "[np8][long]") {
  for (const char* run : {"untied", "tied"}) {
    Comparison compare(run);
    for (const auto& [pipeline, data, tensor] : {std::array{1, 8, 1},
                                                 {1, 4, 2},
                                                 {1, 2, 4},
                                                 {2, 4, 1},
                                                 {2, 2, 2},
                                                 {2, 1, 4},
                                                 {4, 2, 1},
                                                 {4, 1, 2}}) {
      for (const Kind& kind : kinds) {
        for (const int chunks : kind.chunks) {
          if (pipeline * chunks > 6) continue;  // layers
          for (const int zero_stage : {0, 2, 3}) {
            for (const Recompute recompute : {Recompute::none, Recompute::full}) {
              compare.check(compare.plan(pipeline, data, tensor, data, kind.schedule, chunks,
                                         zero_stage, recompute));
            }
          }
        }
      }
    }
  }
}
