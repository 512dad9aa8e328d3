#pragma once

#include <functional>
#include <vector>

#include "planners/published/alpa/sharding_bounds.hpp"

namespace pptrain {

/// Neighbouring layers of a stage under one division, linked to those behind them.
struct ShardingRun {
  int division = 0;
  int end = 0;    ///< first layer behind the run
  int next = -1;  ///< run behind this one; -1: none
};

/// One choice of divisions for the layers of a stage.
struct ShardingOption {
  double seconds = 0.0;    ///< t_i
  double reduction = 0.0;  ///< gradient all-reduces
  int head = 0;            ///< division of the first layer
  int tail = 0;            ///< division of the last layer
  int run = 0;             ///< index of the first run
};

/// What the options of stages that end at one layer are for.
struct ShardingGoal {
  int end = 0;               ///< layer behind the stages
  double in_flight = 1.0;    ///< micro-batches
  StageWeights weights;      ///< of a lower bound on the iteration
  std::vector<double> rest;  ///< of that bound for a stage that begins at layer l; infinite where
                             ///< none may
  double limit = 0.0;        ///< options whose bound is not below are of no use
  double slack = 0.0;  ///< options that are better than others by less than so many seconds may be
                       ///< left out
  std::vector<double> least_cut;  ///< of each tail: seconds of the cut behind it, at least
  std::vector<std::vector<double>> cut_excess;  ///< [a][b]: by how many seconds a's cut may be
                                                ///< longer than b's
};

/// Alpa's intra-operator choice for all stages that end at one layer: every sequence of divisions
/// of layers [l, end), for every l, that fits in memory and that no other one makes needless. A
/// chain of layers needs no integer programme: Pareto labels over (t_i, all-reduces, memory), from
/// the last layer to the first, hold the exact choice whatever the stage is worth to the pipeline.
class ShardingLabels {
 public:
  using Visit = std::function<void(int begin, const ShardingOption& option)>;

  /// `pool`: where the runs of the options are kept.
  ShardingLabels(const ShardingCost& cost, std::vector<ShardingRun>& pool);

  /// Calls `visit` for every option of the goal, by falling `begin`, and adds their runs to the
  /// pool. No option begins with a layer whose `rest` is infinite.
  void search(const ShardingGoal& goal, const Visit& visit);

 private:
  /// Labels whose first layers are an open run of one division. Their values: for each pass and
  /// each reduction of the division the seconds of the closed runs plus the term's sum at the run's
  /// end, so that they stay as they are while the run grows; for each device class the bytes, and
  /// its most samples.
  struct OpenRuns {
    int stride = 0;
    std::vector<double> values;
    std::vector<int> tails;
    std::vector<int> runs;
    int size() const { return static_cast<int>(tails.size()); }
    /// The `stride` values of label i; valid until one is added or erased.
    double* at(int i) { return values.data() + static_cast<std::ptrdiff_t>(i) * stride; }
    const double* at(int i) const {
      return values.data() + static_cast<std::ptrdiff_t>(i) * stride;
    }
    /// Adds a label; `label` has `stride` values.
    void push(const std::vector<double>& label, int tail, int run);
    /// Takes out label i; the last label gets its number.
    void erase(int i);
  };
  /// A run that is to be opened in front of a layer.
  struct Opening {
    int division = 0;
    int tail = 0;
    int next = -1;
    std::vector<double> values;
  };

  void find_least_rest();
  void open(Opening opening, double seconds, double reduction, int layer);
  void insert(const Opening& opening, int layer);
  bool dominates(int division, const double* a, int tail_a, const double* b, int tail_b) const;
  bool grow(int division, double* label, int layer) const;
  void change_divisions(int layer);
  double pass_seconds(int division, const double* label, int layer) const;
  double reduction_seconds(int division, const double* label, int layer) const;
  double bound(int division, const double* label, int tail, int layer) const;

  const ShardingCost& cost_;
  std::vector<ShardingRun>& pool_;
  int num_classes_;  // of devices
  // These belong to the current goal.
  const ShardingGoal* goal_ = nullptr;
  int first_ = 0;  // no stage begins before
  bool with_memory_ = false;
  std::vector<std::vector<double>> least_rest_;    // [layer][division of an open run]
  std::vector<std::vector<double>> least_onward_;  // [layer][division of an open run that does not
                                                   // end there]
  std::vector<OpenRuns> open_;                     // by division
  std::vector<Opening> openings_;
};

}  // namespace pptrain
