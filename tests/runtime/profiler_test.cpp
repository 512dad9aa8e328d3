#include "runtime/profiler.hpp"

#include "base/timing.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "profile/json.hpp"
#include "runtime/execute/session.hpp"
#include "support/catch.hpp"

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
    return measure_profile(comm, waiter, config, model, cluster, RankMap::identity(2), {1}, [](int, int) {});
  };
  Waiter patient(600.0, CoreUse::shared);
  const Profile profile = measure(MPI_COMM_WORLD, patient);
  const double start = wall_seconds();
  const std::string text = write_profile(profile);
  // Half of what writing takes here and now: others would take rank 0 for one that stands still.
  const double timeout = std::stod(broadcast(MPI_COMM_WORLD, std::to_string((wall_seconds() - start) / 2.0), patient));
  const MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);  // keeps what is never received
  std::optional<Error> error;
  {
    Waiter waiter(timeout, CoreUse::shared);
    waiter.heed(Pulse::start(comm.get(), timeout));
    error = error_of([&] { CHECK(measure(comm.get(), waiter).layers.size() == profile.layers.size()); });
  }
  MPI_Barrier(MPI_COMM_WORLD);
  INFO((error ? error->what() : ""));
  CHECK(!error);
}
