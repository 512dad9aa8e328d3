#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "planners/ask/restrictions.hpp"

namespace pptrain {

/// Degrees of a uniform grid; of two equally fast grids the lesser one is taken.
struct Grid {
  int pipeline = 1;
  int data = 1;
  int tensor = 1;
  auto operator<=>(const Grid&) const = default;
};

/// "PP 4 x DP 2 x TP 2"
std::string to_string(const Grid& grid);

/// All divisors of a positive number, ascending.
std::vector<std::int64_t> divisors(std::int64_t number);

/// Micro-batch sizes that the restrictions allow, ascending: divisors of N, or the one that is
/// fixed.
std::vector<std::int64_t> micro_batch_sizes(std::int64_t global_batch_size,
                                            const Restrictions& restrictions);

/// All grids of `num_devices` devices that the restrictions allow, ascending.
std::vector<Grid> grids_of(int num_devices, const Restrictions& restrictions);

/// Samples of a micro-batch, on the replica that has most of them, that the grid can run with,
/// ascending: divisors of N / dp, or the one that the restricted micro-batch size gives. With
/// `Restrictions::uneven_shares` those of all micro-batch sizes, rounded up.
std::vector<std::int64_t> samples_per_replica(const Grid& grid, std::int64_t global_batch_size,
                                              const Restrictions& restrictions);

/// The largest micro-batch of the grid whose replicas have `samples` at most, one of
/// `samples_per_replica`.
std::int64_t micro_batch_of(const Grid& grid, std::int64_t samples, std::int64_t global_batch_size,
                            const Restrictions& restrictions);

/// Why no plan of this grid exists, whatever the memory; empty when there are some.
std::string why_not_in_space(const Grid& grid, const Instance& instance,
                             const Restrictions& restrictions);

/// The same restrictions, with `uneven_shares` where replicas of no grid that they allow can share
/// samples evenly, and where a degree, a micro-batch or a schedule that only grids have is asked
/// for.
Restrictions with_uneven_shares(const Instance& instance, Restrictions restrictions);

}  // namespace pptrain
