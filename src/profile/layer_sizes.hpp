#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "config/config.hpp"
#include "model/folds/plain_bytes.hpp"
#include "model/model.hpp"
#include "profile/profile.hpp"
#include "profile/runtimes.hpp"

namespace pptrain {

/// What a layer of a model holds and sends where a runtime executes it, whatever it takes:
/// parameters and bytes of a profile's layer without its times.
class LayerSizes {
 public:
  /// Sizes of layer `number` of the model, which must outlive it, in the configuration's precision.
  LayerSizes(const Config& config, const RuntimeTraits& runtime, const Model& model,
             std::size_t number);

  /// The layer, without rows.
  const ProfileLayer& layer() const { return layer_; }
  /// What one of `degree` members of a tensor-parallel group holds of a micro-batch; of shares of
  /// samples, where replicas divide their positions.
  LayerBytes bytes(int degree, double samples);

 private:
  const LayerBytes& held_by(int degree);

  const OperatorList& operators_;
  double element_bytes_;            ///< of a number of the products
  std::map<int, LayerBytes> held_;  ///< of a sample in pptrain itself, by degree
  ProfileLayer layer_;
  std::optional<PlainBytes> plain_;   ///< of a runtime that is not pptrain, which makes nothing
                                      ///< again
  double gathered_ = 0.0;             ///< bytes of a sample that members have gathered and keep
  double logit_bytes_ = 0.0;          ///< held of a logit at once
  double divided_logit_bytes_ = 0.0;  ///< held of a logit at once where members divide the
                                      ///< vocabulary
  bool sequence_parallel_ = false;
  double replicas_ = 1.0;  ///< that divide the positions of a sample
};

}  // namespace pptrain
