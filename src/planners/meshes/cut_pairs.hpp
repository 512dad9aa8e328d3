#pragma once

#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// The pairs of devices that share samples across a cut, but those that are never slower than
/// another pair.
class CutPairs {
 public:
  /// Adds a pair that `samples` of a micro-batch cross by this link.
  void add(double samples, const Link& link);
  /// e_i as docs/cost.md defines it, where so many bytes of each sample cross the cut forwards, and
  /// again backwards.
  double seconds(double bytes_per_sample) const;

 private:
  struct Pair {
    double samples = 0.0;
    Link link;
  };
  std::vector<Pair> pairs_;
};

}  // namespace pptrain
