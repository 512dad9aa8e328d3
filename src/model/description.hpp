#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "model/work.hpp"

namespace pptrain {

/// A layer as the planner needs it: sizes, and the work of its passes. Bytes are per sample.
struct LayerDescription {
  std::string name;
  double parameters = 0.0;
  double output_bytes = 0.0;                     ///< what crosses to the next layer
  double stored_bytes = 0.0;                     ///< held from the start of F to the end of W, input included
  double tensor_parallel_allreduce_bytes = 0.0;  ///< in each of F and B
  std::vector<Kernel> forward;
  std::vector<Kernel> backward_input;
  std::vector<Kernel> backward_weight;
  double batch_norms = 0.0;          ///< as of `Layer`
  double batch_norm_channels = 0.0;  ///< likewise
};

/// A model as a chain of layers. It need not be one that pptrain trains.
struct ModelDescription {
  std::string name;
  std::string source;  ///< where its dimensions are from
  Precision precision = Precision::fp32;
  std::vector<LayerDescription> layers;
  double shared_parameters = 0.0;                  ///< counted in more than one layer: tied embeddings
  std::vector<int> tensor_parallel_degrees = {1};  ///< that divide what is sharded
  std::map<std::string, std::int64_t> axes;        ///< lengths of what may be sharded unevenly: "heads", ...

  int num_layers() const { return static_cast<int>(layers.size()); }
  /// Parameters of the model, shared ones counted once.
  double num_parameters() const;
};

/// Bytes of a number of this precision; half of fp32's for both 16-bit formats.
double element_bytes(Precision precision);

/// Powers of two up to `most` that divide `count`, the heads or channels that are sharded.
std::vector<int> dividing_degrees(std::int64_t count, int most = 8);

}  // namespace pptrain
