#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "cost/cost.hpp"

namespace pptrain {

/// Which plans a search may return.
enum class PlanScope {
  any,      ///< everything a plan can say
  uniform,  ///< uniform grids, which is what this version's runtime executes
};

/// What the configuration fixes; everything else is free.
struct Restrictions {
  AutoInt data;      ///< replicas of every stage
  AutoInt pipeline;  ///< number of stages
  AutoInt tensor;    ///< tensor-parallel degree of every stage
  AutoInt micro_batch_size;
  std::string schedule = "auto";
  std::optional<Recompute> recompute = Recompute::none;  ///< of every stage; nothing: chosen by `auto`
  AutoInt zero_stage = 0;                                ///< of every stage; nothing: chosen by `auto`
  bool offload = false;                                  ///< whether optimizer state may be offloaded
  std::vector<Annotation> annotations;                   ///< Whale's primitives
  PlanScope scope = PlanScope::any;
  /// Place of each of these keys in messages ("data" -> "x.toml:12"), where it is known.
  std::map<std::string, std::string> places;
};

Restrictions restrictions_of(const Config& config);

/// Refuses (`Error`, exit code 2) restrictions that contradict each other or the instance, or that
/// leave no plan of this scope, whatever the memory. `source` is the place where a key has none of its own.
void check_restrictions(const Instance& instance, const Restrictions& restrictions, const std::string& source,
                        PlanScope scope);

}  // namespace pptrain
