// Schedules of one shape made one after another are those made one by one.
#include <random>

#include "base/infinity.hpp"
#include "schedule/list_schedule.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  PipelineShape shape() {
    PipelineShape made;
    made.ranks = pick(1, 4);
    made.chunks_per_rank = pick(1, 3);
    made.micro_batches = pick(1, 8);
    for (int c = 0; c < made.num_chunks(); ++c) {
      made.seconds.push_back({between(0.5, 1.5), between(0.5, 1.5), between(0.5, 1.5)});
      made.reduce_seconds.push_back(between(0.0, 2.0));
    }
    for (int c = 0; c + 1 < made.num_chunks(); ++c) {
      const double busy = between(0.0, 0.3);
      made.cuts.push_back(Cut({busy + between(0.0, 0.2), busy}, {busy, busy},
                              pick(0, 1) == 0 ? Cut::Port::own : Cut::Port::uplink));
    }
    if (pick(0, 1) == 0) {
      for (int r = 0; r < made.ranks; ++r)
        made.most_stored.push_back(made.chunks_per_rank * pick(1, 4));
    }
    if (pick(0, 1) == 0) {
      made.stored.assign(static_cast<std::size_t>(made.num_chunks()),
                         {1.0, between(0.0, 2.0), 0.5, 1.0, 0.0});
      for (int r = 0; r < made.ranks; ++r)
        made.room.push_back(least_room(made.stored_of(r)) + between(0.0, 8.0));
    }
    return made;
  }

  ListPolicy policy() {
    ListPolicy made;
    made.warm_up = pick(0, 2);
    made.patience = 0.25 * pick(0, 4);
    made.lead = 0.5 * pick(0, 4);
    if (pick(0, 1) == 0) made.chunks = ListPolicy::Chunks::oldest_micro_batch;
    return made;
  }

  ListChoices choices(const PipelineShape& shape) {
    ListChoices made(static_cast<std::size_t>(shape.ranks));
    for (std::vector<unsigned char>& of_rank : made) {
      of_rank.resize(static_cast<std::size_t>(3 * shape.micro_batches * shape.chunks_per_rank));
      for (unsigned char& choice : of_rank)
        choice = static_cast<unsigned char>(pick(0, 9) > 7 ? pick(1, 2) : 0);
    }
    return made;
  }

 private:
  std::mt19937 random_;
};

TEST_CASE("a scheduler makes one schedule after another", "[schedule]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Draws draws(seed);
    const PipelineShape shape = draws.shape();
    ListScheduler scheduler(shape);
    for (int i = 0; i < 5; ++i) {
      const ListPolicy policy = draws.policy();
      const ListChoices choices = draws.choices(shape);
      const ListResult alone = list_schedule(shape, policy, choices);
      const double most = alone.makespan * draws.between(0.8, 1.2);
      const ListResult* result = scheduler.run(policy, choices, most);
      REQUIRE((result != nullptr) == (alone.makespan <= most));
      result = scheduler.run(policy, choices, alone.makespan);
      REQUIRE(result != nullptr);
      CHECK(result->orders == alone.orders);
      CHECK(result->makespan == alone.makespan);
      CHECK(result->sum_of_ends == alone.sum_of_ends);
    }
  }
}

TEST_CASE("schedules with changed choices are those that are made from the start", "[schedule]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Draws draws(seed);
    const PipelineShape shape = draws.shape();
    const ListPolicy policy = draws.policy();
    ListScheduler scheduler(shape);
    ListChoices kept = draws.choices(shape);
    double makespan = scheduler.run(policy, kept, infinity)->makespan;
    for (int i = 0; i < 30; ++i) {
      INFO("run " << i);
      ListChoices choices = kept;
      std::vector<ListChange> changes;
      for (int left = draws.pick(1, 3); left > 0; --left) {
        const auto rank = static_cast<std::size_t>(draws.pick(0, shape.ranks - 1));
        const auto decision =
            static_cast<std::size_t>(draws.pick(0, static_cast<int>(choices[rank].size()) - 1));
        choices[rank][decision] = static_cast<unsigned char>(draws.pick(0, 2));
        changes.push_back({rank, decision});
      }
      const ListResult alone = list_schedule(shape, policy, choices);
      const double most = makespan * draws.between(1.0, 1.1);
      const ListResult* result = scheduler.run_changed(choices, changes, most);
      REQUIRE((result != nullptr) == (alone.makespan <= most));
      if (result == nullptr) continue;
      CHECK(result->orders == alone.orders);
      CHECK(result->makespan == alone.makespan);
      CHECK(result->sum_of_ends == alone.sum_of_ends);
      if (draws.pick(0, 1) == 0) continue;
      scheduler.keep();
      kept = choices;
      makespan = alone.makespan;
    }
  }
}

TEST_CASE("a choice counts by what is left of it beyond the number of options", "[schedule]") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    INFO("seed " << seed);
    Draws draws(seed);
    const PipelineShape shape = draws.shape();
    const ListPolicy policy = draws.policy();
    ListChoices choices = draws.choices(shape);
    ListScheduler scheduler(shape);
    const std::vector<TaskOrder> orders = scheduler.run(policy, choices, infinity)->orders;
    const ListChoices num_options = scheduler.num_options();
    for (std::size_t r = 0; r < choices.size(); ++r) {
      for (std::size_t d = 0; d < std::min(choices[r].size(), num_options[r].size()); ++d) {
        choices[r][d] = static_cast<unsigned char>(choices[r][d] + num_options[r][d]);
      }
    }
    CHECK(scheduler.run(policy, choices, infinity)->orders == orders);
  }
}

}  // namespace
}  // namespace pptrain
