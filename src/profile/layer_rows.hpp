#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "profile/context_exchange.hpp"
#include "profile/kernel_time.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// Four digits are more than the roofline is worth, and make files that do not depend on the
/// compiler's rounding.
double rounded(double seconds);

/// Rows of computed times on one kind of device at one tensor-parallel degree, made once for all
/// layers of equal work.
class LayerRows {
 public:
  /// Rows for up to `largest_samples` samples of a micro-batch on a replica; shares of samples,
  /// where `exchange` says that several replicas divide their positions.
  LayerRows(const DeviceKind& kind, const Roofline& roofline, int degree, double largest_samples,
            const ContextExchange& exchange = {})
      : kind_(kind.name),
        roofline_(roofline),
        degree_(degree),
        largest_samples_(largest_samples),
        exchange_(exchange) {}

  /// Name of the kind of device.
  const std::string& kind() const { return kind_; }
  /// The roofline by which times are computed.
  const Roofline& roofline() const { return roofline_; }
  /// Tensor-parallel degree of the rows.
  int degree() const { return degree_; }

  /// As few rows as give the time of every number of samples to 1 %; `work` outlives this.
  const std::vector<ProfileRow>& of(const Work& work);

 private:
  struct Made {
    const Work* work;
    std::vector<ProfileRow> rows;
  };
  std::string kind_;
  Roofline roofline_;
  int degree_;
  double largest_samples_;
  ContextExchange exchange_;
  std::vector<Made> made_;
};

}  // namespace pptrain
