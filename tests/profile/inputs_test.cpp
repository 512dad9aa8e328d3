#include <filesystem>
#include <map>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "profile/analytic.hpp"
#include "profile/json.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const fs::path inputs = source_file("inputs");

/// The computed profile of each job: `pptrain profile inputs/JOB.toml --analytic -o
/// inputs/profiles/FILE.json`.
const std::map<std::string, std::string> computed = {
    {"amp-gpt2-24-analytic", "amp-heterogeneous-cluster"},
    {"amp-transgan-analytic", "amp-heterogeneous-model"},
    {"bert-large-analytic", "papers/whale-bert-large"},
    {"gpt-1.5b-analytic", "papers/zeropp-gpt-1.5b"},
    {"gpt-14.6b-analytic", "papers/zeropp-gpt-14.6b"},
    {"gpt-39b-analytic", "papers/alpa-gpt-39b"},
    {"gpt-6.2b-analytic", "papers/zeropp-gpt-6.2b"},
    {"gpt-moe-70b-analytic", "papers/alpa-gpt-moe-70b"},
    {"m6-10b-analytic", "papers/whale-m6-10b"},
    {"resnet-50-analytic", "papers/whale-resnet-50"},
    {"resnet-50-100k-analytic", "papers/whale-resnet-50-100k"},
    {"resnet-50-1m-analytic", "papers/whale-resnet-50-1m"},
    {"t5-large-analytic", "papers/whale-t5-large-pipeline"},
    {"wide-resnet-13b-analytic", "papers/alpa-wide-resnet-13b"},
    {"wide-resnet-4b-analytic", "papers/alpa-wide-resnet-4b"},
};

TEST_CASE("the computed profiles that come with pptrain are what it computes", "[inputs]") {
  for (const auto& [file, job] : computed) {
    CAPTURE(file, job);
    const Config config = read_config((inputs / (job + ".toml")).string());
    const Profile profile = analytic_profile(config, read_cluster(config.cluster.file));
    CHECK((write_profile(profile) ==
           read_text_file((inputs / "profiles" / (file + ".json")).string())));
  }
  for (const auto& entry : fs::directory_iterator(inputs / "profiles")) {
    const std::string stem = entry.path().stem().string();
    if (stem.ends_with("-analytic")) CHECK(computed.count(stem) == 1);
  }
}

TEST_CASE("the layer times that AMP published are those of its lists", "[inputs]") {
  const Profile gpt2 = read_profile((inputs / "profiles" / "amp-gpt2-24.json").string());
  REQUIRE(gpt2.num_layers() == 30);
  for (int i = 1; i <= 30; ++i)
    CHECK((gpt2.layers[i - 1].name.substr(0, 6) == "block.") == (i >= 3 && i <= 26));
  const Profile transgan = read_profile((inputs / "profiles" / "amp-transgan.json").string());
  REQUIRE(transgan.num_layers() == 56);
  for (int i = 1; i <= 56; ++i) {
    const bool transformer = (i >= 4 && i <= 15) || (i >= 42 && i <= 53);
    CHECK((transgan.layers[i - 1].name.substr(0, 6) == "stage.") == transformer);
  }
  // Bottom width 9: 81 tokens of 1024 first, 288 x 288 of 16 last, in 16 bits.
  CHECK(transgan.layers[3].output_bytes == 2.0 * 81 * 1024);
  CHECK(transgan.layers[41].output_bytes == 2.0 * 288 * 288 * 16);
  for (const Profile* profile : {&gpt2, &transgan}) {
    CHECK(profile->has_degree("v100", 4));
    // The times at degrees 2 and 4 contain the all-reduces.
    for (const ProfileLayer& layer : profile->layers)
      CHECK(layer.tensor_parallel_allreduce_bytes == 0.0);
  }
}

TEST_CASE("every planning job has a profile of each kind of device of its cluster", "[inputs]") {
  int jobs = 0;
  for (const fs::path& folder : {inputs, inputs / "papers"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".toml") continue;
      CAPTURE(entry.path().string());
      const Config config = read_config(entry.path().string());
      if (!config.profile.analytic && config.profile.file.empty()) continue;
      const Cluster cluster = read_cluster(config.cluster.file);
      Profile profile = config.profile.file.empty() ? analytic_profile(config, cluster)
                                                    : read_profile(config.profile.file);
      if (config.profile.analytic)
        fill_missing_kinds(profile, cluster, config.training.precision, "c");
      for (const DeviceKind* kind : used_kinds(cluster)) CHECK(profile.has_degree(kind->name, 1));
      ++jobs;
    }
  }
  CHECK(jobs >= 20);
}

}  // namespace
}  // namespace pptrain
