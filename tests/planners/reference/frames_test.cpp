// What a search that may choose more finds, beside one that may choose less, on random instances.

#include <random>

#include "planners/everything_free.hpp"
#include "planners/reference/run_planner.hpp"
#include "support/catch.hpp"

namespace pptrain::reference {
namespace {

using test::everything_free;

/// Two or three keys as somebody types them.
Restrictions typed(std::mt19937& random) {
  const auto one_of = [&random](auto... choices) {
    const std::array all = {choices...};
    return all[random() % all.size()];
  };
  Restrictions keys = everything_free();
  if (random() % 2 == 0) keys.zero_stage = one_of(0, 1, 2, 3);
  if (keys.zero_stage && *keys.zero_stage > 0 && random() % 3 == 0)
    keys.zero_group = ZeroGroup::node;
  if (random() % 2 == 0) keys.recompute = one_of(Recompute::none, Recompute::full);
  if (random() % 2 == 0) keys.pipeline = one_of(1, 2, 3, 4);
  if (random() % 3 == 0) keys.tensor = one_of(1, 2);
  if (random() % 3 == 0) keys.micro_batch_size = one_of(1, 2, 4);
  if (random() % 2 == 0) {
    keys.schedule = one_of("1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "zeropp", "gpipe");
    if (runs_chunks(keys.schedule) && keys.schedule != "zb-v")
      keys.virtual_stages = one_of(1, 2, 3);
  } else if (random() % 3 == 0) {
    keys.virtual_stages = one_of(1, 2);
  }
  return keys;
}

/// The instance without one of its groups of nodes.
RandomInstance without_group(const RandomInstance& instance, std::size_t group) {
  RandomInstance part = instance;
  part.cluster.groups.erase(part.cluster.groups.begin() + static_cast<std::ptrdiff_t>(group));
  part.cluster.finish("part");
  return part;
}

struct Compared {
  int pairs = 0;
  int slower = 0;  ///< where the free search is
};

void compare(int seed, const Run& free, const Run& other, Compared& compared) {
  if (!other.plan) return;
  ++compared.pairs;
  constexpr double rounding = 1.0 + 1e-9;
  const double least = other.plan->predicted->iteration_seconds;
  if (free.plan && free.plan->predicted->iteration_seconds <= least * rounding) return;
  ++compared.slower;
  WARN("seed " << seed << " free " << (free.plan ? free.plan->predicted->iteration_seconds : -1.0)
               << " s: " << (free.plan ? free.plan->shape() + " " + free.plan->schedule.name : "")
               << "; other " << least << " s: " << other.plan->shape() << " "
               << other.plan->schedule.name << " of " << other.plan->schedule.virtual_stages);
}

void check_free_search(int first_seed, int num_instances) {
  Compared compared;
  for (int seed = first_seed; seed < first_seed + num_instances; ++seed) {
    const RandomInstance instance = random_instance(static_cast<std::uint64_t>(seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    const Run free = run_planner("auto", instance, everything_free());
    for (int i = 0; i < 4; ++i)
      compare(seed, free, run_planner("auto", instance, typed(random)), compared);
    for (std::size_t g = 0;
         instance.cluster.groups.size() > 1 && g < instance.cluster.groups.size(); ++g) {
      const RandomInstance part = without_group(instance, g);
      compare(seed, free, run_planner("auto", part, everything_free()), compared);
    }
    if (free.plan) {
      for (int d = 0; d < instance.cluster.num_devices(); ++d) {
        const double memory = instance.cluster.kind_of(DeviceId(d)).memory;
        REQUIRE(free.plan->predicted->peak_bytes[static_cast<std::size_t>(d)] <= memory);
      }
    }
  }
  CHECK(compared.pairs > num_instances);
  CHECK(50 * compared.slower <= compared.pairs);
}

TEST_CASE("less freedom, or fewer devices, are seldom faster", "[frames]") {
  check_free_search(0, 60);
}

TEST_CASE("less freedom, or fewer devices, are seldom faster in many cases", "[.long]") {
  check_free_search(1000, 300);
}

}  // namespace
}  // namespace pptrain::reference
