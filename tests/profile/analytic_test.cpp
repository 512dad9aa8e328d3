#include "profile/analytic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cluster/read.hpp"
#include "config/published_models.hpp"
#include "config/read.hpp"
#include "model/build/check.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

DeviceKind device(const std::string& name, double tflops_fp32, double tflops_fp16, double gbytes) {
  return {name, 16e9, {{"fp32", tflops_fp32 * 1e12}, {"fp16", tflops_fp16 * 1e12}}, gbytes * 1e9};
}

Cluster cluster_of(std::vector<DeviceKind> kinds, std::vector<std::string> used) {
  Cluster cluster;
  cluster.name = "test";
  cluster.device_kinds = std::move(kinds);
  for (const std::string& kind : used) {
    NodeGroup group;
    group.kind = "node of " + kind;
    group.device_kind = kind;
    group.num_devices = 4;
    group.link.bandwidth = group.uplink.bandwidth = 1e9;
    cluster.groups.push_back(group);
  }
  cluster.finish("test");
  return cluster;
}

const DeviceKind v100 = device("v100", 15.7, 125, 900);
const DeviceKind p100 = device("p100", 9.3, 18.7, 732);

TEST_CASE("a kernel takes the longer of its FLOP and its bytes, and its launches", "[analytic]") {
  Work layer;
  layer.forward = {{6e9, 1e6, 2e6, 4e6, 3, Share::divided}};
  layer.backward_input = {{6e9, 0.0, 0.0, 0.0, 1, Share::whole},
                          {0.0, 5e6, 0.0, 8e6, 1, Share::whole}};
  const Roofline roofline = {1e12, 1e9};
  // Two samples on one device: 12e9 FLOP take 12 ms, 2 x (1e6 + 2e6) + 4e6 bytes 10 ms.
  const LayerSeconds one = roofline_seconds(layer, roofline, 1, 2.0);
  CHECK(one.forward == Approx(12e-3 + 3 * 20e-6));
  CHECK(one.backward_input == Approx(12e-3 + 20e-6 + 18e-3 + 20e-6));
  CHECK(one.backward_weight == 0.0);
  // On one of four: 3e9 FLOP take 3 ms, 2 x (1e6 + 5e5) + 1e6 bytes 4 ms; what is whole stays.
  const LayerSeconds four = roofline_seconds(layer, roofline, 4, 2.0);
  CHECK(four.forward == Approx(4e-3 + 3 * 20e-6));
  CHECK(four.backward_input == one.backward_input);
}

TEST_CASE("device rates come from the cluster file, and what it lacks is named", "[analytic]") {
  CHECK(roofline_of(v100, Precision::fp32, "c").flop_per_second == Approx(0.9 * 15.7e12));
  CHECK(roofline_of(v100, Precision::fp16, "c").flop_per_second == Approx(0.65 * 125e12));
  CHECK(roofline_of(v100, Precision::fp16, "c").bytes_per_second == Approx(0.8 * 900e9));
  CHECK(complaint_of([&] { roofline_of(v100, Precision::bf16, "c.toml"); }) ==
        "c.toml: device kind \"v100\" has no FLOP rate for bf16 (it has those for fp16, fp32); add "
        "flops = "
        "{ bf16 = \"... TFLOP/s\" }, or choose another precision");
  DeviceKind blind = v100;
  blind.memory_bandwidth = 0.0;
  CHECK(complaint_of([&] {
          roofline_of(blind, Precision::fp32, "c.toml");
        }).starts_with("c.toml: device kind \"v100\" has no memory_bandwidth"));
}

/// Dimensions of a transformer layer, whose feed-forward part has four times the columns.
struct BlockSizes {
  std::int64_t tokens, hidden, heads;
};

/// A layer that was measured, forward and backward, for `samples` samples.
struct Measured {
  BlockSizes block;
  double samples;
  double forward_ms;
  double backward_ms;
  double tflops;
  double gbytes;
  Precision units;  ///< fp32: FP32 units; otherwise the tensor cores. The numbers are fp32 in all
                    ///< of them.
};

/// Attention as the frameworks of the measured layers had it: two products over all scores, whether
/// a mask hides them or not, and kernels that scale, mask, normalise and drop them one by one. How
/// often these read or write a score was fitted together with the efficiencies of
/// src/profile/analytic.cpp.
struct PlainAttention {
  static constexpr double forward_score_passes = 4.0, backward_score_passes = 16.0;
  Kernel products, others;

