#pragma once

#include <string>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// DAPPLE's planner: stages of any number of replicas, placed by its three policies composed stage
/// by stage, for every micro-batch size, by least `dapple_seconds`. The paper's dynamic programme
/// keeps one plan for each number of layers and set of devices; this one keeps all that may still
/// become the best (see DappleSearch).
///
/// The work of a search is the number of pairs of placed stages that can follow each other, times
/// layers. Of clusters on which it would be too much fewer placements are searched (see
/// dapple_rules), and with much work not all that may become the best is kept.
class DapplePlanner : public Planner {
 public:
  std::string name() const override { return "dapple"; }
  std::string form() const override { return name(); }
  bool tabulates_layers() const override { return true; }
  std::string description() const override {
    return "DAPPLE: replicated stages placed by its three policies";
  }
  Outcome search(const SearchSpace& space) const override;
};

/// The most work, and that for each device of smaller clusters.
constexpr double most_dapple_work = 2e7;
constexpr double dapple_work_per_device = 16e3;
/// With more work only `most_dapple_labels` are kept of each placed stage and first layer.
constexpr double most_exact_dapple_work = 4e5;
constexpr int most_dapple_labels = 4;

}  // namespace pptrain
