// ZeRO stages: the recorded losses, gradient norms that count each element once, and less memory.
#include "cost/stage_time.hpp"
#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/measure/profiler.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

Plan with(Plan plan, int zero_stage, Recompute recompute = Recompute::none) {
  for (Stage& stage : plan.stages) {
    stage.zero_stage = zero_stage;
    stage.recompute = recompute;
  }
  return plan;
}

/// Replicas that divide the state within runs of so many.
Plan grouped(Plan plan, const std::vector<int>& sizes) {
  for (Stage& stage : plan.stages) {
    std::int64_t begin = 0;
    for (const int size : sizes) {
      stage.zero_groups.push_back({begin, begin + size});
      begin += size;
    }
  }
  return plan;
}

/// Replicas that hold such slices of the state.
Plan sliced(Plan plan, const std::vector<Interval>& slices) {
  for (Stage& stage : plan.stages) stage.zero_slices = slices;
  return plan;
}

void check_reference(const Reference& reference, const Plan& plan) {
  INFO(plan.shape() << " " << plan.schedule.name << " zero " << plan.stages[0].zero_stage
                    << " recompute " << to_string(plan.stages[0].recompute));
  const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan,
                                      static_cast<int>(reference.config.training.steps));
  check_curve(curve, reference);
}

}  // namespace

TEST_CASE("ZeRO meets the reference runs on two ranks", "[np2]") {
  for (const char* run : {"untied", "tied", "untied_sgd", "untied_sched"}) {
    const Reference reference(run);
    for (const int stage : {1, 2, 3})
      check_reference(reference, with(reference.plan(1, 2, 1, 4, "1f1b"), stage));
  }
}

TEST_CASE("ZeRO in unequal slices meets the reference runs on two ranks", "[np2]") {
  for (const char* run : {"untied", "tied", "untied_sgd"}) {
    const Reference reference(run);
    for (const int stage : {1, 2, 3}) {
      check_reference(reference,
                      sliced(with(reference.plan(1, 2, 1, 4, "1f1b"), stage), {{0, 3}, {3, 4}}));
      check_reference(reference,
                      sliced(with(reference.plan(1, 2, 1, 4, "1f1b"), stage), {{0, 1}, {1, 1000}}));
    }
  }
}

TEST_CASE("ZeRO in unequal slices meets the reference runs on eight ranks", "[np8]") {
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    const std::vector<Interval> four = {{0, 5}, {5, 6}, {6, 8}, {8, 11}};
    for (const int stage : {1, 2, 3}) {
      check_reference(reference, sliced(with(reference.plan(2, 4, 1, 4, "1f1b"), stage), four));
      check_reference(
          reference,
          sliced(with(reference.plan(1, 4, 2, 4, "gpipe"), stage, Recompute::full), four));
      check_reference(reference, sliced(with(reference.plan(2, 4, 1, 4, "zb-v", 2), stage), four));
    }
  }
}

TEST_CASE("ZeRO meets the reference runs on eight ranks", "[np8]") {
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    for (const int stage : {1, 2, 3}) {
      check_reference(reference, with(reference.plan(2, 2, 2, 4, "1f1b"), stage));
      check_reference(reference, with(reference.plan(2, 4, 1, 4, "gpipe"), stage, Recompute::full));
    }
    check_reference(reference, with(reference.plan(1, 8, 1, 8, "1f1b"), 3, Recompute::selective));
  }
}

TEST_CASE(
    "ZeRO and recomputation meet the reference runs under schedules with several chunks and split "
    "backwards",
    "[np4]") {
  const Reference reference("tied");
  for (const int stage : {1, 2, 3}) {
    check_reference(reference, with(reference.plan(2, 2, 1, 2, "zb-v", 2), stage));
    check_reference(reference,
                    with(reference.plan(1, 4, 1, 4, "zeropp", 3), stage, Recompute::full));
    check_reference(reference, with(reference.plan(2, 2, 1, 2, "interleaved-1f1b", 2), stage,
                                    Recompute::selective));
  }
}