  PlainAttention(const BlockSizes& b, bool backward) {
    const auto tokens = static_cast<double>(b.tokens), hidden = static_cast<double>(b.hidden);
    const double scores = static_cast<double>(b.heads) * tokens * tokens,
                 factor = backward ? 2.0 : 1.0;
    products.share = others.share = Share::divided;
    products.flop = factor * 4.0 * hidden * tokens * tokens;
    products.shard_bytes = factor * 4.0 * (4.0 * tokens * hidden + 2.0 * scores);
    products.launches = backward ? 4 : 2;
    others.shard_bytes = 4.0 * (backward ? backward_score_passes : forward_score_passes) * scores;
    others.launches = backward ? 4 : 3;
  }

  /// Takes the place of the attention of a pass: the only kernel with FLOP and without weights.
  void replace(std::vector<Kernel>& pass) const {
    const auto fused = std::find_if(pass.begin(), pass.end(), [](const Kernel& kernel) {
      return kernel.flop > 0.0 && kernel.weight_bytes == 0.0;
    });
    REQUIRE(fused != pass.end());
    *fused = products;
    pass.push_back(others);
  }
};

/// A block of GPT-2 with these dimensions, in fp32.
Work work_of(const BlockSizes& b) {
  ModelConfig config;
  config.layers = 1;
  config.hidden_size = b.hidden;
  config.heads = b.heads;
  TrainingConfig training;
  training.sequence_length = b.tokens;
  Work work = build_model(config, training, "").layers[1].work;
  PlainAttention(b, false).replace(work.forward);
  PlainAttention(b, true).replace(work.backward_input);
  return work;
}

double log_error(const Measured& m, bool forward) {
  const DeviceKind kind = {"d", 0.0, {{to_string(m.units), m.tflops * 1e12}}, m.gbytes * 1e9};
  const LayerSeconds s =
      roofline_seconds(work_of(m.block), roofline_of(kind, m.units, ""), 1, m.samples);
  return forward ? std::log(1e3 * s.forward / m.forward_ms)
                 : std::log(1e3 * (s.backward_input + s.backward_weight) / m.backward_ms);
}

double rms(const std::vector<Measured>& all) {
  double sum = 0.0;
  for (const Measured& m : all)
    sum += std::pow(log_error(m, true), 2) + std::pow(log_error(m, false), 2);
  return std::sqrt(sum / (2.0 * static_cast<double>(all.size())));
}

// Inner layers, medians: DAPPLE's bert-48-pbs-2 profile (AlibabaPAI/DAPPLE fd75dcf), and Sailor's
// of OPT-350M, GPT-Neo-2.7B and OPT-30B at tensor parallelism 1 (eth-easl/sailor cf2c8e3).
const BlockSizes bert = {384, 1024, 16};
const BlockSizes opt_350m = {2048, 1024, 16};
const BlockSizes gpt_neo = {2048, 2560, 20};
const BlockSizes opt_30b = {2048, 7168, 56};

const std::vector<Measured> on_v100 = {
    {bert, 2, 2.69, 4.47, 15.7, 900, Precision::fp32},
    {opt_350m, 1, 7.321, 17.195, 15.7, 900, Precision::fp32},
    {opt_350m, 2, 14.086, 33.946, 15.7, 900, Precision::fp32},
    {opt_350m, 4, 28.839, 71.714, 15.7, 900, Precision::fp32},
    {gpt_neo, 1, 27.493, 59.348, 15.7, 900, Precision::fp32},
    {gpt_neo, 2, 56.482, 121.392, 15.7, 900, Precision::fp32},
    {gpt_neo, 4, 116.512, 240.177, 15.7, 900, Precision::fp32},
};
const std::vector<Measured> on_a100_fp32 = {
    {opt_30b, 1, 145.1, 296.1, 19.5, 1555, Precision::fp32},
    {opt_30b, 2, 291.1, 589.6, 19.5, 1555, Precision::fp32},
};
const std::vector<Measured> on_a100_tf32 = {
    {opt_350m, 1, 2.314, 5.909, 156, 1555, Precision::fp16},
    {opt_350m, 8, 16.207, 44.958, 156, 1555, Precision::fp16},
    {gpt_neo, 1, 4.861, 11.729, 156, 1555, Precision::fp16},
    {gpt_neo, 8, 39.290, 93.055, 156, 1555, Precision::fp16},
    {opt_350m, 32, 54.9, 162.1, 156, 2039, Precision::fp16},
    {gpt_neo, 32, 159.0, 371.1, 156, 2039, Precision::fp16},
};

