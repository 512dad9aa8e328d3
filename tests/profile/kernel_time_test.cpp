#include "profile/kernel_time.hpp"

#include <cmath>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "profile/analytic.hpp"
#include "profile/doubts.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A GPU of ten multiprocessors with round numbers: 1 TFLOP/s, no loss but what a test asks for.
Roofline round_gpu() {
  GpuKernels gpu;
  gpu.multiprocessors = 10.0;
  gpu.peak = 1e12;
  gpu.products = gpu.attention = gpu.attention_backward = gpu.scores_products = 1.0;
  Roofline roofline = {1e12, 1e15};
  roofline.gpu = gpu;
  return roofline;
}

/// Forward seconds of one kernel without what lies between two of them.
double seconds_of(const Kernel& kernel, const Roofline& roofline, int degree = 1,
                  double samples = 1.0) {
  Work work;
  work.forward = {kernel};
  return roofline_seconds(work, roofline, degree, samples).forward - 3e-6;
}

Kernel product(double rows, double columns, double inner) {
  Kernel kernel;
  kernel.flop = 2.0 * rows * columns * inner;
  kernel.product = ProductShape{rows, columns, inner};
  return kernel;
}

TEST_CASE("a product takes as long as whole waves of its tiles", "[analytic]") {
  const Roofline roofline = round_gpu();
  // Ten tiles of 256 x 128 are one wave, eleven are two, in which the smaller tiles of 64 x 64
  // waste less.
  const double one = seconds_of(product(2560, 128, 1024), roofline);
  CHECK(one == Approx(2.0 * 2560 * 128 * 1024 / 1e12).epsilon(1e-4));
  const double more = seconds_of(product(2816, 128, 1024), roofline);
  CHECK(more > 1.3 * one);
  CHECK(more < 2.0 * one);
  // Many waves hide a last one that is not full.
  const double many = seconds_of(product(256 * 101, 1280, 1024), roofline);
  CHECK(many == Approx(2.0 * 256 * 101 * 1280 * 1024 / 1e12).epsilon(0.02));
}

TEST_CASE("short sums and odd rows of matrices keep matrix units waiting", "[analytic]") {
  Roofline roofline = round_gpu();
  const double plain = seconds_of(product(2560, 1280, 1024), roofline);
  roofline.gpu->half_inner = 1024.0;
  CHECK(seconds_of(product(2560, 1280, 1024), roofline) == Approx(2.0 * plain).epsilon(1e-3));
  roofline = round_gpu();
  roofline.gpu->half_aligned = 0.5;
  roofline.gpu->unaligned = 0.25;
  const double half = seconds_of(product(2560, 1280, 1032), roofline);  // rows of 2,064 bytes
  CHECK(half == Approx(2.0 * plain * 1032.0 / 1024.0).epsilon(1e-3));
  const double none = seconds_of(product(2560, 1280, 1026), roofline);
  CHECK(none == Approx(4.0 * plain * 1026.0 / 1024.0).epsilon(1e-3));
}

TEST_CASE("members divide the dimension of a product that their weights are divided along",
          "[analytic]") {
  const Roofline roofline = round_gpu();
  Kernel kernel = product(2560, 1280, 1024);
  kernel.share = Share::divided;
  kernel.product->divided = ProductShape::Dimension::columns;
  CHECK(seconds_of(kernel, roofline, 2) ==
        Approx(seconds_of(kernel, roofline) / 2.0).epsilon(1e-3));
  CHECK(seconds_of(kernel, roofline, 1, 2.0) ==
        Approx(2.0 * seconds_of(kernel, roofline)).epsilon(1e-3));
}

TEST_CASE("stored scores are computed whether masked or not, and are read and written",
          "[analytic]") {
  Roofline roofline = round_gpu();
  roofline.bytes_per_second = 1e12;
  Kernel attention;
  attention.flop = 1e9;  // half of the scores, those that no mask hides
  attention.attention = ScoresShape{7812500.0, 64.0, 2.0};
  CHECK(seconds_of(attention, roofline) == Approx(1e-3));
  roofline.gpu->stores_scores = true;
  roofline.gpu->scores_forward = 4.0;
  CHECK(seconds_of(attention, roofline) == Approx(2e-3 + 4.0 * 7812500.0 * 2.0 / 1e12));
}