TEST_CASE("ZeRO within two nodes meets the reference runs", "[np8]") {
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    for (const int stage : {1, 2, 3}) {
      check_reference(reference, grouped(with(reference.plan(2, 4, 1, 4, "1f1b"), stage), {2, 2}));
      check_reference(
          reference,
          grouped(with(reference.plan(2, 4, 1, 4, "gpipe"), stage, Recompute::full), {1, 3}));
    }
    check_reference(reference, grouped(with(reference.plan(1, 4, 2, 4, "1f1b"), 2), {3, 1}));
    check_reference(reference, grouped(with(reference.plan(1, 8, 1, 8, "1f1b"), 3), {2, 3, 3}));
  }
}

TEST_CASE("ZeRO within nodes of several chunks and without clipping", "[np4]") {
  Reference reference("tied");
  for (const int stage : {1, 2, 3}) {
    check_reference(
        reference,
        grouped(with(reference.plan(1, 4, 1, 4, "zeropp", 3), stage, Recompute::full), {2, 2}));
    check_reference(reference,
                    grouped(with(reference.plan(1, 4, 1, 4, "zb-h2"), stage), {1, 1, 2}));
  }
  reference.config.optimizer.gradient_clip = 0.0;
  const Plan plan = reference.plan(1, 4, 1, 4, "1f1b");
  const Curve whole = train_reference(MPI_COMM_WORLD, reference, plan, 10);
  for (const int stage : {1, 2, 3}) {
    const Curve divided =
        train_reference(MPI_COMM_WORLD, reference, grouped(with(plan, stage), {2, 2}), 10);
    CHECK(largest_difference(divided.losses, whole.losses) <= 5e-6);
  }
}

TEST_CASE("every schedule with each recomputation and ZeRO stage meets the reference runs",
          "[np8][long]") {
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    for (const Kind& kind : kinds) {
      for (const int chunks : kind.chunks) {
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
          for (const int stage : {0, 1, 2, 3}) {
            check_reference(reference, with(reference.plan(2, 4, 1, 4, kind.schedule, chunks),
                                            stage, recompute));
            check_reference(reference, with(reference.plan(2, 2, 2, 2, kind.schedule, chunks),
                                            stage, recompute));
          }
        }
      }
    }
  }
}

TEST_CASE("ZeRO-1 changes no bit where gradients are not clipped", "[np4]") {
  Reference reference("tied");
  reference.config.optimizer.gradient_clip = 0.0;
  const Plan plan = reference.plan(2, 2, 1, 4, "1f1b");
  const Curve whole = train_reference(MPI_COMM_WORLD, reference, plan, 10);
  CHECK(train_reference(MPI_COMM_WORLD, reference, with(plan, 1), 10).losses == whole.losses);
}

TEST_CASE("two runs with ZeRO are bitwise equal", "[np4]") {
  const Reference reference("tied");
  const Plan plan = with(reference.plan(2, 2, 1, 4, "1f1b"), 3);
  const Curve first = train_reference(MPI_COMM_WORLD, reference, plan, 6);
  const Curve second = train_reference(MPI_COMM_WORLD, reference, plan, 6);
  CHECK(first.losses == second.losses);
  CHECK(first.grad_norms == second.grad_norms);
  const Plan in_nodes = grouped(with(reference.plan(1, 4, 1, 4, "1f1b"), 3), {1, 3});
  CHECK(train_reference(MPI_COMM_WORLD, reference, in_nodes, 6).losses ==
        train_reference(MPI_COMM_WORLD, reference, in_nodes, 6).losses);
}

