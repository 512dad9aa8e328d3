#include "runtime/places/waiters.hpp"

#include <fmt/format.h>

#include "comm/blocking_call.hpp"
#include "comm/mpi.hpp"
#include "config/config.hpp"
#include "probe/core_pools.hpp"

namespace pptrain {
namespace {

/// Seconds that ranks wait which cannot tell each other that they work.
constexpr double longest_patience = 3600.0;

}  // namespace

CoreUse found_core_use(MPI_Comm world, Waiter& waiter) {
  return pool_of(find_core_pools(world, waiter), rank_in(world)).core_use();
}

Waiter first_waiter(MPI_Comm world) {
  const double set = BlockingTimeout::seconds();
  const double seconds = set > 0.0 ? set : JobConfig().timeout;
  std::shared_ptr<Pulse> pulse = Pulse::start(world, seconds);
  Waiter waiter(pulse == nullptr ? longest_patience : seconds, CoreUse::shared);
  waiter.heed(std::move(pulse));
  waiter.name_place(
      [rank = rank_in(world)] { return fmt::format("rank {}, before the first step", rank); });
  return waiter;
}

Waiter preparing_waiter(MPI_Comm world) {
  Waiter waiter = first_waiter(world);
  waiter.set_core_use(found_core_use(world, waiter));
  return waiter;
}

Waiter make_waiter(MPI_Comm world) {
  constexpr double first_timeout_seconds = 600.0;
  Waiter first(first_timeout_seconds, CoreUse::shared);
  return {longest_patience, found_core_use(world, first)};
}

}  // namespace pptrain
