#pragma once

#include <functional>
#include <vector>

#include "base/interval.hpp"
#include "base/stop.hpp"

namespace pptrain {

/// One of the stages that a chain of layers is divided into.
struct UnitStage {
  Interval layers;
  int first_unit = 0;
  int num_units = 1;
};

/// PipeDream's dynamic programme: layers from some first one on and units (devices, nodes) in a
/// row, divided into stages so that the slowest stage or cut between two is fastest.
class SlowestStage {
 public:
  /// Seconds of a stage; infinite where there is none such.
  using StageSeconds = std::function<double(const UnitStage& stage)>;
  /// Seconds of the cut behind layer `end - 1`.
  using CutSeconds = std::function<double(int end)>;

  /// `unit_counts`: that a stage may have, ascending; all units that are left may be one stage,
  /// too.
  SlowestStage(int num_layers, int num_units, std::vector<int> unit_counts, StageSeconds stage,
               CutSeconds cut);

  /// Solves for chains that begin with layer `begin`. False where the stop comes first: what is not
  /// known by then is infinite.
  bool solve(int begin, const Stop& stop = Stop());
  /// The slowest stage of layers [begin, end) on all units; infinite where nothing is possible.
  double seconds(int end) const { return best_[index(end, num_units_)].seconds; }
  /// Stages of that division in layer order. Call it only where `seconds(end)` is finite.
  std::vector<UnitStage> stages(int end) const;

 private:
  struct Best {
    double seconds = 0.0;
    UnitStage last;
  };
  std::size_t index(int end, int units) const {
    return static_cast<std::size_t>(end) * (num_units_ + 1) + units;
  }
  void find(int begin, int end, int units);

  int num_layers_;
  int num_units_;
  std::vector<int> unit_counts_;
  StageSeconds stage_;
  CutSeconds cut_;
  std::vector<Best> best_;  // of layers [begin, end) on the first units
};

}  // namespace pptrain