TEST_CASE("the roofline is as near to measured layers as the documentation says", "[analytic]") {
  CHECK(rms(on_v100) < 0.09);
  CHECK(rms(on_a100_fp32) < 0.07);
  CHECK(rms(on_a100_tf32) < 0.10);
}

Config published_config(const std::string& name, const std::string& precision,
                        const std::string& more = "") {
  return parse_config("[model]\nname = \"" + name + "\"\n[training]\nprecision = \"" + precision +
                          "\"\nglobal_batch_size = 48\n" + more,
                      "c.toml", "");
}

Model model_called(const std::string& name, const std::string& precision) {
  return build_model_of(published_config(name, precision));
}

TEST_CASE("the roofline meets throughput that it was not fitted to", "[analytic]") {
  // ZeroPP, table 3, best of each model on A800: samples per GPU and second of near zero bubble.
  const DeviceKind a800 = {"a800", 80e9, {{"bf16", 312e12}}, 2039e9};
  const Roofline roofline = roofline_of(a800, Precision::bf16, "");
  for (const auto& [name, published] :
       {std::pair{"gpt-1.5b", 13.19}, {"gpt-6.2b", 4.13}, {"gpt-14.6b", 1.67}}) {
    double seconds = 0.0;
    for (const Layer& layer : model_called(name, "bf16").layers) {
      seconds += roofline_seconds(layer.work, roofline, 1, 1.0).total();
    }
    CAPTURE(name, 1.0 / seconds);
    CHECK(std::abs(std::log(1.0 / seconds / published)) < 0.2);
  }
}

TEST_CASE("few rows give the time of every number of samples", "[analytic]") {
  const Cluster cluster = cluster_of({v100, p100}, {"v100", "p100"});
  for (const PublishedModel& entry : published_models()) {
    const Config config = published_config(entry.name, "fp16");
    const Model model = build_model_of(config);
    const Profile profile = analytic_profile(config, cluster);
    CAPTURE(entry.name);
    std::size_t rows = 0;
    double worst = 0.0;
    for (int l = 0; l < profile.num_layers(); ++l) {
      rows += profile.layers[l].rows.size();
      for (const DeviceKind& kind : {v100, p100}) {
        const Roofline roofline = roofline_of(kind, Precision::fp16, "c");
        for (const int n : {1, 2}) {
          for (const double samples : {1.0, 2.0, 3.0, 8.0, 11.0, 32.0, 48.0}) {
            if (!profile.has_degree(kind.name, n)) continue;
            const LayerSeconds exact = roofline_seconds(
                model.layers[static_cast<std::size_t>(l)].work, roofline, n, samples);
            const LayerSeconds read = *profile.seconds(l, kind.name, n, samples);
            if (exact.total() > 0.0)
              worst = std::max(worst, std::abs(read.total() - exact.total()) / exact.total());
          }
        }
      }
    }
    CHECK(worst < 0.015);
    CHECK(rows <= 4 * 2 * 6 * model.layers.size());
    CHECK(write_profile(parse_profile(write_profile(profile), "p")) == write_profile(profile));
  }
}

