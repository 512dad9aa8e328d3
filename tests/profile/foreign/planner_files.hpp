#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "config/read.hpp"
#include "model/build/check.hpp"
#include "profile/foreign/convert.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

/// Small files in the formats of other planners.
namespace pptrain::test {

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
inline Config small_job(const std::string& keys = "") {
  return parse_config(fmt::format("[model]\nfrom = \"{}\"\n[training]\nsequence_length = 16\n{}",
                                  test_data("models/opt"), keys),
                      "job.toml", "");
}

inline constexpr double block_parameters =
    4 * (40 * 40 + 40) + (40 * 48 + 48) + (48 * 40 + 40) + 4 * 40;

/// A file of Metis: milliseconds of the four layers, bytes of a block, milliseconds of the step.
inline std::string metis_file(const std::string& milliseconds, double bytes = 4 * block_parameters,
                              double step = 5.0) {
  return fmt::format(
      R"({{"model": {{"model_name": "small", "num_layers": 4,
  "parameters": {{"parameters_per_layer_bytes": [50000, {0}, {0}, 43840]}}}},
 "execution_time": {{"optimizer_time_ms": {1}, "layer_compute_total_ms": {2}}}}})",
      bytes, step, milliseconds);
}

inline void write_metis(const Folder& folder) {
  folder.write("DeviceType.A100_tp1_bs1.json", metis_file("[3, 30, 60, 6]"));
  folder.write("DeviceType.A100_tp1_bs4.json",
               metis_file("[9, 90, 180, 12]", 4 * block_parameters, 4.0));
  folder.write("DeviceType.A100_tp2_bs4.json",
               metis_file("[9, 48, 96, 12]", 4 * block_parameters, 2.5));
  folder.write("DeviceType.T4_tp1_bs1.json",
               metis_file("[3, 300, 300, 6]", 4 * block_parameters, 8.0));
  folder.write("notes.json", "of no device");
}

inline const ForeignKinds metis_kinds = {{"A100", "fast"}, {"T4", "slow"}};

/// The profile of a planner's files with the sizes of the job's model.
inline Profile profile_of(const std::string& planner, const std::string& path,
                          const ForeignKinds& kinds, Config config) {
  const ForeignProfile from = read_foreign_profile(planner, path);
  take_execution(from, config);
  const Model model = build_model_of(config);
  check_foreign_model(from, model);
  return converted_profile(from, kinds, config, model);
}

inline Profile metis_profile(const Folder& folder, const Config& config = small_job()) {
  return profile_of("metis", folder.path(), metis_kinds, config);
}

/// Layers of Sailor by number, each with the given text.
inline std::string numbered(const std::vector<std::string>& layers) {
  std::string text;
  for (std::size_t l = 0; l < layers.size(); ++l)
    text += fmt::format("{}\"{}\": {}", l == 0 ? "" : ", ", l, layers[l]);
  return "{" + text + "}";
}

inline const std::string sailor_layers = numbered(
    {"[0.001, 0.0, 0.5]", "[0.002, 0.004, 0.5]", "[0.003, 0.006, 0.5]", "[0.004, 0.008, 0.5]"});
/// The model above with the final norm as a layer of its own.
inline const std::string sailor_with_norm =
    numbered({"[0.001, 0.0, 0]", "[0.002, 0.004, 0]", "[0.003, 0.006, 0]", "[0.0005, 0.001, 0]",
              "[0.0035, 0.007, 0]"});

/// Sizes of the layers as llm_info.json has them, those that a degree divides over `divisor`.
inline std::string sailor_sizes(double divisor, double output = 640.0) {
  const auto layer = [&](double parameters, double stored) {
    return fmt::format(
        R"({{"params_floats": {}, "params_bytes": {}, "act_output_floats": {}, "act_output_bytes": {},
 "act_mem_bytes": {}}})",
        parameters / divisor, 4 * parameters / divisor, output, 4 * output, stored / divisor);
  };
  return numbered({layer(11840, 3000), layer(block_parameters, 80000),
                   layer(block_parameters, 80000), layer(80, 900)});
}

inline void write_sailor(const Folder& folder) {
  folder.write("Small/A100-40/profile.json",
               fmt::format(R"({{"2": {{"1": {0}, "2": {0}}}, "1": {{"1": {0}}}}})", sailor_layers));
  folder.write("Small/V100-16/profile.json", fmt::format(R"({{"1": {{"1": {}}}}})", sailor_layers));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"2": {}, "1": {}}}, "Other": 3}})",
                                            sailor_sizes(2), sailor_sizes(1)));
}

inline const ForeignKinds sailor_kinds = {{"A100-40", "fast"}, {"V100-16", "slow"}};

inline Profile sailor_profile(const std::string& path) {
  return profile_of("sailor", path, sailor_kinds, small_job());
}

}  // namespace pptrain::test
