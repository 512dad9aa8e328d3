#include "model/folds/held_bytes.hpp"

#include "config/read.hpp"
#include "model/build/check.hpp"
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

TEST_CASE("members hold all of what is whole and equal parts of the rest", "[held_bytes]") {
  for (const char* name : {"gpt2", "llama-small", "bert-small", "vit-small", "t5-small"}) {
    for (const Layer& layer : model_of(name).layers) {
      INFO(name << ", " << layer.name);
      const auto held = [&](int degree) {
        return held_bytes(layer.operators, compute_bytes, degree);
      };
      CHECK(held(1).stored == Approx(layer.stored_bytes));
      CHECK(held(1).stored - held(2).stored == Approx(2.0 * (held(2).stored - held(4).stored)));
      CHECK(held(2).stored >= held(1).stored / 2.0);
      CHECK(held(2).recomputed == Approx(held(1).recomputed / 2.0));
      // Gradients of norms' results may be narrower where one member has all of a layer.
      CHECK(held(4).stored + held(4).workspace <= held(2).stored + held(2).workspace);
    }
  }
}

/// Bytes of a sample that the profiler measured of a block of inputs/llama-small.toml on 1, 2 and 4
/// ranks.
struct Measured {
  int degree;
  double stored, deferred, workspace, forward_workspace, recomputed;
};

TEST_CASE("a block of Llama holds what was measured", "[held_bytes]") {
  const Model model = model_of("llama-small");
  const std::vector<Measured> all = {{1, 824320, 1000448, 917504, 311296, 69632},
                                     {2, 543744, 631808, 557056, 221184, 34816},
                                     {4, 403456, 447488, 438272, 176128, 17408}};
  for (const Measured& measured : all) {
    INFO("degree " << measured.degree);
    const LayerBytes held =
        held_bytes(model.layers.at(1).operators, compute_bytes, measured.degree);
    CHECK(held.stored == measured.stored);
    CHECK(held.deferred == measured.deferred);
    CHECK(held.workspace == measured.workspace);
    CHECK(held.forward_workspace == measured.forward_workspace);
    CHECK(held.recomputed == measured.recomputed);
  }
}

}  // namespace
}  // namespace pptrain
