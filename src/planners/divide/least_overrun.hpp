#pragma once

#include <limits>
#include <string>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Keeps of plans that do not fit the one whose fullest device is least full, to say by how much
/// nothing fits.
class LeastOverrun {
 public:
  /// Keeps the plan if its fullest device is less full than that of all before, by `memory_bytes`.
  void take(const Instance& instance, const Plan& plan);
  /// Keeps the plan if its fullest device is less full than that of all before; `need` says the
  /// bytes that each device of the cluster needs.
  void take(const Instance& instance, const Plan& plan, const std::vector<double>& need);
  /// "PP 2 x DP 4 x TP 1 with micro-batches of 4: device 0 ..."; empty when there was no plan.
  const std::string& text() const { return text_; }

 private:
  double use_ = std::numeric_limits<double>::infinity();
  std::string text_;
};

}  // namespace pptrain