TEST_CASE("the analytic profile of a trainable model has its layers, degrees and bytes",
          "[analytic]") {
  const Config config = parse_config(
      "[model]\nlayers = 2\nhidden_size = 64\nheads = 4\n[training]\nglobal_batch_size = 8\n",
      "c.toml", "");
  const Profile profile = analytic_profile(config, cluster_of({v100, p100}, {"p100"}));
  REQUIRE(profile.num_layers() == 4);
  CHECK(profile.layers[1].name == "block.0");
  CHECK(profile.has_degree("p100", 4));
  CHECK_FALSE(profile.has_degree("p100", 8));  // 4 heads
  CHECK_FALSE(profile.has_degree("v100", 1));  // no node has one
  CHECK(profile.bytes_per_parameter.optimizer == 8.0);
  // A block reads weight, gradient, m and v and writes three of them, and reads the gradient for
  // its norm.
  const double bandwidth = roofline_of(p100, Precision::fp32, "c").bytes_per_second;
  CHECK(profile.update_seconds(1, "p100", 1) ==
        Approx(32.0 * profile.layers[1].parameters / bandwidth).epsilon(1e-3));
  CHECK(profile.update_seconds(1, "p100", 4) < 0.3 * profile.update_seconds(1, "p100", 1));
  const Config fixed =
      parse_config("[model]\nheads = 4\n[parallelism]\ntensor = 2\n", "c.toml", "");
  const Profile restricted = analytic_profile(fixed, cluster_of({v100}, {"v100"}));
  CHECK(restricted.has_degree("v100", 2));
  CHECK_FALSE(restricted.has_degree("v100", 4));
}

TEST_CASE("selective recomputation makes attention again, whose part of F grows with the samples",
          "[analytic]") {
  const auto parts = [](int tokens) {
    const Config config =
        parse_config(fmt::format("[model]\nlayers = 1\nhidden_size = 256\nheads = 4\n[training]\n"
                                 "global_batch_size = 8\nsequence_length = {}\n",
                                 tokens),
                     "c.toml", "");
    std::vector<double> all;
    for (const ProfileLayer& layer : analytic_profile(config, cluster_of({v100}, {"v100"})).layers)
      all.push_back(layer.selective_part);
    return all;
  };
  const std::vector<double> brief = parts(128), lengthy = parts(4096);
  REQUIRE(brief.size() == 3);
  CHECK(brief.front() == 0.0);
  CHECK(brief.back() == 0.0);
  CHECK(brief[1] > 0.0);
  CHECK(lengthy[1] > 2.0 * brief[1]);
  CHECK(lengthy[1] < 1.0);
}

TEST_CASE("bytes per parameter are those of the optimizer and the precision", "[analytic]") {
  const auto bytes = [](const std::string& keys) {
    const BytesPerParameter b =
        bytes_per_parameter(parse_config("[profile]\nanalytic = true\n" + keys, "c", ""));
    return std::vector<double>{b.weight, b.gradient, b.optimizer};
  };
  CHECK(bytes("") == std::vector<double>{4, 4, 8});
  CHECK(bytes("[training]\nprecision = \"bf16\"\n") == std::vector<double>{6, 4, 8});
  const std::string bert_large = "[model]\nname = \"bert-large\"\n";
  CHECK(bytes(bert_large) == std::vector<double>{4, 4, 8});
  CHECK(bytes(bert_large + "[training]\nprecision = \"fp16\"\n") == std::vector<double>{6, 4, 8});
  CHECK(bytes(bert_large + "[optimizer]\nname = \"sgd\"\n") == std::vector<double>{4, 4, 0});
  CHECK(bytes(bert_large + "[optimizer]\nname = \"sgd\"\nmomentum = 0.9\n") ==
        std::vector<double>{4, 4, 4});
  CHECK(bytes("[optimizer]\nname = \"lion\"\n") == std::vector<double>{4, 4, 4});
  CHECK(bytes("[optimizer]\nname = \"muon\"\n") == std::vector<double>{4, 4, 8});  // of the
                                                                                   // embedding
  CHECK(bytes("[optimizer]\nname = \"adafactor\"\n")[2] < 0.2);
}

Profile measured(const std::string& model, const std::vector<std::string>& layers) {
  Profile profile;
  profile.model = model;
  for (const std::string& name : layers) {
    profile.layers.push_back(
        {name, 10.0, 1.0, 1.0, 0.0, {{"v100", 1, 4.0, {0.3, 0.2, 0.1}, true}}, {}});
  }
  return profile;
}

TEST_CASE("a missing kind gets the rows of a known one times the ratio of peak rates",
          "[analytic]") {
  Profile profile = measured("something", {"a", "b"});
  const Cluster cluster = cluster_of({v100, p100}, {"p100"});
  const std::vector<std::string> notes =
      fill_missing_kinds(profile, cluster, Precision::fp32, "c.toml");
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "p100: the seconds of v100 times 1.69, the ratio of their peak FLOP rates");
  const LayerSeconds s = *profile.seconds(1, "p100", 1, 4.0);
  CHECK(s.forward == Approx(0.3 * 15.7 / 9.3));
  CHECK(s.backward_weight == Approx(0.1 * 15.7 / 9.3));
  CHECK(profile.seconds(1, "v100", 1, 4.0)->forward == 0.3);
  CHECK(fill_missing_kinds(profile, cluster, Precision::fp32, "c.toml").empty());
}