TEST_CASE("what is left after an iteration is the model state of the cost model", "[np4]") {
  const Reference reference("untied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const Profile profile = layer_sizes(reference.config, model);
  for (const int stage : {0, 1, 2, 3}) {
    INFO("stage " << stage);
    const Plan plan = with(reference.plan(1, 4, 1, 4, "1f1b"), stage);
    const double left =
        static_cast<double>(train_reference(MPI_COMM_WORLD, reference, plan, 2).resting_bytes);
    const double state =
        bytes_per_parameter(profile.bytes_per_parameter, plan.stages[0]) * model.num_parameters();
    // The arena rounds blocks up, by less than a sixteenth.
    CHECK(left >= state);
    CHECK(left <= state * (1.0 + 1.0 / 16.0) + 4096.0);
    if (stage == 0) continue;
    const Plan unequal = sliced(plan, {{0, 3}, {3, 6}, {6, 7}, {7, 8}});
    const int replica = rank_in(MPI_COMM_WORLD);
    const double own = bytes_per_parameter(profile.bytes_per_parameter, plan.stages[0],
                                           unequal.stages[0].slices_of(replica)) *
                       model.num_parameters();
    const double resting =
        static_cast<double>(train_reference(MPI_COMM_WORLD, reference, unequal, 2).resting_bytes);
    CHECK((own > state) == (replica < 2));
    CHECK(resting >= 0.999 * own);  // slices end on cache lines
    CHECK(resting <= own * (1.0 + 1.0 / 16.0) + 4096.0);
    const Plan in_nodes = grouped(plan, {2, 2});
    const double held =
        static_cast<double>(train_reference(MPI_COMM_WORLD, reference, in_nodes, 2).resting_bytes);
    const double half = bytes_per_parameter(profile.bytes_per_parameter, in_nodes.stages[0]) *
                        model.num_parameters();
    CHECK(half > state);
    CHECK(held >= half);
    CHECK(held <= half * (1.0 + 1.0 / 16.0) + 4096.0);
  }
}

TEST_CASE("weights that still come after a step are whole for who reads them", "[np4]") {
  const Reference reference("tied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  for (const int stage : {1, 2}) {
    const Plan plan = grouped(with(reference.plan(1, 4, 1, 4, "1f1b"), stage), {2, 2});
    Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(4));
    ParameterStore& store = session.device()->parameters();
    fill_random(store, 1);
    session.train(0, reference.samples(0));
    // Every replica has the same weights, the last ones first.
    for (std::size_t p = store.parameters().size(); p-- > 0;) {
      std::vector<float> sum(store.weight(p), store.weight(p) + store.parameters()[p].size());
      session.groups().all().all_reduce_sum(sum.data(), sum.size());
      for (std::size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == 4.0F * store.weight(p)[i]);
    }
    const double after_reading = session.evaluate(reference.samples(1));
    const double before_step = session.train(1, reference.samples(1)).loss;
    CHECK(after_reading == Approx(before_step).epsilon(1e-12));
    session.train(2, reference.samples(2));  // what it publishes is waited for at the end
  }
}

TEST_CASE("ZeRO-3 keeps a layer between the tasks that end and begin with it", "[np2]") {
  const Reference reference("untied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const auto gathers = [&](const char* schedule, std::int64_t micro_batch) {
    const Plan plan = with(reference.plan(1, 2, 1, micro_batch, schedule), 3);
    Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(2));
    fill_random(session.device()->parameters(), 1);
    session.train(0, reference.samples(0));
    session.train(1, reference.samples(1));
    return session.device()->shards().num_gathers() / 2;
  };
  const std::int64_t layers = reference.config.model.layers + 2;
  const std::int64_t batch = reference.config.training.global_batch_size;
  for (const std::int64_t m : {2, 4}) {
    // F and B in turn: all but one layer for each pass, and one more for the first.
    CHECK(gathers("1f1b", batch / m) == 1 + 2 * m * (layers - 1));
    // All F, then all B: every pass anew, but the last F and the first B meet.
    CHECK(gathers("gpipe", batch / m) == 2 * m * layers - 1);
  }
}

TEST_CASE("ZeRO-3 needs less memory than ZeRO-1, and that less than none", "[np4]") {
  const Reference reference("untied");
  const Plan plan = reference.plan(1, 4, 1, 4, "1f1b");
  const std::size_t none = train_reference(MPI_COMM_WORLD, reference, plan, 2).peak_bytes;
  const std::size_t one = train_reference(MPI_COMM_WORLD, reference, with(plan, 1), 2).peak_bytes;
  const std::size_t three = train_reference(MPI_COMM_WORLD, reference, with(plan, 3), 2).peak_bytes;
  CHECK(one < none);
  CHECK(three < one);
}

TEST_CASE("ZeroPP gathers each chunk twice a unit, the last one once", "[np4]") {
  const Reference reference("untied");
  for (const int chunks : {2, 3}) {
    Plan plan = with(reference.plan(2, 2, 1, 2, "zeropp", chunks), 3);
    for (const int unit : {1, 2, 4}) {
      plan.schedule.unit = unit;
      const int units = 4 / unit;
      const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, 3);
      // A unit that follows another begins with the chunk with which that one ended: it stays.
      CHECK(curve.chunk_gathers == 3 * (units * (2 * chunks - 1) - (units - 1)));
    }
  }
}
