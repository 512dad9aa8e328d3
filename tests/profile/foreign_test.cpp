// Profiles of other planners: small files in their formats, whose times are converted by hand here.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/read.hpp"
#include "model/build/check.hpp"
#include "profile/foreign/convert.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

/// A folder that goes at the end of a test.
class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "foreignXXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }

 private:
  fs::path path_;
};

/// OPT with two blocks of 10,648 parameters, hidden size 40 and 4 heads.
Config small_job(const std::string& keys = "") {
  return parse_config(fmt::format("[model]\nfrom = \"{}\"\n[training]\nsequence_length = 16\n{}",
                                  test_data("models/opt"), keys),
                      "job.toml", "");
}

constexpr double block_parameters = 4 * (40 * 40 + 40) + (40 * 48 + 48) + (48 * 40 + 40) + 4 * 40;

std::string metis_file(const std::string& milliseconds, double bytes = 4 * block_parameters,
                       double step = 5.0) {
  return fmt::format(
      R"({{"model": {{"model_name": "small", "num_layers": 4,
  "parameters": {{"parameters_per_layer_bytes": [50000, {0}, {0}, 43840]}}}},
 "execution_time": {{"optimizer_time_ms": {1}, "layer_compute_total_ms": {2}}}}})",
      bytes, step, milliseconds);
}

void write_metis(const Folder& folder) {
  folder.write("DeviceType.A100_tp1_bs1.json", metis_file("[3, 30, 60, 6]"));
  folder.write("DeviceType.A100_tp1_bs4.json",
               metis_file("[9, 90, 180, 12]", 4 * block_parameters, 4.0));
  folder.write("DeviceType.A100_tp2_bs4.json",
               metis_file("[9, 48, 96, 12]", 4 * block_parameters, 2.5));
  folder.write("DeviceType.T4_tp1_bs1.json",
               metis_file("[3, 300, 300, 6]", 4 * block_parameters, 8.0));
  folder.write("notes.json", "of no device");
}

const ForeignKinds metis_kinds = {{"A100", "fast"}, {"T4", "slow"}};

/// The profile of a planner's files with the sizes of the job's model.
Profile profile_of(const std::string& planner, const std::string& path, const ForeignKinds& kinds,
                   Config config) {
  const ForeignProfile from = read_foreign_profile(planner, path);
  take_execution(from, config);
  const Model model = build_model_of(config);
  check_foreign_model(from, model);
  return converted_profile(from, kinds, config, model);
}

Profile metis_profile(const Folder& folder, const Config& config = small_job()) {
  return profile_of("metis", folder.path(), metis_kinds, config);
}

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

TEST_CASE("parameters of Metis may be those of a shard, and elements", "[foreign]") {
  const Folder folder;
  folder.write("DeviceType.A100_tp2_bs1.json", metis_file("[3, 30, 60, 6]", 2 * block_parameters));
  folder.write("DeviceType.A100_tp1_bs1.json", metis_file("[3, 30, 60, 6]", 4 * block_parameters));
  const ForeignProfile from = read_foreign_profile("metis", folder.path());
  CHECK(from.sizes[1].parameters == 4 * block_parameters);
  folder.write("DeviceType.A100_tp1_bs1.json", metis_file("[3, 30, 60, 6]", block_parameters));
  fs::remove(folder.path("DeviceType.A100_tp2_bs1.json"));
  CHECK_NOTHROW(check_foreign_model(read_foreign_profile("metis", folder.path()),
                                    build_model_of(small_job())));
}

std::string metis_complaint(const Folder& folder) {
  return complaint_of([&] { metis_profile(folder); });
}

TEST_CASE("files of Metis that are wrong are refused with file and key", "[foreign]") {
  const Folder folder;
  CHECK_THAT(metis_complaint(folder), Catch::Contains("DeviceType.NAME_tpN_bsN.json"));
  const std::string name = "DeviceType.A100_tp1_bs1.json";
  folder.write(name, metis_file("[3, NaN, 60, 6]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains(name + ":3: this is not JSON"));
  folder.write(name, metis_file("[3, -30, 60, 6]"));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains(name + ": execution_time.layer_compute_total_ms[1]"));
  folder.write(name, metis_file("[0, 0, 0, 0]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("take no time"));
  folder.write(name, metis_file("[3, 30, 6]"));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains("model.num_layers: it is 4, but layer_compute_total_ms has 3"));
  folder.write(name, replaced(metis_file("[3, 30, 60, 6]"), "[50000, ", "["));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains("has 3 layers, but layer_compute_total_ms has 4"));
  folder.write(name, metis_file("[3, 30, 60, 6]", 9 * block_parameters));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains("layer 1 has 95832 bytes of them, but block.0"));
  write_metis(folder);
  folder.write("DeviceType.A100_tp01_bs4.json", metis_file("[3, 30, 60, 6]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("DeviceType.A100_tp01_bs4.json has"));
  fs::remove(folder.path("DeviceType.A100_tp01_bs4.json"));
  folder.write("DeviceType.A100_tp3_bs1.json", metis_file("[3, 30, 60, 6]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("tensor-parallel degree 3"));
  folder.write("DeviceType.A100_tp3_bs1.json", metis_file("[3, 30, 60, 6]", 3 * block_parameters));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("they cannot be of one model"));
}

/// Layers of Sailor by number, each with the given text.
std::string numbered(const std::vector<std::string>& layers) {
  std::string text;
  for (std::size_t l = 0; l < layers.size(); ++l)
    text += fmt::format("{}\"{}\": {}", l == 0 ? "" : ", ", l, layers[l]);
  return "{" + text + "}";
}

const std::string sailor_layers = numbered(
    {"[0.001, 0.0, 0.5]", "[0.002, 0.004, 0.5]", "[0.003, 0.006, 0.5]", "[0.004, 0.008, 0.5]"});
/// The model above with the final norm as a layer of its own.
const std::string sailor_with_norm =
    numbered({"[0.001, 0.0, 0]", "[0.002, 0.004, 0]", "[0.003, 0.006, 0]", "[0.0005, 0.001, 0]",
              "[0.0035, 0.007, 0]"});

std::string sailor_sizes(double divisor, double output = 640.0) {
  const auto layer = [&](double parameters, double stored) {
    return fmt::format(
        R"({{"params_floats": {}, "params_bytes": {}, "act_output_floats": {}, "act_output_bytes": {},
 "act_mem_bytes": {}}})",
        parameters / divisor, 4 * parameters / divisor, output, 4 * output, stored / divisor);
  };
  return numbered({layer(11840, 3000), layer(block_parameters, 80000),
                   layer(block_parameters, 80000), layer(80, 900)});
}

