#include "runtime/measure/profiler.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/timing.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "config/read.hpp"
#include "model/build/check.hpp"
#include "profile/json.hpp"
#include "profile/layer_sizes.hpp"
#include "runtime/execute/session.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace pptrain;

namespace {

/// Two devices of this host.
Cluster two_devices() {
  Cluster cluster;
  cluster.name = "test";
  cluster.device_kinds = {{"host", 64e9, {{"fp32", 1e12}}, 50e9}};
  NodeGroup group;
  group.device_kind = "host";
  group.count = 1;
  group.num_devices = 2;
  group.link = group.uplink = {1e10, 1e-6};
  group.host_link = {10e9, 1e-6};
  cluster.groups = {group};
  cluster.finish("made");
  return cluster;
}

/// A model of so many layers that its profile takes long to write.
Config many_layers() {
  Config config;
  config.model.layers = 20'000;
  config.model.hidden_size = 8;
  config.model.heads = 1;
  config.model.vocabulary_size = 16;
  config.training.sequence_length = 4;
  config.training.global_batch_size = 2;
  return config;
}

}  // namespace

TEST_CASE("rank 0 gives signs of life while it writes what was measured of many layers", "[np2]") {
  const Config config = many_layers();
  const Model model = build_model(config.model, config.training, "test");
  const Cluster cluster = two_devices();
  const auto measure = [&](MPI_Comm comm, Waiter& waiter) {
    return measure_profile(comm, waiter, {config, model, cluster, RankMap::identity(2), {1}},
                           [](int, int) {});
  };
  Waiter patient(600.0, CoreUse::shared);
  const Profile profile = measure(MPI_COMM_WORLD, patient);
  const double start = wall_seconds();
  const std::string text = write_profile(profile);
  // Half of what writing takes here and now: others would take rank 0 for one that stands still.
  const double timeout =
      std::stod(broadcast(MPI_COMM_WORLD, std::to_string((wall_seconds() - start) / 2.0), patient));
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);  // keeps what is never received
  std::optional<Error> error;
  {
    Waiter waiter(timeout, CoreUse::shared);
    waiter.heed(Pulse::start(comm.get(), timeout));
    error = error_of(
        [&] { CHECK(measure(comm.get(), waiter).layers.size() == profile.layers.size()); });
  }
  MPI_Barrier(MPI_COMM_WORLD);
  INFO((error ? error->what() : ""));
  CHECK(!error);
}

TEST_CASE("what selective recomputation takes is measured of layers with attention", "[np2]") {
  Config config = many_layers();
  config.model.layers = 1;
  config.model.hidden_size = 64;
  config.model.heads = 2;
  config.training.sequence_length = 1024;  // so that attention takes more than half of F
  const Model model = build_model(config.model, config.training, "test");
  Waiter waiter(600.0, CoreUse::shared);
  const Profile profile = measure_profile(
      MPI_COMM_WORLD, waiter, {config, model, two_devices(), RankMap::identity(2), {1, 2}},
      [](int, int) {});
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.layers.front().selective_part == 0.0);
  CHECK(profile.layers[1].selective_part > 0.2);
  CHECK(profile.layers.back().selective_part == 0.0);
}

TEST_CASE("computed bytes of layers are those that are measured", "[np2]") {
  const Cluster cluster = two_devices();
  for (const char* name :
       {"gpt2", "llama-small", "mixtral-small", "t5-small", "bert-small", "vit-small"}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      Config config = read_config(source_file(fmt::format("inputs/{}.toml", name)));
      config.training.precision = precision;
      config.training.global_batch_size = 4;
      const Model model = build_model_of(config);
      Waiter waiter(600.0, CoreUse::shared);
      const Profile measured =
          measure_profile(MPI_COMM_WORLD, waiter,
                          {config, model, cluster, RankMap::identity(2), {1, 2}}, [](int, int) {});
      for (std::size_t l = 1; l < model.layers.size(); ++l) {
        LayerSizes sizes(config, runtime_called("pptrain"), model, l);
        for (const int degree : {1, 2}) {
          const auto held = measured.bytes(static_cast<int>(l), "host", degree, 4.0);
          if (degree == 1) REQUIRE(held);
          if (!held) continue;  // a layer that two members cannot divide
          const LayerBytes computed = sizes.bytes(degree, 4.0);
          INFO(name << ", " << to_string(precision) << ", " << model.layers[l].name << ", degree "
                    << degree);
          // Statistics of a head take less than what an array is rounded up to.
          CHECK(std::abs(computed.stored - held->stored) <= 0.01 * held->stored + 4096.0);
          CHECK(std::abs(computed.recomputed - held->recomputed) <= 0.01 * held->recomputed);
          // Post-norm blocks (BERT) keep the gradient of a sum from B to W, which is not counted.
          // Arrays are rounded up.
          CHECK(std::abs(computed.deferred - held->deferred) <= 0.15 * held->deferred + 256.0);
          const double running = held->stored + held->workspace;
          CHECK(std::abs(computed.stored + computed.workspace - running) <= 0.15 * running);
        }
      }
    }
  }
}