TEST_CASE("small kernels take what their host needs to launch them", "[analytic]") {
  Roofline roofline = round_gpu();
  roofline.gpu->launch_seconds = 100e-6;
  Kernel small;
  small.bytes = 1.0;
  small.launches = 10;
  Work work;
  work.forward = {small};
  CHECK(roofline_seconds(work, roofline, 1, 1.0).forward == Approx(1e-3).epsilon(0.01));
}

TEST_CASE("names of GPUs as others write them mean kinds", "[analytic]") {
  for (const char* name : {"A100-SXM-80GB", "NVIDIA A100 80GB PCIe", "a100", "8 x A100"}) {
    REQUIRE(gpu_kind(name) != nullptr);
    CHECK(gpu_kind(name)->architecture == "ampere");
  }
  CHECK(gpu_kind("RTX-3090-Ti")->architecture == "ga10x");
  CHECK(gpu_kind("GH200-96GB")->arm_host);
  for (const char* name : {"host", "d", "a1000", "p100"}) CHECK(gpu_kind(name) == nullptr);
}

const std::string job = R"([model]
hidden_size = 1024
heads = 16
[training]
sequence_length = 2048
precision = "bf16"
global_batch_size = 8
[cluster]
file = "c.toml"
[profile]
analytic = true
)";

Profile profile_like(const std::string& keys, const std::string& kind = "A100-SXM-80GB") {
  const Cluster cluster =
      parse_cluster("[[device]]\nkind = \"" + kind +
                        "\"\nmemory = \"80 GB\"\nflops = { bf16 = \"312 TFLOP/s\" }\n"
                        "memory_bandwidth = \"2 TB/s\"\n[[node]]\nkind = \"n\"\ncount = 2\n"
                        "devices = { kind = \"" +
                        kind +
                        "\", count = 4 }\nlink = { bandwidth = \"240 GB/s\" }\n"
                        "uplink = { bandwidth = \"50 GB/s\" }\n",
                    "c.toml");
  return analytic_profile(parse_config(job + keys, "job.toml", ""), cluster);
}

TEST_CASE("a profile of another runtime has its times, bytes and collectives", "[analytic]") {
  const Profile own = profile_like("");
  CHECK(own.communication.is_own());
  CHECK(own.layers.back().repeated);
  // pptrain's own times are those of the roofline, whatever the kind is called.
  CHECK(own.seconds(1, "A100-SXM-80GB", 1, 4.0)->total() ==
        profile_like("", "unknown").seconds(1, "unknown", 1, 4.0)->total());
  const Profile megatron = profile_like("like = \"megatron\"\n");
  CHECK_FALSE(megatron.communication.is_own());
  CHECK(megatron.layers[1].output_bytes == own.layers[1].output_bytes / 2.0);
  CHECK(megatron.bytes_per_parameter.weight == 2.0);
  CHECK(megatron.bytes_per_parameter.optimizer == 12.0);
  const auto repeats = [&](std::size_t layer) { return megatron.layers[layer].repeated; };
  CHECK_FALSE(repeats(0));
  CHECK(repeats(1));
  CHECK_FALSE(repeats(megatron.layers.size() - 1));
  const Profile stored = profile_like("like = \"megatron\"\nattention = \"stored-dropout\"\n");
  CHECK(stored.seconds(1, "A100-SXM-80GB", 1, 4.0)->total() >
        megatron.seconds(1, "A100-SXM-80GB", 1, 4.0)->total());
  // Probabilities, dropped probabilities and their mask: five bytes for each score of a sample.
  CHECK(stored.layers[1].stored_bytes - megatron.layers[1].stored_bytes == 5.0 * 16 * 2048 * 2048);
  const Profile kept = profile_like("like = \"megatron\"\nattention = \"stored\"\n");
  CHECK(kept.layers[1].stored_bytes - megatron.layers[1].stored_bytes == 2.0 * 16 * 2048 * 2048);
  // Korthikanti et al., 2022, section 4.1: 34 bytes of each number of the stream, of which two are
  // masks of dropout.
  CHECK(megatron.layers[1].stored_bytes == 32.0 * 1024 * 2048);
  const auto held = [](const Profile& profile, int degree) {
    return profile.bytes(1, "A100-SXM-80GB", degree, 1.0)->stored;
  };
  CHECK(held(megatron, 4) == (8.0 + 24.0 / 4) * 1024 * 2048);
  CHECK(held(profile_like("like = \"megatron\"\nsequence_parallel = true\n"), 4) ==
        held(megatron, 1) / 4);
  // nanotron keeps the inputs of both products by columns as it gathered them.
  const Profile gathered = profile_like("like = \"nanotron\"\nsequence_parallel = true\n");
  // nanotron also copies what attention gives, whose rows lie by sample.
  CHECK(held(gathered, 4) == (4.0 + 30.0 / 4) * 1024 * 2048);
  CHECK(write_profile(parse_profile(write_profile(stored), "p")) == write_profile(stored));
}

