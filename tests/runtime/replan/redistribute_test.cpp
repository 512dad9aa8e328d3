// Redistribution of training state: right values, no byte too many, and training that goes on as if
// nothing had been.
#include "runtime/replan/redistribute.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "base/error.hpp"
#include "comm/mpi.hpp"
#include "runtime/held_values.hpp"
#include "runtime/reference.hpp"
#include "runtime/replan/state_moves.hpp"
#include "runtime/shaped_plans.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr int num_ranks = 4;
const std::vector<int> nodes = {0, 0, 1, 1};

using Draws = std::mt19937;

int draw(Draws& draws, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(draws);
}

std::int64_t sum_over_ranks(std::int64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

/// A job on all ranks whose plan may leave some out.
struct Job {
  explicit Job(const Reference& r)
      : reference(r), model(build_model(r.config.model, r.config.training, "test")) {}

  std::unique_ptr<Session> session(const Plan& plan) const {
    return std::make_unique<Session>(MPI_COMM_WORLD, reference.config, model, plan,
                                     RankMap::identity(num_ranks));
  }
  Redistributed move(Session& from, Session& to) const {
    Waiter waiter(600.0, CoreUse::shared);
    return redistribute(MPI_COMM_WORLD, waiter, model, nodes, from, to);
  }

  const Reference& reference;
  Model model;
};

void check_move(const Job& job, const Plan& a, const Plan& b) {
  INFO(write_plan(a) << write_plan(b));
  const auto from = job.session(a);
  const auto to = job.session(b);
  const HeldValues before = values_of(*from);
  const HeldValues after = values_of(*to);
  for (const auto& [key, place] : before.places()) *place = code(key);
  const Redistributed moved = job.move(*from, *to);
  std::int64_t wrong = 0;
  std::int64_t lacking = 0;
  std::int64_t held = 0;
  std::optional<ValueKey> last;  // a value with two places is sent once
  for (const auto& [key, place] : after.places()) {
    if (*place != code(key)) ++wrong;
    if (last == key) continue;
    last = key;
    ++(before.contains(key) ? held : lacking);
  }
  CHECK(wrong == 0);
  CHECK(moved.bytes_received == 4 * lacking);
  CHECK(moved.bytes_kept == 4 * held);
  CHECK(sum_over_ranks(moved.bytes_sent) == sum_over_ranks(moved.bytes_received));
}

void check_training(const Reference& reference, const Plan& a, const Plan& b) {
  INFO(a.shape() << " to " << b.shape());
  const Job job(reference);
  auto session = job.session(a);
  reference.fill(*session);
  std::vector<double> losses;
  const auto steps = static_cast<std::int64_t>(reference.losses.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == steps / 2) {
      auto next = job.session(b);
      job.move(*session, *next);
      session = std::move(next);
    }
    losses.push_back(session->train(step, reference.samples(step)).loss);
  }
  CHECK(largest_difference(losses, reference.losses) <= 5e-6);
}

Plan with_recompute(Plan plan) {
  for (Stage& stage : plan.stages) stage.recompute = Recompute::full;
  return plan;
}

Plan with_zero(Plan plan, int zero_stage) {
  for (Stage& stage : plan.stages) stage.zero_stage = zero_stage;
  return plan;
}

}  // namespace

TEST_CASE("each element goes once to who lacks it, from who has it, near and evenly", "[np1]") {
  Draws draws(7);
  const auto drawn_runs = [&] {
    Runs runs;
    for (std::int64_t e = draw(draws, 0, 9); e < 60;) {
      const std::int64_t end = std::min<std::int64_t>(60, e + draw(draws, 1, 20));
      runs.push_back({e, end});
      e = end + draw(draws, 0, 12);
    }
    return runs;
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<Runs> held(5);
    std::vector<Runs> needed(5);
    for (int r = 0; r < 4; ++r) held[r] = drawn_runs();
    for (int r = 1; r < 5; ++r) needed[r] = drawn_runs();
    held[round % 5] = {{0, 60}};  // so that all is there
    const std::vector<int> of_rank = {0, 0, 1, 1, 2};
    std::map<std::pair<int, std::int64_t>, int> times;
    for (const Move& move : MoveChoice(of_rank).choose(held, needed)) {
      for (std::int64_t e = move.elements.begin; e < move.elements.end; ++e) {
        ++times[{move.to, e}];
        CHECK(contains(held[move.from], e));
        for (int near = 0; near < 5; ++near) {
          if (of_rank[near] == of_rank[move.to] && contains(held[near], e))
            CHECK(of_rank[move.from] == of_rank[near]);
        }
      }
    }
    for (int r = 0; r < 5; ++r) {
      for (std::int64_t e = 0; e < 60; ++e) {
        const int expected = contains(needed[r], e) && !contains(held[r], e) ? 1 : 0;
        if (times[{r, e}] != expected) FAIL("rank " << r << " element " << e);
      }
    }
  }
  // Four holders of the same share what four others need.
  std::vector<Runs> held(8);
  std::vector<Runs> needed(8);
  for (int r = 0; r < 4; ++r) held[r] = needed[r + 4] = {{0, 10}};
  std::set<int> senders;
  for (const Move& move : MoveChoice(std::vector<int>(8, 0)).choose(held, needed))
    senders.insert(move.from);
  CHECK(senders.size() == 4);
  needed[5] = {{5, 11}};
  CHECK_THROWS_AS(MoveChoice(std::vector<int>(8, 0)).choose(held, needed), Error);
}

