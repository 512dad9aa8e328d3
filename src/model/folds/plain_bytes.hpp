#pragma once

#include "model/model.hpp"

namespace pptrain {

/// What a framework keeps of a layer from F to B that makes nothing again: every input of every
/// operator that B needs, and the masks of dropout. Bytes of a sample.
struct PlainBytes {
  double whole = 0.0;     ///< that every member of a tensor-parallel group has, as Megatron divides
                          ///< layers
  double gathered = 0.0;  ///< of `whole`, inputs of products whose weights members divide by
                          ///< columns
  double divided = 0.0;   ///< that members divide
  double whole_again = 0.0;    ///< of `whole`, what selective recomputation makes again
  double divided_again = 0.0;  ///< of `divided`, what selective recomputation makes again
  double moment = 0.0;  ///< beside it for a moment, the gradients of the widest values, by members
                        ///< divided
  double logits = 0.0;  ///< not bytes: numbers from which the loss is computed, by members divided
};

/// Whether selective recomputation that keeps every other product of a layer keeps its product of
/// this number, the first one being 1.
constexpr bool keeps_product(int number) { return number % 2 == 1; }

/// How the framework computes what frameworks compute differently.
struct PlainKernels {
  double element_bytes = 2.0;  ///< of a number of activations
  bool stores_scores = false;  ///< otherwise attention runs tile by tile
  bool drops_scores = false;   ///< dropout of the stored probabilities
  bool keeps_gates = false;    ///< the activation of a gate is kept beside what it gates and what
                               ///< comes of that
  bool copies_attention = false;  ///< what attention gives is kept twice, for attention and for the
                                  ///< product behind it
  /// Selective recomputation keeps a layer's input, what attention gives, and what every other
  /// product gives (`keeps_product`); otherwise it makes stored scores again.
  bool keeps_products = false;
};
PlainBytes plain_bytes(const Layer& layer, const PlainKernels& kernels);

}  // namespace pptrain
