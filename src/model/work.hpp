#pragma once

#include <vector>

#include "config/config.hpp"

namespace pptrain {

/// What a member of a tensor-parallel group does of a kernel: all of it, or its share.
enum class Share { whole, divided };

/// One kernel of a pass, or several launches that are bound by the same thing.
struct Kernel {
  double flop = 0.0;          ///< per sample; `share` of it on each member
  double bytes = 0.0;         ///< per sample: activations that every member reads and writes
  double shard_bytes = 0.0;   ///< per sample: activations that are divided over the group
  double weight_bytes = 0.0;  ///< per micro-batch: parameters or their gradients, divided as the FLOP are
  int launches = 1;
  Share share = Share::whole;
};

/// The kernels of a layer's passes.
struct Work {
  std::vector<Kernel> forward;
  std::vector<Kernel> backward_input;
  std::vector<Kernel> backward_weight;
};

/// FLOP per sample of a pass, whole.
double flop_of(const std::vector<Kernel>& pass);

/// Bytes of a number of this precision; half of fp32's for both 16-bit formats.
double element_bytes(Precision precision);

}  // namespace pptrain