TEST_CASE("state comes right from any plan to any other, and no byte moves that need not",
          "[np4]") {
  RandomShapes shapes(11);
  const auto drawn_plan = [&] { return shapes.plan(static_cast<int>(shapes.pick(1, num_ranks))); };
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    const Job job(reference);
    for (int pair = 0; pair < 8; ++pair) {
      const Plan a = drawn_plan();
      check_move(job, a, drawn_plan());
    }
    const Plan same = reference.plan(2, 2, 1, 4, "1f1b");
    check_move(job, same, same);
  }
}

TEST_CASE("state moves between plans with blocks and without", "[np4]") {
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    const Job job(reference);
    // Both ends of a tied embedding on the same devices, divided differently.
    Plan hybrid = reference.plan(1, 4, 1, 8, "1f1b");
    hybrid.stages[0].blocks = {{{2, 4}, 2, 2, TensorPattern::megatron, {{0, 3}, {3, 8}}, {}},
                               {{5, 6},
                                1,
                                4,
                                TensorPattern::sp1,
                                {{0, 8}},
                                {{"vocabulary", {{0, 9}, {9, 70}, {70, 150}, {150, 257}}}}}};
    Plan chunks = reference.plan(2, 2, 1, 2, "zb-v", 2);
    chunks.stages[0].blocks = {{{0, 1}, 1, 2, TensorPattern::megatron, {{0, 2}}, {}}};
    const Plan grid = reference.plan(2, 1, 2, 4, "1f1b");
    for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) {
      INFO(run << ", ZeRO " << zero_stage);
      const Plan divided = with_zero(hybrid, zero_stage);
      const Plan other = with_zero(zero_stage % 2 == 0 ? grid : chunks, 3 - zero_stage);
      check_move(job, divided, other);
      check_move(job, other, divided);
    }
    check_move(job, hybrid, hybrid);
    check_training(reference, with_zero(hybrid, 2), grid);
    check_training(reference, grid, with_recompute(with_zero(hybrid, 3)));
    check_training(reference, with_recompute(with_zero(chunks, 1)), hybrid);
  }
}

TEST_CASE("training on one plan goes on under another as if nothing had been", "[np4]") {
  const Reference tied("tied");
  check_training(tied, tied.plan(4, 1, 1, 2, "1f1b"), with_zero(tied.plan(1, 4, 1, 4, "gpipe"), 3));
  check_training(tied, with_zero(tied.plan(1, 2, 2, 4, "1f1b"), 2),
                 tied.plan(2, 1, 1, 2, "zb-v", 2));
  const Reference scheduled("untied_sched");
  check_training(scheduled, with_zero(scheduled.plan(2, 2, 1, 4, "1f1b"), 1),
                 scheduled.plan(1, 1, 4, 2, "1f1b"));
  check_training(scheduled, scheduled.plan(3, 1, 1, 2, "1f1b"),
                 scheduled.plan(2, 2, 1, 4, "interleaved-1f1b", 2));
  RandomShapes shapes(5);
  for (int pair = 0; pair < 3; ++pair) {
    const Plan a = shapes.plan(num_ranks);
    check_training(tied, a, shapes.plan(num_ranks));
  }
  const Reference llama("llama");
  check_training(llama, with_zero(llama.plan(1, 1, 4, 4, "1f1b"), 1),
                 llama.plan(2, 1, 2, 4, "1f1b"));
  check_training(llama, llama.plan(2, 2, 1, 4, "1f1b"),
                 with_zero(llama.plan(1, 2, 2, 4, "1f1b"), 3));
  const Reference sgd("untied_sgd");
  check_training(sgd, sgd.plan(1, 2, 1, 4, "1f1b"), sgd.plan(2, 1, 2, 4, "1f1b"));
}
