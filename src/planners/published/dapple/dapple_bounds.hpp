#pragma once

#include <map>
#include <vector>

#include "planners/published/dapple/dapple_costs.hpp"

namespace pptrain {

/// How little the stages before a placed stage can take, for pruning. Stages with some number of
/// replicas are taken to be as fast as the fastest of them on any devices.
class DappleBounds {
 public:
  DappleBounds(const SearchSpace& space, const DappleCosts& costs);

  /// The least that the stages with layers [0, end) can have.
  struct Least {
    double sum = 0.0;      ///< sum of their w_s = F_s + B_s, and AR_0
    double slowest = 0.0;  ///< the largest (M-1) w_s
  };
  /// The stages before `stage`.
  Least before(int stage, int end) const { return at(before_[stage], end); }
  /// The stages before `stage`, and itself.
  Least with(int stage, int end) const { return at(with_[stage], end); }

 private:
  /// Devices that some stages use.
  struct Used {
    int count = 0;
    double power = 0.0;  ///< so many devices of the fastest kind would do
  };
  /// Least costs of stages with some number of replicas.
  struct Fastest {
    std::vector<double> both;        ///< of layers [b, e) at b * (layers + 1) + e
    std::vector<double> all_reduce;  ///< of layers [0, e)
  };

  Least at(const Used& used, int end) const;
  void find_work(std::size_t num_kinds);
  void find_chains(int num_devices);
  std::map<int, Fastest> fastest_stages() const;
  void extend(int from, int to, const Fastest& stage);

  const DappleCosts& costs_;
  int num_layers_;
  double repeats_;             // M - 1
  std::vector<double> work_;   // of the first l layers: seconds of the micro-batch on the fastest
                               // kind
  std::vector<double> least_;  // of the first l layers: least F + B in any stage
  std::vector<Used> before_;   // of each stage
  std::vector<Used> with_;     // of each stage
  std::vector<std::vector<Least>> chains_;  // [devices used][layers]: of the best stages; empty:
                                            // not known
};

}  // namespace pptrain
