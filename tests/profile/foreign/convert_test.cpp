#include "profile/foreign/convert.hpp"

#include "profile/foreign/planner_files.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

using namespace test;

TEST_CASE("times of Metis are a third forward, in seconds", "[foreign]") {
  const Folder folder;
  write_metis(folder);
  const Profile profile = metis_profile(folder);
  REQUIRE(profile.num_layers() == 4);
  CHECK(profile.layers[0].name == "embedding");
  CHECK(profile.layers[2].name == "block.1");
  CHECK(profile.seconds(1, "fast", 1, 1)->forward == Approx(0.010));
  CHECK(profile.seconds(1, "fast", 1, 1)->total() == Approx(0.030));
  CHECK(profile.seconds(2, "fast", 1, 4)->forward == Approx(0.060));
  CHECK(profile.seconds(2, "fast", 2, 4)->total() == Approx(0.096));
  CHECK(profile.seconds(3, "slow", 1, 1)->total() == Approx(0.006));
  CHECK_FALSE(profile.seconds(3, "slow", 2, 1));
  CHECK_FALSE(profile.layers[1].rows.front().split_known);
  CHECK(profile.layers[1].tensor_parallel_allreduce_bytes == 0.0);
}

TEST_CASE("the step of Metis goes by parameters, the least time of all batch sizes", "[foreign]") {
  const Folder folder;
  write_metis(folder);
  const Profile profile = metis_profile(folder);
  double fast = 0.0, halves = 0.0, all = 0.0;
  for (int l = 0; l < 4; ++l) {
    fast += profile.update_seconds(l, "fast", 1);
    halves += profile.update_seconds(l, "fast", 2);
    all += profile.layers[l].parameters;
  }
  CHECK(fast == Approx(0.004));
  CHECK(halves == Approx(0.0025));
  CHECK(profile.update_seconds(1, "slow", 1) == Approx(0.008 * block_parameters / all));
}

TEST_CASE("sizes beside the times of Metis are those of the model in the framework", "[foreign]") {
  const Folder folder;
  write_metis(folder);
  const Profile profile = metis_profile(folder, small_job("precision = \"bf16\"\n"));
  CHECK(profile.layers[1].parameters == block_parameters);
  CHECK(profile.layers[1].output_bytes == 2.0 * 16 * 40);
  CHECK(profile.bytes_per_parameter.weight == 2.0);
  CHECK(profile.bytes_per_parameter.optimizer == 12.0);
  CHECK(profile.axes.at("heads") == 4);
  CHECK(profile.bytes(1, "fast", 2, 4)->stored > 0.0);
  CHECK(profile.bytes(1, "fast", 2, 4)->stored < profile.bytes(1, "fast", 1, 4)->stored);
  CHECK(metis_profile(folder).bytes_per_parameter.weight == 4.0);  // fp32 where nobody says it
  // Written and read again it is the same.
  CHECK(write_profile(parse_profile(write_profile(profile), "profile.json")) ==
        write_profile(profile));
}

TEST_CASE("times of Sailor are taken as they are, without the step", "[foreign]") {
  const Folder folder;
  write_sailor(folder);
  const Profile profile = sailor_profile(folder.path("Small/"));
  REQUIRE(profile.num_layers() == 4);
  CHECK(profile.seconds(1, "fast", 2, 2)->forward == 0.002);
  CHECK(profile.seconds(2, "slow", 1, 1)->total() == Approx(0.009));
  CHECK(profile.seconds(0, "fast", 1, 1)->total() == Approx(0.001));
  CHECK(profile.update_seconds(1, "fast", 1) == 0.0);
  // What a member stores is what the files say, by degree.
  CHECK(profile.bytes(1, "fast", 1, 1)->stored == 80000.0);
  CHECK(profile.bytes(1, "fast", 2, 2)->stored == 80000.0);
  CHECK(profile.layers[1].stored_bytes == 80000.0);
}

TEST_CASE("a profile of Sailor with its sizes needs no model", "[foreign]") {
  const Folder folder;
  write_sailor(folder);
  const ForeignProfile from = read_foreign_profile("sailor", folder.path("Small"));
  REQUIRE(from.is_whole());
  Config config = parse_config("", "command line", "");
  const std::vector<std::string> taken = take_execution(from, config);
  CHECK(taken.at(1) == "fp32, as its weights have 4 bytes");
  const Profile profile = converted_profile(from, sailor_kinds, config);
  CHECK(profile.model == "Small");
  CHECK(profile.layers[1].name == "layer.1");
  CHECK(profile.layers[1].parameters == block_parameters);
  CHECK(profile.layers[1].output_bytes == 4 * 640.0);
  CHECK(profile.layers[3].output_bytes == 0.0);
  CHECK(profile.bytes(1, "fast", 2, 2)->stored == 80000.0);
  CHECK(profile.bytes_per_parameter.optimizer == 8.0);
  fs::remove(folder.path("llm_info.json"));
  CHECK_FALSE(read_foreign_profile("sailor", folder.path("Small")).is_whole());
}

TEST_CASE("a final norm of its own belongs to the output", "[foreign]") {
  const Folder folder;
  folder.write("Small/V100-16/profile.json",
               fmt::format(R"({{"1": {{"1": {}}}}})", sailor_with_norm));
  const Profile profile = sailor_profile(folder.path("Small"));
  REQUIRE(profile.num_layers() == 4);
  CHECK(profile.seconds(3, "slow", 1, 1)->forward == Approx(0.004));
  CHECK(profile.seconds(3, "slow", 1, 1)->total() == Approx(0.012));
}

TEST_CASE("what nobody said of the execution is that of the planner's measurements", "[foreign]") {
  ForeignProfile from;
  from.runtime = "megatron";
  from.element_bytes = 2.0;
  const auto taken = [&](const std::string& keys) {
    Config config = small_job(keys);
    const std::vector<std::string> notes = take_execution(from, config);
    return fmt::format("{} {}: {}", config.profile.like, to_string(config.training.precision),
                       fmt::join(notes, "; "));
  };
  const std::string memory = "memory as megatron needs it";
  CHECK(taken("") == "megatron bf16: " + memory + "; bf16, as its weights have 2 bytes");
  CHECK(taken("precision = \"fp16\"\n") == "megatron fp16: " + memory);
  CHECK(taken("precision = \"fp32\"\n[profile]\nlike = \"jax\"\n") == "jax fp32: ");
  from.element_bytes = 0.0;
  CHECK(taken("") == "megatron fp32: " + memory + "; fp32, as the files name no precision");
}

}  // namespace
}  // namespace pptrain
