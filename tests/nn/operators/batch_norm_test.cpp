// What batch norms keep from step to step.
#include "kernels/backend.hpp"
#include "model/families/families.hpp"
#include "nn/layer.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// The first layer of a small residual network, whose images are ones and threes.
struct Entry {
  Model model;
  Arena arena;
  SilentCommunicator group;
  ParameterStore store;
  LayerContext context;
  std::unique_ptr<LayerModule> layer;
  std::vector<float> pixels;
  Batch batch;

  explicit Entry(Recompute recompute)
      : model(build_family(
            ConfigJson::parse(R"({"model_type": "resnet", "embedding_size": 1, "hidden_sizes": [4],
                                                 "depths": [1], "num_channels": 1})",
                              "here"),
            {.tokens = 1, .image_size = 4})),
        context{host_backend(), arena, group, store, model, DType::f32, {}, recompute},
        layer(make_layer(model.layers.front(), ChunkId(0), context)) {
    store.allocate(arena, host_kernels(), DType::f32);
    // The convolution takes the pixel in the middle of its window; four of the sixteen are so.
    store.fill([](const ParameterSpec& spec, Interval run, float* out) {
      std::fill_n(out, run.size(), spec.initial == Initial::ones ? 1.0F : 0.0F);
      if (spec.initial == Initial::normal) out[24] = 1.0F;
    });
    for (int i = 0; i < 32; ++i) pixels.push_back(i < 16 ? 1.0F : 3.0F);
    batch.samples = 2;
    batch.features = pixels.data();
  }

  Tensor gradient() {
    Tensor ones(arena, 2, 1);
    std::fill_n(ones.f32(), ones.size(), 1.0F);
    return ones;
  }
  float running(const char* what) const {
    return *store.buffers().values(std::string("resnet.embedder.embedder.normalization.") + what);
  }
};

}  // namespace

TEST_CASE("running averages are updated once for a micro-batch, also where layers are made again") {
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    INFO(to_string(recompute));
    Entry entry(recompute);
    for (int pass = 1; pass <= 2; ++pass) {
      SavedPtr saved;
      entry.layer->forward(entry.batch, {}, &saved);
      entry.layer->backward_input(entry.batch, entry.gradient(), *saved);
      entry.layer->backward_weight(entry.batch, *saved);
      CHECK(entry.running("num_batches_tracked") == static_cast<float>(pass));
    }
    // The mean of four ones and four threes is 2, their variance 1, unbiased 8 / 7.
    CHECK(entry.running("running_mean") == Approx(0.1 * 2.0 * 1.9));
    CHECK(entry.running("running_var") == Approx(0.81 + 0.1 * 8.0 / 7.0 * 1.9));
  }
}

TEST_CASE("an evaluation normalises by the running averages and leaves them as they are") {
  Entry entry(Recompute::none);
  entry.batch.use = BatchUse::evaluation;
  for (int again = 0; again < 2; ++again) {
    const Tensor y = entry.layer->forward(entry.batch, {}, nullptr);
    CHECK(y.f32()[0] == Approx(1.0).epsilon(1e-5));
    CHECK(y.f32()[1] == Approx(3.0).epsilon(1e-5));
  }
  CHECK(entry.running("num_batches_tracked") == 0.0F);
  CHECK(entry.running("running_mean") == 0.0F);
}

TEST_CASE("a device without samples takes part in convolutions and batch norms") {
  Entry entry(Recompute::none);
  for (const Layer& layer : entry.model.layers) CHECK(layer.buffers.size() % 3 == 0);
  entry.batch.samples = 0;
  SavedPtr saved;
  CHECK(entry.layer->forward(entry.batch, {}, &saved).size() == 0);
  entry.layer->backward_input(entry.batch, Tensor(entry.arena, 0, 1), *saved);
  entry.layer->backward_weight(entry.batch, *saved);
  for (std::size_t i = 0; i < entry.store.parameters().size(); ++i) {
    const Matrix gradient = entry.store.gradient_matrix(i);
    CHECK(std::count(gradient.f32(), gradient.f32() + gradient.size(), 0.0F) ==
          static_cast<std::ptrdiff_t>(gradient.size()));
  }
}
