#pragma once

#include <string>
#include <vector>

#include "model/graph/blocks.hpp"

namespace pptrain {

/// A language model as a chain: an embedding, blocks that may differ, a norm with the output layer
/// and the loss.
struct ChainShape {
  std::string name;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t tokens = 0;  ///< positions of a sample
  bool positions = false;   ///< each place has a row of a second table, which is added to the
                            ///< token's
  double embedding_scale = 1.0;
  double logit_scale = 1.0;  ///< logits are multiplied by it
  double logit_cap = 0.0;    ///< as of `op::Loss`
  std::vector<BlockShape> blocks;
  NormForm norm = {NormKind::rms, 1e-6F, false};  ///< of the output layer
  bool tied = false;
  double deviation = 0.02;        ///< of initial random weights
  double stream_deviation = 0.0;  ///< of weights whose products are added to the stream; 0: as of
                                  ///< all
  double compute_bytes = 4.0;
};

/// The model, with the names of transformers' LlamaForCausalLM.
Model build_chain(const ChainShape& shape);

}  // namespace pptrain
