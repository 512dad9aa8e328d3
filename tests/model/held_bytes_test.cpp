#include "model/held_bytes.hpp"

#include "config/read.hpp"
#include "model/check.hpp"
#include "model/layer_folds.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

Model model_of(const std::string& name) {
  Config config = read_config(source_file("inputs/" + name + ".toml"));
  config.training.precision = Precision::bf16;
  return build_model_of(config);
}

constexpr double compute_bytes = 2.0;

TEST_CASE("a member alone stores what a layer keeps, and members share what they divide", "[held_bytes]") {
  for (const char* name : {"gpt2", "llama-small", "mixtral-small", "bert-small", "vit-small", "t5-small"}) {
    for (const Layer& layer : model_of(name).layers) {
      INFO(name << ", " << layer.name);
      const HeldBytes alone = held_bytes(layer.operators, compute_bytes, 1);
      CHECK(alone.stored == Approx(kept_bytes(layer.operators, Recompute::none, compute_bytes)));
      CHECK(alone.stored - alone.recomputed ==
            Approx(kept_bytes(layer.operators, Recompute::selective, compute_bytes)));
      const HeldBytes shared = held_bytes(layer.operators, compute_bytes, 2);
      CHECK(shared.stored <= alone.stored);
      CHECK(shared.stored >= alone.stored / 2.0);
      CHECK(shared.stored + shared.workspace <= alone.stored + alone.workspace);
    }
  }
}

/// Bytes of a sample that the profiler measured of a block of inputs/llama-small.toml on 1, 2 and 4 ranks.
struct Measured {
  int degree;
  double stored, deferred, workspace, forward_workspace, recomputed;
};

TEST_CASE("a block of Llama holds what was measured", "[held_bytes]") {
  const Model model = model_of("llama-small");
  const std::vector<Measured> all = {{1, 824320, 1131520, 851968, 311296, 69632},
                                     {2, 543744, 762880, 612352, 221184, 34816},
                                     {4, 403456, 578560, 568320, 176128, 17408}};
  for (const Measured& measured : all) {
    INFO("degree " << measured.degree);
    const HeldBytes held = held_bytes(model.layers.at(1).operators, compute_bytes, measured.degree);
    CHECK(held.stored == measured.stored);
    CHECK(held.deferred == measured.deferred);
    CHECK(held.workspace == measured.workspace);
    CHECK(held.forward_workspace == measured.forward_workspace);
    CHECK(held.recomputed == measured.recomputed);
  }
}

}  // namespace
}  // namespace pptrain
