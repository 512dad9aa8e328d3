// Keys and values that go round between replicas which divide the positions of samples.
#include "profile/context_exchange.hpp"

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "profile/analytic.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Two nodes of four devices.
Cluster two_nodes() {
  return parse_cluster(
      "[[device]]\nkind = \"d\"\nmemory = \"80 GB\"\nflops = { bf16 = \"100 TFLOP/s\" }\n"
      "memory_bandwidth = \"1 TB/s\"\n[[node]]\nkind = \"n\"\ncount = 2\ndevices = { kind = \"d\", "
      "count = 4 }\n"
      "link = { bandwidth = \"200 GB/s\" }\nuplink = { bandwidth = \"50 GB/s\" }\n",
      "c.toml");
}

/// Attention with 4 GB of keys and values in a sample.
Work attention() {
  Kernel kernel;
  kernel.flop = 1e12;
  kernel.share = Share::divided;
  kernel.launches = 0;
  kernel.attention = ScoresShape{1e9, 128.0, 2.0, true, 2e9};
  Work work;
  work.forward = {kernel};
  work.backward_input = {kernel};
  work.backward_input.front().flop *= 2.0;
  return work;
}

const Roofline roofline = {100e12, 1e12};

LayerSeconds exchange(int degree, std::int64_t replicas, bool hides, double samples = 1.0) {
  const Cluster cluster = two_nodes();
  const ContextExchange passed(cluster, cluster.device_kinds.front(), degree, replicas, {}, hides);
  return passed.seconds(attention(), roofline, samples);
}

TEST_CASE("keys and values go round once forward, and with their gradients backward",
          "[analytic]") {
  const LayerSeconds within = exchange(1, 4, false);
  CHECK(within.forward == Approx(3.0 / 4.0 * 4e9 / 200e9));
  CHECK(within.backward_input == Approx(2.0 * within.forward));
  CHECK(within.backward_weight == 0.0);
  CHECK(exchange(1, 4, false, 2.0).forward == Approx(2.0 * within.forward));
  CHECK(exchange(1, 1, false).total() == 0.0);
}

TEST_CASE("members of tensor-parallel groups pass their heads, over an uplink together",
          "[analytic]") {
  CHECK(exchange(2, 2, false).forward == Approx(1.0 / 2.0 * 2e9 / 200e9));
  CHECK(exchange(1, 8, false).forward == Approx(7.0 / 8.0 * 4e9 / 50e9));
  CHECK(exchange(2, 4, false).forward == Approx(3.0 / 4.0 * 2e9 / 25e9));
}

TEST_CASE("a runtime may attend to positions while the next ones come", "[analytic]") {
  // A quarter of a sample takes 2.5 ms forward; three quarters of it are beside slices of other
  // replicas.
  const double beside = 3.0 / 4.0 * 2.5e-3;
  CHECK(exchange(1, 4, true).forward == Approx(exchange(1, 4, false).forward - beside));
  CHECK(exchange(1, 4, true).backward_input ==
        Approx(exchange(1, 4, false).backward_input - 2.0 * beside));
  Work little = attention();
  for (std::vector<Kernel>* pass : {&little.forward, &little.backward_input})
    pass->front().attention->key_values = 1.0;
  const Cluster cluster = two_nodes();
  const ContextExchange hidden(cluster, cluster.device_kinds.front(), 1, 4, {}, true);
  CHECK(hidden.seconds(little, roofline, 1.0).total() == 0.0);
}

Profile profile_of(int context) {
  const std::string job =
      "[model]\nhidden_size = 1024\nheads = 16\n[training]\nsequence_length = 2048\nprecision = "
      "\"bf16\"\n"
      "global_batch_size = 8\n[cluster]\nfile = \"c.toml\"\n[profile]\nanalytic = true\n"
      "[parallelism]\nlike = \"megatron\"\ncontext = " +
      std::to_string(context) + "\n";
  return analytic_profile(parse_config(job, "job.toml", ""), two_nodes());
}

TEST_CASE(
    "shares of samples take and hold their part of a sample, and attention what goes round besides",
    "[analytic]") {
  const Profile whole = profile_of(1);
  const Profile halves = profile_of(2);
  CHECK(halves.context == 2);
  const auto seconds = [](const Profile& profile, int layer, double samples) {
    return *profile.seconds(layer, "d", 1, samples);
  };
  const int last = whole.num_layers() - 1;
  for (const int layer : {0, last}) {
    CHECK(seconds(halves, layer, 8.0).total() ==
          Approx(seconds(whole, layer, 4.0).total()).epsilon(0.02));
  }
  CHECK(seconds(halves, 1, 8.0).forward > seconds(whole, 1, 4.0).forward);
  CHECK(seconds(halves, 1, 8.0).backward_weight ==
        Approx(seconds(whole, 1, 4.0).backward_weight).epsilon(0.02));
  for (int layer = 0; layer <= last; ++layer) {
    CHECK(halves.layers[static_cast<std::size_t>(layer)].output_bytes * 2.0 ==
          whole.layers[static_cast<std::size_t>(layer)].output_bytes);
    CHECK(halves.bytes(layer, "d", 1, 8.0)->stored ==
          Approx(whole.bytes(layer, "d", 1, 4.0)->stored));
  }
  CHECK(write_profile(parse_profile(write_profile(halves), "p")) == write_profile(halves));
}

}  // namespace
}  // namespace pptrain