TEST_CASE("the loss holds what a runtime holds of each logit, which members divide", "[analytic]") {
  const auto held = [](const std::string& runtime, int degree) {
    const Profile profile = profile_like("like = \"" + runtime + "\"\n");
    return profile.bytes(profile.num_layers() - 1, "A100-SXM-80GB", degree, 1.0)->workspace *
           degree;
  };
  const double logits = 2048.0 * ModelConfig().vocabulary_size;
  CHECK(held("fsdp", 1) == Approx(8.0 * logits));
  const double padded = 2048.0 * 512;  // to a multiple of 128 times the degree
  CHECK(held("megatron", 4) == Approx(10.0 * padded));
  CHECK(held("torchtitan", 1) == Approx(14.0 * logits));
  CHECK(held("torchtitan", 4) == Approx(16.0 * logits));
}

TEST_CASE("gradients that a kernel of its own adds up are read and written once more",
          "[analytic]") {
  Roofline roofline = round_gpu();
  roofline.bytes_per_second = 1e12;
  Work work;
  work.backward_weight = {product(2560, 1280, 1024)};
  work.backward_weight.front().weight_bytes = 2.0 * 2.0 * 1280 * 1024;
  const double fused = roofline_seconds(work, roofline, 1, 1.0).backward_weight;
  roofline.gpu->adds_gradients = true;
  const double more = roofline_seconds(work, roofline, 1, 1.0).backward_weight - fused;
  CHECK(more == Approx(3e-6 + 6.0 * 1280 * 1024 / 1e12));
}

TEST_CASE("a loss of many kernels moves more", "[analytic]") {
  Roofline roofline = round_gpu();
  roofline.bytes_per_second = 1e12;
  Kernel loss;
  loss.bytes = 1e9;
  loss.is_loss = true;
  roofline.gpu->loss = 3.0;
  CHECK(seconds_of(loss, roofline) == Approx(3e-3));
}

TEST_CASE("every runtime that a configuration may name is known", "[analytic]") {
  for (const std::string& name : runtime_names()) {
    CAPTURE(name);
    const Profile profile = profile_like("like = \"" + name + "\"\n");
    CHECK(profile.communication.is_own() == (name == "pptrain"));
    CHECK(profile.seconds(1, "A100-SXM-80GB", 1, 4.0)->total() > 0.0);
  }
}

TEST_CASE("times that contradict their FLOP by more than ten are doubted", "[analytic]") {
  const Cluster cluster = parse_cluster(
      "[[device]]\nkind = \"d\"\nmemory = \"80 GB\"\nflops = { fp32 = \"10 TFLOP/s\" "
      "}\nmemory_bandwidth = \"1 TB/s\"\n"
      "[[node]]\nkind = \"n\"\ndevices = { kind = \"d\", count = 1 }\n",
      "c.toml");
  const Config config =
      parse_config("[cluster]\nfile = \"c.toml\"\n[profile]\nanalytic = true\n", "job.toml", "");
  const auto doubts_at = [&](double times) {
    Profile profile = analytic_profile(config, cluster);
    for (ProfileLayer& layer : profile.layers) {
      for (ProfileRow& row : layer.rows) row.seconds.forward = times * row.seconds.total();
    }
    return doubtful_times(profile, config, cluster);
  };
  CHECK(doubts_at(1.0).empty());
  CHECK(doubts_at(5.0).empty());
  REQUIRE(doubts_at(30.0).size() == 1);
  CHECK(doubts_at(30.0).front().starts_with("the profile has layers on d take 3"));
  Profile other = analytic_profile(config, cluster);
  other.model = "other";
  other.layers.front().rows.front().seconds.forward = 1e6;
  CHECK(doubtful_times(other, config, cluster).empty());
}

TEST_CASE("a profile of another runtime on known GPUs has a band", "[analytic]") {
  CHECK(profile_like("like = \"megatron\"\n").error_band->relative > 0.0);
  CHECK_FALSE(profile_like("").error_band);  // nobody has measured pptrain there
}

}  // namespace
}  // namespace pptrain
