// Layers timed by events of a device.
#include "runtime/measure/layer_timer.hpp"

#include <set>

#include "base/timing.hpp"
#include "cuda/backend.hpp"
#include "runtime/reference.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

TEST_CASE("each kind of layer is timed on a GPU", "[np1]") {
  const Reference reference("untied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const std::unique_ptr<GpuBackend> gpu = make_gpu_backend(0);
  std::set<std::string> seen;
  for (const Layer& layer : model.layers) {
    if (!seen.insert(layer.signature).second) continue;
    INFO(layer.name);
    const double start = wall_seconds();
    const LayerTiming timing = time_layer(reference.config, model, layer, 1, 2, gpu->backend());
    const double wall = wall_seconds() - start;
    CHECK(timing.seconds.forward > 0.0);
    CHECK(timing.seconds.total() > timing.seconds.forward);
    CHECK(timing.update_seconds > 0.0);
    // Three passes or more of what a pass takes, and the updates.
    CHECK(3.0 * (timing.seconds.total() + timing.update_seconds) < wall);
    const LayerTiming host = time_layer(reference.config, model, layer, 1, 2);
    CHECK(timing.bytes.stored == host.bytes.stored);
    CHECK(timing.bytes.deferred == host.bytes.deferred);
    CHECK(timing.peak_bytes >= timing.bytes.stored);
  }
  CHECK(seen.size() == 3);
}

TEST_CASE("more samples take a GPU longer", "[np1]") {
  const Reference reference("untied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const std::unique_ptr<GpuBackend> gpu = make_gpu_backend(0);
  const auto seconds = [&](std::int64_t samples) {
    return time_layer(reference.config, model, model.layers[1], 1, samples, gpu->backend()).seconds;
  };
  CHECK(seconds(8).total() > 2.0 * seconds(1).total());  // eight times the work
}
