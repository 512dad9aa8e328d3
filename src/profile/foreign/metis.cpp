// Profiles of Metis: a file for each device, degree and batch size, with one time of F and B
// together for each layer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "profile/foreign/readers.hpp"

namespace pptrain::foreign {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "DeviceType.";
constexpr const char* naming =
    "its files are called DeviceType.NAME_tpN_bsN.json, with the degree and the batch size";
constexpr double rounding = 0.03;  ///< of parameters: norms and biases that members do not divide

/// What the name of a file says.
struct MetisFile {
  std::string path;
  std::string device;
  int degree = 1;
  int samples = 1;
};

/// What a name says; nothing where it has another form.
std::optional<MetisFile> named_file(const fs::path& path) {
  const std::string name = path.filename().string(), ending = ".json";
  const std::size_t batch = name.rfind("_bs"), degree = name.rfind("_tp", batch);
  if (!name.starts_with(prefix) || !name.ends_with(ending) || batch == std::string::npos ||
      degree == std::string::npos || degree <= prefix.size()) {
    return std::nullopt;
  }
  MetisFile file = {path.string(), name.substr(prefix.size(), degree - prefix.size())};
  file.degree = positive_number(std::string_view(name).substr(degree + 3, batch - degree - 3));
  file.samples = positive_number(
      std::string_view(name).substr(batch + 3, name.size() - ending.size() - batch - 3));
  if (file.degree == 0 || file.samples == 0) return std::nullopt;
  return file;
}

std::vector<MetisFile> metis_files(const std::string& path) {
  std::error_code ignored;
  const std::vector<fs::path> entries =
      fs::is_directory(path, ignored) ? entries_of(path) : std::vector<fs::path>{path};
  std::vector<MetisFile> files;
  for (const fs::path& entry : entries) {
    if (std::optional<MetisFile> file = named_file(entry)) {
      files.push_back(std::move(*file));
    } else if (entry.filename().string().starts_with(prefix)) {
      throw_bad_input({entry.string(), "its name has another form", naming,
                       "call it by its device, degree and batch size, or move it elsewhere"});
    }
  }
  if (files.empty()) {
    throw_bad_input({path, "it is no profile of Metis and no folder with one", naming,
                     "name the folder that has such files"});
  }
  return files;
}

std::vector<double> amounts(const JsonNode& node) {
  std::vector<double> values;
  for (const JsonNode& element : node.elements()) values.push_back(element.number_at_least(0.0));
  if (values.empty())
    node.refuse("has no layers", "a profile has a number for each layer",
                "measure the model again");
  return values;
}

/// F is taken as a third of the time of a layer: its backward pass has two products of matrices,
/// for the gradients of inputs and of weights, for each of its forward pass.
ForeignTimes times_of(const MetisFile& file, const JsonNode& milliseconds) {
  ForeignTimes times = {file.device, file.degree, static_cast<double>(file.samples), {}, file.path};
  for (const double whole : amounts(milliseconds)) {
    const double third = whole / 3000.0;
    times.layers.push_back({third, third, third});
  }
  return times;
}

/// Bytes of the parameters of all layers, of which there have to be as many as there are times.
std::vector<double> parameters_of(const JsonNode& root, std::size_t num_layers) {
  const JsonNode node = root.at("model").at("parameters").at("parameters_per_layer_bytes");
  std::vector<double> bytes = amounts(node);
  if (bytes.size() != num_layers) {
    node.refuse(fmt::format("it has {} layers, but layer_compute_total_ms has {}", bytes.size(),
                            num_layers),
                "both are of the same layers", "correct the file, or measure the model again");
  }
  return bytes;
}

void check_count(const JsonNode& model, std::size_t num_layers) {
  if (!model.has("num_layers")) return;
  const JsonNode node = model.at("num_layers");
  if (node.integer() == static_cast<std::int64_t>(num_layers)) return;
  node.refuse(
      fmt::format("it is {}, but layer_compute_total_ms has {} layers", node.integer(), num_layers),
      "both are of the same layers", "correct the file, or measure the model again");
}

bool about(double a, double b) { return std::abs(a - b) <= rounding * std::max(a, b); }

/// Reads one file after another and holds the models that they are of to that of the first.
class MetisReader {
 public:
  MetisReader() {
    profile_.planner = "metis";
    profile_.runtime = "megatron";
    profile_.parameter_unit = ParameterUnit::bytes;
    profile_.backward = "F is a third of the time of F and B together";
    profile_.left_out = {
        "memory of layers: one number for state, activations and what the allocator reserves",
        "time between F and B, of batches, and of sums of gradients"};
  }

  void add(const MetisFile& file) {
    const Json document = parse_foreign(file.path);
    const JsonNode root(document, file.path);
    const JsonNode seconds = root.at("execution_time");
    profile_.times.push_back(times_of(file, seconds.at("layer_compute_total_ms")));
    check_count(root.at("model"), profile_.times.back().layers.size());
    take_parameters(file, parameters_of(root, profile_.times.back().layers.size()));
    if (root.at("model").has("model_name"))
      profile_.model = root.at("model").at("model_name").string();
    if (seconds.has("optimizer_time_ms"))
      take_step(file, seconds.at("optimizer_time_ms").number_at_least(0.0) / 1e3);
  }

  const ForeignProfile& profile() const { return profile_; }

 private:
  /// Keeps the parameters of the smallest degree, as some files have a member's shard and others
  /// the whole layer.
  void take_parameters(const MetisFile& file, const std::vector<double>& bytes) {
    if (!profile_.sizes.empty()) check_same_model(file, bytes);
    if (!profile_.sizes.empty() && file.degree >= profile_.parameters_degree) return;
    profile_.sizes.clear();
    for (const double parameters : bytes) profile_.sizes.push_back({parameters, 0.0, 0.0, {}});
    profile_.sizes_place = file.path + ": model.parameters.parameters_per_layer_bytes";
    profile_.parameters_degree = file.degree;
  }

  void check_same_model(const MetisFile& file, const std::vector<double>& bytes) const {
    if (bytes.size() != profile_.sizes.size()) return;  // `hold_together` refuses that
    for (std::size_t l = 0; l < bytes.size(); ++l) {
      const double before = profile_.sizes[l].parameters;
      const double shard = before * profile_.parameters_degree / file.degree;
      if (about(bytes[l], before) || about(bytes[l], shard)) continue;
      throw_bad_input(
          {fmt::format("{}: model.parameters.parameters_per_layer_bytes[{}]", file.path, l),
           fmt::format("the layer has {} bytes, but {} in {}", bytes[l], before,
                       profile_.sizes_place.substr(0, profile_.sizes_place.find(": "))),
           "they cannot be of one model", "move the files of the other model elsewhere"});
    }
  }

  /// The step does not depend on the batch size, so that the least time is the one that nothing
  /// else disturbed.
  void take_step(const MetisFile& file, double seconds) {
    const auto [known, is_new] =
        profile_.step_seconds.insert({{file.device, file.degree}, seconds});
    if (!is_new) known->second = std::min(known->second, seconds);
  }

  ForeignProfile profile_;
};

}  // namespace

ForeignProfile read_metis(const std::string& path) {
  MetisReader reader;
  for (const MetisFile& file : metis_files(path)) reader.add(file);
  return reader.profile();
}

}  // namespace pptrain::foreign