void write_sailor(const Folder& folder) {
  folder.write("Small/A100-40/profile.json",
               fmt::format(R"({{"2": {{"1": {0}, "2": {0}}}, "1": {{"1": {0}}}}})", sailor_layers));
  folder.write("Small/V100-16/profile.json", fmt::format(R"({{"1": {{"1": {}}}}})", sailor_layers));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"2": {}, "1": {}}}, "Other": 3}})",
                                            sailor_sizes(2), sailor_sizes(1)));
}

const ForeignKinds sailor_kinds = {{"A100-40", "fast"}, {"V100-16", "slow"}};

Profile sailor_profile(const std::string& path) {
  return profile_of("sailor", path, sailor_kinds, small_job());
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

TEST_CASE("a folder of one device of Sailor, and its file", "[foreign]") {
  const Folder folder;
  write_sailor(folder);
  for (const char* path : {"Small/V100-16", "Small/V100-16/profile.json"}) {
    const ForeignProfile from = read_foreign_profile("sailor", folder.path(path));
    CHECK(from.model == "Small");
    CHECK(from.devices() == std::vector<std::string>{"V100-16"});
    CHECK(from.is_whole());
  }
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

TEST_CASE("files of Sailor that are wrong are refused with file and key", "[foreign]") {
  const Folder folder;
  const auto complaint = [&] {
    return complaint_of([&] { sailor_profile(folder.path("Small")); });
  };
  CHECK_THAT(complaint(), Catch::Contains("A100-40/profile.json"));
  const auto write = [&](const std::string& layers, const std::string& degree = "1") {
    folder.write("Small/V100-16/profile.json",
                 fmt::format(R"({{"1": {{"{}": {}}}}})", degree, layers));
  };
  folder.write("Small/V100-16/profile.json", R"({"1": {}})");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: 1: it has no times"));
  folder.write("Small/V100-16/profile.json", "{}");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: it has no times"));
  write("{}");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: 1.1: has no layers"));
  write("{\"0\": [1, 2, 3], \"2\": [1, 2, 3]}");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: 1.1.1: is missing"));
  write("{\"0\": [1, 2]}");
  CHECK_THAT(complaint(), Catch::Contains("1.1.0: it has 2 numbers"));
  write("{\"0\": [1, -2, 3]}");
  CHECK_THAT(complaint(), Catch::Contains("1.1.0[1]: must be at least 0"));
  write(sailor_layers, "two");
  CHECK_THAT(complaint(), Catch::Contains("the key \"two\" is no degree"));
  write(sailor_layers, "8");
  CHECK_THAT(complaint(), Catch::Contains("tensor-parallel degree 8"));
  write("{\"0\": [1, 2, 3]}");
  CHECK_THAT(complaint(), Catch::Contains("it has 1 layers, but"));
  write_sailor(folder);
  folder.write("Small/T4/profile.json", fmt::format(R"({{"1": {{"1": {}}}}})", sailor_with_norm));
  CHECK_THAT(complaint(), Catch::Contains("they cannot be of one model"));
  fs::remove_all(folder.path("Small/T4"));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"1": {}}}}})", sailor_sizes(2)));
  CHECK_THAT(complaint(), Catch::Contains("llm_info.json: Small: layer 1 has 5324 parameters"));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"1": {}}}}})", sailor_sizes(1, 320)));
  CHECK_THAT(complaint(), Catch::Contains("--sequence-length"));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"1": {}}}}})", sailor_with_norm));
  CHECK_THAT(complaint(), Catch::Contains("llm_info.json: Small.1: it has 5 layers"));
}

TEST_CASE("an unknown planner is refused with the one that is meant", "[foreign]") {
  CHECK_THAT(complaint_of([] { read_foreign_profile("sailer", "folder"); }),
             Catch::Contains("did you mean \"sailor\""));
}

}  // namespace
}  // namespace pptrain