TEST_CASE("a missing kind of a published model gets the ratio of roofline times", "[analytic]") {
  const Model model = model_called("bert-large", "fp32");
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) names.push_back(layer.name);
  Profile profile = measured("bert-large", names);
  const auto notes =
      fill_missing_kinds(profile, cluster_of({v100, p100}, {"v100", "p100"}), Precision::fp32, "c");
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "p100: the seconds of v100 times the ratio of their roofline times, layer by layer");
  const Work& layer = model.layers[5].work;
  const double ratio =
      roofline_seconds(layer, roofline_of(p100, Precision::fp32, ""), 1, 4.0).forward /
      roofline_seconds(layer, roofline_of(v100, Precision::fp32, ""), 1, 4.0).forward;
  CHECK(profile.seconds(5, "p100", 1, 4.0)->forward == Approx(0.3 * ratio));
  CHECK(ratio < 15.7 / 9.3);  // part of it is bound by memory
}

TEST_CASE("a profile of unknown kinds cannot be filled", "[analytic]") {
  Profile profile = measured("something", {"a"});
  CHECK(complaint_of([&] {
          fill_missing_kinds(profile, cluster_of({p100}, {"p100"}), Precision::fp32, "c.toml");
        }).starts_with("c.toml: no device kind of the cluster is in the profile"));
}

/// A computed profile of a small model with so many tokens on four V100, as the runtime executes
/// it.
Profile profile_with(int vocabulary, const std::string& runtime) {
  const Config config = parse_config(
      fmt::format("[model]\nvocabulary_size = {}\n[[model.layer]]\nkind = \"embedding\"\n"
                  "columns = 64\n[[model.layer]]\nheads = 4\n[[model.layer]]\nkind = \"output\"\n"
                  "[training]\nsequence_length = 64\nglobal_batch_size = 8\n"
                  "precision = \"fp16\"\n[cluster]\nfile = \"c.toml\"\n"
                  "[profile]\nanalytic = true\nlike = \"{}\"\n",
                  vocabulary, runtime),
      "job.toml", "");
  return analytic_profile(config, cluster_of({v100}, {"v100"}));
}

TEST_CASE("Megatron-LM computes with a vocabulary that is a multiple of 128 times the degree",
          "[analytic]") {
  const auto rows_of = [](const Profile& profile, std::size_t layer, int degree) {
    std::vector<std::pair<double, double>> rows;  // seconds and bytes
    for (const ProfileRow& row : profile.layers[layer].rows) {
      if (row.tensor_parallel == degree)
        rows.emplace_back(row.seconds.total(), row.bytes->workspace);
    }
    return rows;
  };
  const auto check = [&](const std::string& runtime, int vocabulary, int degree, int padded) {
    CAPTURE(runtime, vocabulary, degree);
    const Profile made = profile_with(vocabulary, runtime), as = profile_with(padded, runtime);
    CHECK_FALSE(rows_of(made, 2, degree).empty());
    for (const std::size_t layer : {0, 1, 2})
      CHECK(rows_of(made, layer, degree) == rows_of(as, layer, degree));
    // The parameters are those of the model.
    CHECK(as.layers.back().parameters - made.layers.back().parameters ==
          64.0 * (padded - vocabulary));
  };
  for (const char* runtime : {"megatron", "megatron-deepspeed"}) {
    check(runtime, 1000, 1, 1024);
    check(runtime, 1000, 4, 1024);
    check(runtime, 1025, 1, 1152);
    check(runtime, 1025, 2, 1280);
    check(runtime, 1025, 4, 1536);
  }
  const Profile own = profile_with(1000, "pptrain"), wide = profile_with(1024, "pptrain");
  CHECK(own.layers.back().rows.front().bytes->workspace <
        wide.layers.back().rows.front().bytes->workspace);
}

}  // namespace
}  // namespace pptrain
