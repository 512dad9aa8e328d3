// The profiles of inputs/profiles, and those from published figures against the papers' tables.
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

#include "profile/profile.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

const std::string folder = source_file("inputs/profiles/");

Profile published(const std::string& model) { return read_profile(folder + model + ".json"); }

double sum(const Profile& profile, double ProfileLayer::*figure) {
  return std::accumulate(
      profile.layers.begin(), profile.layers.end(), 0.0,
      [figure](double total, const ProfileLayer& layer) { return total + layer.*figure; });
}

const ProfileLayer& layer(const Profile& profile, const std::string& name) {
  const auto found =
      std::find_if(profile.layers.begin(), profile.layers.end(),
                   [&name](const ProfileLayer& candidate) { return candidate.name == name; });
  REQUIRE(found != profile.layers.end());
  return *found;
}

std::set<std::string> kinds_of(const Profile& profile) {
  std::set<std::string> kinds;
  for (const ProfileLayer& each : profile.layers) {
    for (const ProfileRow& row : each.rows) kinds.insert(row.device);
  }
  return kinds;
}

TEST_CASE("every profile of inputs can be planned on each of its device kinds",
          "[profile][inputs]") {
  int num_profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().string());
    const Profile profile = read_profile(entry.path().string());
    CHECK_FALSE(profile.source.empty());
    CHECK_FALSE(kinds_of(profile).empty());
    for (const std::string& kind : kinds_of(profile)) {
      CAPTURE(kind);
      CHECK(profile.has_degree(kind, 1));
      CHECK(std::none_of(kind.begin(), kind.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
    }
    CHECK(profile.layers.back().output_bytes == 0.0);
    const std::string text = write_profile(profile);
    CHECK(write_profile(parse_profile(text, "written")) == text);
    ++num_profiles;
  }
  CHECK(num_profiles >= 18);
}

TEST_CASE("published profiles carry their file's name as model", "[profile][inputs]") {
  for (const char* model :
       {"bert-48", "bert-24", "bert-32", "xlnet-36", "xlnet-24", "amoeba-36", "amoeba-18", "gnmt-8",
        "gnmt-16", "gnmt-32", "vgg-19", "vgg16", "resnet50", "resnet101", "opt-350m",
        "gpt-neo-2.7b", "opt-30b", "llama-3-8b"}) {
    CAPTURE(model);
    CHECK(published(model).model == model);
    CHECK(published(model).source.find("https://github.com/") != std::string::npos);
  }
}

TEST_CASE("DAPPLE's models have the parameters of its table II", "[profile][inputs]") {
  const auto millions = [](const std::string& model) {
    return sum(published(model), &ProfileLayer::parameters) / 1e6;
  };
  CHECK(millions("gnmt-16") == Approx(291).epsilon(0.005));
  CHECK(millions("bert-48") == Approx(640).epsilon(0.005));
  CHECK(millions("xlnet-36") == Approx(500).epsilon(0.005));
  CHECK(millions("vgg-19") == Approx(137).epsilon(0.005));
  CHECK(millions("amoeba-36") == Approx(933).epsilon(0.005));
}

TEST_CASE("the activations at a partition boundary are those of DAPPLE's table I",
          "[profile][inputs]") {
  // Activations and their gradients, for the batch of the profile.
  CHECK(2.0 * 32.0 * layer(published("vgg-19"), "MaxPool2d_5").output_bytes == Approx(6e6));
  CHECK(2.0 * layer(published("amoeba-36"), "cell_24").output_bytes ==
        Approx(11.2e6).epsilon(0.005));
}

/// Bytes of a whole model on one device with the activations of `samples`.
double memory(const Profile& profile, double samples) {
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  return sum(profile, &ProfileLayer::parameters) *
             (bytes.weight + bytes.gradient + bytes.optimizer) +
         samples * sum(profile, &ProfileLayer::stored_bytes);
}

TEST_CASE("whole models need the memory that DAPPLE measured", "[profile][inputs]") {
  CHECK(memory(published("xlnet-36"), 1) == Approx(12e9));   // table II
  CHECK(memory(published("amoeba-36"), 1) == Approx(20e9));  // does not fit a V100 of 16 GB
  CHECK(memory(published("vgg-19"), 32) == Approx(5.6e9));
  // Table VI, two stages of equal halves, micro-batches of 2: GPipe holds both of two; 1F1B holds 2
  // and 1.
  CHECK(memory(published("bert-48"), 4) == Approx(2 * 12.1e9));
  CHECK(memory(published("bert-48"), 3) / 2 == Approx(10.6e9).epsilon(0.05));
}

TEST_CASE("times and bytes of BERT-48 are those of the file, per sample", "[profile][inputs]") {
  const Profile bert = published("bert-48");
  CHECK(bert.num_layers() == 52);  // 48 and inputs, mask, embedding, pooler
  const ProfileLayer& block = layer(bert, "layer_0");
  CHECK(block.parameters == 50384896.0 / 4.0);
  CHECK(block.output_bytes == (4325376.0 + 3538944.0) / 2.0);  // its output and the attention mask
  const LayerSeconds seconds = bert.seconds(bert.num_layers() - 2, "v100", 1, 2.0).value();
  CHECK(seconds.forward == 0.00269);
  CHECK(seconds.total() == Approx(0.00716));
  CHECK_FALSE(block.rows[0].split_known);
}

TEST_CASE("measured rows have several degrees and micro-batches", "[profile][inputs]") {
  const Profile opt = published("opt-350m");
  CHECK(kinds_of(opt).size() == 7);
  CHECK(opt.seconds(1, "v100", 4, 1.0)->forward == 0.003133);
  CHECK(opt.seconds(2, "v100", 1, 1.0)->total() == Approx(0.007321 + 0.017195));
  CHECK(published("bert-32").has_degree("a800", 8));
}

}  // namespace
}  // namespace pptrain
