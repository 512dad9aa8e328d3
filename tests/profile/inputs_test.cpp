#include <filesystem>
#include <map>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "model/zoo.hpp"
#include "profile/analytic.hpp"
#include "profile/json.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const fs::path inputs = source_file("inputs");

/// The computed profile of each job: `pptrain profile inputs/papers/JOB.toml --analytic -o inputs/profiles/FILE.json`.
const std::map<std::string, std::string> computed = {
    {"amp-gpt2-24-analytic", "amp-gpt2-heterogeneous"},
    {"amp-transgan-analytic", "amp-transgan"},
    {"bert-large-analytic", "whale-bert-large"},
    {"gpt-1.5b-analytic", "zeropp-gpt-1.5b"},
    {"gpt-14.6b-analytic", "zeropp-gpt-14.6b"},
    {"gpt-39b-analytic", "alpa-gpt-39b"},
    {"gpt-6.2b-analytic", "zeropp-gpt-6.2b"},
    {"gpt-moe-70b-analytic", "alpa-gpt-moe-70b"},
    {"m6-10b-analytic", "whale-m6-10b"},
    {"resnet-50-analytic", "whale-resnet-50"},
    {"resnet-50-100k-analytic", "whale-resnet-50-100k"},
    {"resnet-50-1m-analytic", "whale-resnet-50-1m"},
    {"t5-large-analytic", "whale-t5-large-pipeline"},
    {"wide-resnet-13b-analytic", "alpa-wide-resnet-13b"},
    {"wide-resnet-4b-analytic", "alpa-wide-resnet-4b"},
};

TEST_CASE("the computed profiles that come with pptrain are what it computes", "[inputs]") {
  for (const auto& [file, job] : computed) {
    CAPTURE(file, job);
    const Config config = read_config((inputs / "papers" / (job + ".toml")).string());
    const Profile profile = analytic_profile(config, read_cluster(config.cluster.file));
    CHECK((write_profile(profile) == read_text_file((inputs / "profiles" / (file + ".json")).string())));
  }
  for (const auto& entry : fs::directory_iterator(inputs / "profiles")) {
    const std::string stem = entry.path().stem().string();
    if (stem.ends_with("-analytic")) CHECK(computed.count(stem) == 1);
  }
}

TEST_CASE("the layer times that AMP published are on the zoo's layers", "[inputs]") {
  for (const std::string name : {"amp-gpt2-24", "amp-transgan"}) {
    const Profile profile = read_profile((inputs / "profiles" / (name + ".json")).string());
    const ModelDescription model = zoo_model(name, Precision::fp16);
    CAPTURE(name);
    CHECK(profile.model == name);
    CHECK(profile.has_degree("v100", 4));
    REQUIRE(profile.num_layers() == model.num_layers());
    for (int l = 0; l < model.num_layers(); ++l) {
      CHECK(profile.layers[l].name == model.layers[l].name);
      CHECK(profile.layers[l].parameters == model.layers[l].parameters);
      CHECK(profile.layers[l].output_bytes == model.layers[l].output_bytes);
      CHECK(profile.layers[l].stored_bytes == model.layers[l].stored_bytes);
      // The times at degrees 2 and 4 contain the all-reduces.
      CHECK(profile.layers[l].tensor_parallel_allreduce_bytes == 0.0);
    }
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
      Profile profile =
          config.profile.file.empty() ? analytic_profile(config, cluster) : read_profile(config.profile.file);
      if (config.profile.analytic) fill_missing_kinds(profile, cluster, config.training.precision, "c");
      for (const DeviceKind* kind : used_kinds(cluster)) CHECK(profile.has_degree(kind->name, 1));
      ++jobs;
    }
  }
  CHECK(jobs >= 20);
}

}  // namespace
}  // namespace pptrain
