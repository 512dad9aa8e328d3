#include "profile/runtimes.hpp"

#include <algorithm>

namespace pptrain {

/// Bytes of a logit: Megatron-LM has it in 16 bits, in fp32, and less its row's maximum, of which
/// the probability takes the place (megatron/core/tensor_parallel/cross_entropy.py); nanotron has
/// dropped the first by then (src/nanotron/parallel/tensor_parallel/functional.py); PyTorch's cross
/// entropy has the logarithm of the probability too, and so torchtitan, whose loss is that
/// (torchtitan/components/loss.py). Where members divide the vocabulary it has, backward, the
/// logarithm of the probability, the labels' part of the gradient, their sum and the gradient
/// (torch/distributed/tensor/parallel/loss.py). Megatron-LM pads the vocabulary by the default of
/// its --make-vocab-size-divisible-by (megatron/training/arguments.py). What selective
/// checkpointing keeps there is in torchtitan/distributed/activation_checkpoint.py.
const std::vector<RuntimeTraits>& runtimes() {
  static const std::vector<RuntimeTraits> all = {
      {.name = "pptrain", .own = true, .hides_sums = true},
      {.name = "megatron",
       .fused_loss = false,
       .logit_bytes = 10.0,
       .hides_ring = true,
       .vocabulary_multiple = 128},
      {.name = "megatron-deepspeed",
       .kernels = "megatron",
       .fused_loss = false,
       .logit_bytes = 10.0,
       .adds_gradients = true,
       .wide_gradients = 6.0,
       .vocabulary_multiple = 128},
      {.name = "deepspeed",
       .fused_loss = false,
       .logit_bytes = 14.0,
       .fused_gate = false,
       .adds_gradients = true,
       .hides_sums = true,
       .wide_gradients = 2.0},
      {.name = "fsdp", .hides_sums = true, .wide_gradients = 2.0},
      {.name = "torchtitan",
       .kernels = "fsdp",
       .logit_bytes = 14.0,
       .divided_logit_bytes = 16.0,
       .keeps_products = true,
       .keeps_gathered = true,
       .hides_sums = true,
       .wide_weight = 2.0},
      {.name = "transformers",
       .fused_softmax = false,
       .fused_loss = false,
       .logit_bytes = 14.0,
       .fused_gate = false,
       .adds_gradients = true,
       .wide_traffic = true,
       .hides_sums = true,
       .fp16_gradients = 4.0},
      {.name = "nanotron",
       .fused_loss = false,
       .fused_gate = false,
       .moves_positions = true,
       .adds_gradients = true,
       .keeps_gathered = true,
       .blocking_sends = true},
      {.name = "oneflow", .hides_sums = true},
      {.name = "jax", .hides_sums = true, .wide_gradients = 2.0},
      {.name = "llm.c", .hides_sums = true, .wide_gradients = 2.0},
  };
  return all;
}

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  for (const RuntimeTraits& runtime : runtimes()) names.push_back(runtime.name);
  return names;
}

const RuntimeTraits& runtime_called(const std::string& name) {
  return *std::find_if(runtimes().begin(), runtimes().end(),
                       [&](const RuntimeTraits& runtime) { return runtime.name == name; });
}

}  // namespace pptrain
