#include "model_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "asked_cluster.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "base/open_file.hpp"
#include "cluster/read.hpp"
#include "config/read.hpp"
#include "config/toml_reader.hpp"
#include "model/families/families.hpp"
#include "plan/plan.hpp"
#include "profile/analytic.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* model_option = "command line: --model";
constexpr std::int64_t most_default_tokens = 4096;
constexpr std::int64_t usual_tokens = 2048;  ///< of a text whose config.json says none

bool sets(const std::vector<std::string>& overrides, const std::string& key) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const std::string& setting) { return setting.starts_with(key + "="); });
}

/// What else says of which model or times the job is.
void check_alone(const Options& options) {
  if (!options.input.empty()) {
    throw_bad_input({model_option, fmt::format("the model is named beside {}", options.input),
                     "a configuration says itself which model it is of",
                     "leave one of them out; [model] from names such a folder in a configuration"});
  }
  if (!options.profile.empty() || sets(options.overrides, "profile.file")) {
    throw_bad_input({model_option, "the model is named beside a profile",
                     "a profile has the layers and times of its own model",
                     "leave --model out to plan by the profile, or the profile to compute times"});
  }
  for (const char* key : {"model.from", "model.name"}) {
    if (!sets(options.overrides, key)) continue;
    throw_bad_input({model_option, fmt::format("the model is named beside --set {}", key),
                     "a job has one model", "leave one of them out"});
  }
}

std::string config_json_of(const std::string& named) {
  std::error_code ignored;
  return fs::is_directory(named, ignored) ? (fs::path(named) / "config.json").string() : named;
}

std::string folder_of(const std::string& file) {
  const std::string parent = fs::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::int64_t batch_of(const Options& options, const Config& config) {
  if (options.global_batch_size) return *options.global_batch_size;
  if (!options.plan.empty()) return read_plan(options.plan).samples_per_step();
  if (config.places.contains("training.global_batch_size"))
    return config.training.global_batch_size;
  throw_bad_input({model_option, "no global batch size",
                   "config.json does not say how many samples a step has",
                   "add --global-batch-size N"});
}

/// Positions that a config.json admits; 0: it does not say.
std::int64_t longest_sample(const ConfigJson& config) {
  for (const char* key : {"n_positions", "max_position_embeddings"}) {
    if (config.has(key)) return config.size(key);
  }
  return 0;
}

/// Sets how many tokens a sample has where nobody said it; returns what to tell of that.
std::string choose_tokens(const ConfigJson& json, Config& config) {
  config.places["training.sequence_length"] = model_option;
  const std::int64_t longest = longest_sample(json);
  config.training.sequence_length =
      longest > 0 ? std::min(longest, most_default_tokens) : usual_tokens;
  if (longest == 0)
    return fmt::format("{} tokens a sample, as config.json has no maximum", usual_tokens);
  if (longest > most_default_tokens)
    return fmt::format("{} tokens a sample of the {} that config.json admits", most_default_tokens,
                       longest);
  return fmt::format("{} tokens a sample, the most that config.json admits", longest);
}

bool all_have(const std::vector<const DeviceKind*>& kinds, const std::string& precision) {
  return std::all_of(kinds.begin(), kinds.end(),
                     [&](const DeviceKind* kind) { return kind->flops.contains(precision); });
}

std::string choose_precision(const Cluster& cluster, Config& config) {
  const std::vector<const DeviceKind*> kinds = used_kinds(cluster);
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    if (!all_have(kinds, to_string(precision))) continue;
    config.training.precision = precision;
    return to_string(precision) +
           (precision == Precision::bf16 ? "" : ", as not all devices have bf16");
  }
  config.training.precision = Precision::fp32;
  return "fp32, as the devices have no 16-bit precision in common";
}

/// Whether nothing is there and the name is such as models have at Hugging Face:
/// ORGANISATION/MODEL.
bool is_name_at_hub(const std::string& model) {
  const std::filesystem::path path(model);
  std::error_code ignored;
  return std::count(model.begin(), model.end(), '/') == 1 && path.has_filename() &&
         path.parent_path() != "." && path.parent_path() != ".." && path.is_relative() &&
         !std::filesystem::exists(path.parent_path(), ignored);
}

