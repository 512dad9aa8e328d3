#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/interval.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// Neighbouring layers of a model, and the ranks that share each of them.
struct RankedLayers {
  Interval layers;
  std::vector<int> ranks;                               ///< members of a tensor-parallel group
  std::map<std::string, std::vector<Interval>> shards;  ///< by axis; what is not there is divided
                                                        ///< evenly
  WeightDivision division = WeightDivision::columns;
  bool operator==(const RankedLayers&) const = default;
};

/// A model as one replica of it lies on the ranks of a job, in the order of the layers.
using TextDivision = std::vector<RankedLayers>;

/// All layers on all ranks. A model that has fewer heads than there are ranks, or columns, throws
/// `Error` (exit code 2) with `source` as the place.
TextDivision shared_by_all(const Model& model, int num_ranks, const std::string& source);

/// The first replica of each stage, where a job has it.
TextDivision first_replica(const Plan& plan, const RankMap& map);

/// The first replica of each stage, with its devices on ranks 0, 1, ... in the order of their
/// numbers. A plan for another model, and fewer ranks than such devices, throw `Error` (exit code
/// 2) with `source` as the place.
TextDivision first_replica_alone(const Plan& plan, const Model& model, int num_ranks,
                                 const std::string& source);

}  // namespace pptrain
