#include "profile/runtimes.hpp"

#include <algorithm>

namespace pptrain {

const std::vector<RuntimeTraits>& runtimes() {
  static const std::vector<RuntimeTraits> all = {
      {.name = "pptrain", .own = true, .hides_sums = true},
      {.name = "megatron", .fused_loss = false},
      {.name = "megatron-deepspeed",
       .kernels = "megatron",
       .fused_loss = false,
       .adds_gradients = true,
       .wide_gradients = 6.0},
      {.name = "deepspeed", .fused_loss = false, .adds_gradients = true, .hides_sums = true, .wide_gradients = 2.0},
      {.name = "fsdp", .hides_sums = true, .wide_gradients = 2.0},
      {.name = "transformers",
       .fused_softmax = false,
       .fused_loss = false,
       .adds_gradients = true,
       .wide_traffic = true,
       .hides_sums = true,
       .fp16_gradients = 4.0},
      {.name = "nanotron",
       .fused_loss = false,
       .adds_gradients = true,
       .keeps_gathered = true,
       .blocking_sends = true,
       .wide_gradients = 6.0},
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