/// Reads the model, so that what is wrong with its file is told with its name, and fills in what
/// follows from it.
void take_model(const Options& options, const std::string& file, Config& config,
                std::vector<std::string>& chosen) {
  config.model.description = read_text(
      file,
      {model_option, fmt::format("{} cannot be read", file),
       "it has to be a config.json, as Hugging Face's libraries write it, or a folder with one",
       is_name_at_hub(options.model)
           ? "nothing is downloaded: fetch the model's config.json, and name it or its folder"
           : "check the path"});
  const ConfigJson json = ConfigJson::parse(config.model.description, file);
  const bool reads_tokens = build_family(json, {1}).sample.tokens();
  if (!reads_tokens && options.sequence_length) {
    throw_bad_input({"command line: --sequence-length", "the model reads no tokens",
                     "its samples are images", "leave the option out"});
  }
  if (reads_tokens && !config.places.contains("training.sequence_length"))
    chosen.push_back(choose_tokens(json, config));
  // A length that the model does not admit is refused here, where its file is known by name.
  build_family(ConfigJson::parse(config.model.description, file),
               {config.training.sequence_length, element_bytes(config.training.precision),
                config.training.source_length.value_or(0), config.model.image_size});
}

}  // namespace

std::vector<std::string> short_settings(const Options& options) {
  std::vector<std::string> settings;
  const auto add = [&](const std::string& option, const std::string& key,
                       const std::string& value) {
    if (sets(options.overrides, key)) {
      throw_bad_input({"command line: " + option, fmt::format("{} is set twice", key),
                       fmt::format("--set {} says it too", key), "leave one of them out"});
    }
    settings.push_back(fmt::format("{}={}", key, value));
  };
  if (options.sequence_length)
    add("--sequence-length", "training.sequence_length", std::to_string(*options.sequence_length));
  if (!options.plan_precision.empty())
    add("--precision", "training.precision", options.plan_precision);
  if (!options.like.empty()) add("--like", "parallelism.like", options.like);
  return settings;
}

namespace {

/// The configuration of what the command line says, before the model is read.
Config begun_job(const Options& options, const std::string& file) {
  check_alone(options);
  std::vector<std::string> overrides = options.overrides;
  const std::vector<std::string> settings = short_settings(options);
  overrides.insert(overrides.end(), settings.begin(), settings.end());
  // The option's batch counts before the keys are checked, since a micro-batch has to divide it.
  if (options.global_batch_size)
    overrides.push_back(fmt::format("training.global_batch_size={}", *options.global_batch_size));
  overrides.insert(overrides.end(),
                   {"profile.analytic=true", "model.from=" + quote_toml(folder_of(file))});
  Config config = parse_config("", "command line", "", overrides);
  config.places["model.from"] = model_option;
  if (!options.cluster.empty()) config.cluster.file = options.cluster;
  return config;
}

}  // namespace

Config model_without_cluster(const Options& options, std::vector<std::string>& chosen) {
  const std::string file = config_json_of(options.model);
  Config config = begun_job(options, file);
  take_model(options, file, config, chosen);
  return config;
}

Config model_job(const Options& options) {
  const std::string file = config_json_of(options.model);
  Config config = begun_job(options, file);
  if (ClusterConfig::is_discovered(config.cluster.file)) {
    throw_bad_input({model_option, "no cluster to plan for",
                     "computed times are of devices that are described",
                     "add --cluster CLUSTER.toml, or for instance --cluster \"2x dgx-h100\""});
  }
  std::vector<std::string> chosen;
  take_model(options, file, config, chosen);
  config.training.global_batch_size = batch_of(options, config);
  if (options.micro_batch_size) config.training.micro_batch_size = options.micro_batch_size;
  if (!config.places.contains("training.precision"))
    chosen.insert(chosen.begin(), choose_precision(asked_cluster(options, config), config));
  if (!chosen.empty()) log_info("Not said, so taken: {}", join(chosen, "; "));
  return config;
}

}  // namespace pptrain
