// Profiles of Sailor: a file for each device, with F, B and the optimizer's step of each layer by
// micro-batch and degree; and llm_info.json, with the sizes of the layers of all models.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "profile/foreign/readers.hpp"

namespace pptrain::foreign {
namespace {

namespace fs = std::filesystem;

constexpr const char* times_file = "profile.json";
constexpr const char* sizes_file = "llm_info.json";
constexpr int most_folders_above = 3;  ///< from the profiles of a model to llm_info.json in
                                       ///< Sailor's repository

/// The path without "." and a slash at its end, so that its last part is a name.
fs::path plain_path(const fs::path& path) {
  std::error_code ignored;
  fs::path whole = fs::absolute(path, ignored).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Files of a model.
struct SailorFiles {
  fs::path model;               ///< its folder
  std::vector<fs::path> times;  ///< a file for each device, whose folder has its name; as people
                                ///< named the path
};

SailorFiles sailor_files(const fs::path& named) {
  const fs::path whole = plain_path(named);
  if (is_file(named) && named.filename() == times_file)
    return {whole.parent_path().parent_path(), {named}};
  if (is_file(named / times_file)) return {whole.parent_path(), {named / times_file}};
  SailorFiles files = {whole, {}};
  std::error_code ignored;
  if (fs::is_directory(named, ignored)) {
    for (const fs::path& entry : entries_of(named.string())) {
      if (is_file(entry / times_file)) files.times.push_back(entry / times_file);
    }
  }
  if (files.times.empty()) {
    throw_bad_input(
        {named.string(), "it has no profile of Sailor",
         "these lie in the folder of a model, in a folder for each device: A100-40/profile.json",
         "name the folder of a model, or that of one device"});
  }
  return files;
}

/// A key that is a whole number: a micro-batch, a degree, a layer.
int number_key(const JsonNode& node, const std::string& key, const char* what) {
  const int number = positive_number(key);
  if (number > 0) return number;
  node.refuse(fmt::format("the key \"{}\" is no {}", key, what),
              "it has to be a whole number of at least 1",
              "profile.json is {micro-batch: {degree: {layer: [F, B, step]}}}");
}

LayerSeconds seconds_of(const JsonNode& layer) {
  const std::vector<JsonNode> parts = layer.elements();
  if (parts.size() != 3) {
    layer.refuse(fmt::format("it has {} numbers", parts.size()),
                 "a layer has seconds of F, of B and of the step", "let Sailor measure it again");
  }
  for (const JsonNode& part : parts) part.number_at_least(0.0);
  const double backward = parts[1].number();
  return {parts[0].number(), 0.5 * backward, 0.5 * backward};
}

/// The layers of an object whose keys are their numbers from 0 on.
std::vector<JsonNode> numbered_layers(const JsonNode& node) {
  std::vector<JsonNode> layers;
  const std::size_t count = node.keys().size();
  if (count == 0)
    node.refuse("has no layers", "a profile has a number for each layer",
                "let Sailor measure it again");
  for (std::size_t l = 0; l < count; ++l) layers.push_back(node.at(std::to_string(l)));
  return layers;
}

void add_times(const std::string& file, ForeignProfile& profile) {
  const std::string device = plain_path(file).parent_path().filename().string();
  const Json document = parse_foreign(file);
  const JsonNode root(document, file);
  if (root.keys().empty()) root.refuse("it has no times", "", "let Sailor measure it again");
  for (const std::string& samples : root.keys()) {
    const JsonNode degrees = root.at(samples);
    const int number = number_key(root, samples, "micro-batch");
    if (degrees.keys().empty())
      degrees.refuse("it has no times", "", "let Sailor measure it again, or leave it out");
    for (const std::string& degree : degrees.keys()) {
      ForeignTimes times = {
          device, number_key(degrees, degree, "degree"), static_cast<double>(number), {}, {}};
      for (const JsonNode& layer : numbered_layers(degrees.at(degree)))
        times.layers.push_back(seconds_of(layer));
      times.place = fmt::format("{}: {}.{}", file, samples, degree);
      profile.times.push_back(std::move(times));
    }
  }
}

/// The file with the sizes, in the folder of the model or one above it; "": there is none.
fs::path find_sizes(fs::path folder) {
  for (int above = 0; above <= most_folders_above; ++above) {
    if (is_file(folder / sizes_file)) return folder / sizes_file;
    if (!folder.has_parent_path() || folder.parent_path() == folder) break;
    folder = folder.parent_path();
  }
  return {};
}

/// Takes the sizes of the layers at one degree, for one sample. Parameters and outputs are those of
/// the smallest degree.
void take_sizes(const JsonNode& layers, int degree, ForeignProfile& profile) {
  const std::vector<JsonNode> numbered = numbered_layers(layers);
  if (numbered.size() != profile.num_layers()) {
    layers.refuse(fmt::format("it has {} layers, but {} has {}", numbered.size(),
                              profile.times.front().place, profile.num_layers()),
                  "they cannot be of one model",
                  "correct the file, or leave it out and name the model by --model");
  }
  const bool is_first = profile.sizes.empty(), is_smaller = degree < profile.parameters_degree;
  profile.sizes.resize(numbered.size());
  for (std::size_t l = 0; l < numbered.size(); ++l) {
    ForeignSizes& sizes = profile.sizes[l];
    sizes.stored_bytes[degree] = numbered[l].at("act_mem_bytes").number_at_least(0.0);
    if (!is_first && !is_smaller) continue;
    sizes.parameters = numbered[l].at("params_floats").number_at_least(0.0);
    sizes.output_elements = numbered[l].at("act_output_floats").number_at_least(0.0);
    sizes.output_bytes = numbered[l].at("act_output_bytes").number_at_least(0.0);
    const double bytes = numbered[l].at("params_bytes").number_at_least(0.0);
    if (sizes.parameters > 0.0) profile.element_bytes = bytes / sizes.parameters;
  }
  if (is_first || is_smaller) profile.parameters_degree = degree;
}

void add_sizes(const fs::path& file, ForeignProfile& profile) {
  const Json document = parse_foreign(file.string());
  const JsonNode root(document, file.string());
  if (!root.has(profile.model)) {
    profile.left_out.push_back(
        fmt::format("sizes of layers: {} has no model \"{}\"", sizes_file, profile.model));
    return;
  }
  const JsonNode degrees = root.at(profile.model);
  for (const std::string& degree : degrees.keys())
    take_sizes(degrees.at(degree), number_key(degrees, degree, "degree"), profile);
  profile.sizes_place = fmt::format("{}: {}", file.string(), profile.model);
}

}  // namespace

ForeignProfile read_sailor(const std::string& path) {
  const SailorFiles files = sailor_files(path);
  ForeignProfile profile;
  profile.planner = "sailor";
  profile.model = files.model.filename().string();
  profile.runtime = "megatron-deepspeed";
  profile.backward = "F and B are as measured";
  profile.left_out = {
      "the optimizer's step: one time for all layers, of a model with fewer of them"};
  for (const fs::path& file : files.times) add_times(file.string(), profile);
  if (const fs::path sizes = find_sizes(files.model); !sizes.empty()) add_sizes(sizes, profile);
  return profile;
}

}  // namespace pptrain::foreign
