#pragma once

#include <vector>

#include "base/interval.hpp"
#include "kernels/experts.hpp"

namespace pptrain {

/// How many rows of choice (R, 2k) f32, in memory of the arena's device, go to each of the experts
/// in `own`. Waits for the device.
std::vector<std::int32_t> count_rows(ExpertKernels& kernels, const Matrix& choice, Interval own,
                                     Arena& arena);

/// The order of dispatched rows, from what `ExpertKernels::choose` has chosen: their places on the
/// device, their numbers on the host.
class ExpertOrder {
 public:
  /// The order of the rows of choice (R, 2k) f32 for the experts in `own`, which are those that are
  /// here. Waits for the device, since memory and products depend on the numbers.
  ExpertOrder(ExpertKernels& kernels, const Matrix& choice, Interval own, Arena& arena);

  /// Places of the dispatched rows, in memory that this owns.
  ExpertPlaces places() const {
    return {static_cast<const std::int32_t*>(places_.data()), rows_, chosen_};
  }
  std::size_t rows() const { return rows_; }  ///< R, rows of the router's result
  /// D, of all experts that are here.
  std::size_t num_dispatched() const { return begins_.back(); }
  /// The dispatched rows of an expert that is here are [begin(e), begin(e + 1)).
  std::size_t begin(std::int64_t expert) const {
    return begins_[static_cast<std::size_t>(expert - own_.begin)];
  }
  /// Dispatched rows of an expert that is here.
  std::size_t count(std::int64_t expert) const { return begin(expert + 1) - begin(expert); }

 private:
  Interval own_;
  std::size_t rows_, chosen_;
  std::vector<std::size_t> begins_;  ///< of each expert's rows, and their end
  Buffer places_;
};

}  // namespace pptrain
