#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/kernel_constants.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// How a runtime executes a plan, where this changes time or memory: pptrain itself, or a framework
/// of others that a prediction is for (`[profile] like`).
struct RuntimeTraits {
  std::string name;
  std::string kernels = "";     ///< whose constants its kernels have; "": its own
  bool own = false;             ///< pptrain: its residual stream is fp32, and its sums are those of
                                ///< docs/cost.md
  bool fused_attention = true;  ///< scores stay on the multiprocessors; `[profile] attention` says
                                ///< it otherwise
  bool drops_scores = false;    ///< dropout of the probabilities of attention with stored scores
  /// Stored scores are scaled, masked and normalised by one kernel, where they have 16 bits.
  bool fused_softmax = true;
  bool fused_loss = true;    ///< one kernel computes the loss and its gradient; otherwise one for
                             ///< each operation
  double logit_bytes = 8.0;  ///< held of a logit at once while the loss is computed, in 16-bit
                             ///< training
  double divided_logit_bytes = 0.0;  ///< held of a logit at once where members divide the
                                     ///< vocabulary; 0: as much as `logit_bytes`
  bool keeps_products = false;  ///< selective recomputation keeps what attention and every other
                                ///< product give
  bool fused_gate = true;  ///< one kernel computes a gate; otherwise its activation is kept for B
                           ///< too
  bool moves_positions = false;  ///< tokens lie by position outside attention, for which its output
                                 ///< is copied and kept
  /// Gradients of weights are added to those of earlier micro-batches by kernels of their own.
  bool adds_gradients = false;
  bool keeps_gathered = false;  ///< with sequence parallelism, inputs of products are kept as they
                                ///< were gathered
  bool wide_traffic = false;    ///< autocast: what is no product is computed in fp32
  bool hides_ring = false;  ///< keys and values of other replicas' positions come while attention
                            ///< goes on
  bool hides_sums = false;  ///< gradients are summed beside the backward pass, layer by layer
  bool blocking_sends = false;  ///< a stage goes on when the next one has received, if that is on
                                ///< another node
  double wide_gradients = 4.0;  ///< bytes of a gradient where products are bf16
  double fp16_gradients = 2.0;  ///< bytes of a gradient where products are fp16
  /// Bytes of a weight beside the one of products: FSDP divides fp32 weights alone and makes the
  /// others for a pass.
  double wide_weight = 4.0;
  /// The vocabulary is padded to a multiple of this number times the tensor-parallel degree; 0: it
  /// is not.
  std::int64_t vocabulary_multiple = 0;
};

/// The runtimes that `[profile] like` may name, pptrain first.
const std::vector<RuntimeTraits>& runtimes();
std::vector<std::string> runtime_names();
const RuntimeTraits& runtime_called(const std::string& name);

}  // namespace pptrain
