#include "runtime/checkpoint/same_job.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "base/names.hpp"
#include "cluster/read.hpp"
#include "config/read.hpp"

namespace pptrain {
namespace {

/// The lines of a written configuration by "section.key"; elements of an array of tables are
/// numbered.
using Keys = std::map<std::string, std::string>;

Keys keys_of(const std::string& text) {
  Keys keys;
  std::istringstream lines(text);
  std::string section;
  std::map<std::string, int> elements;  // so far, of each array
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with("[[")) {
      const std::string array = line.substr(2, line.find("]]") - 2);
      section = fmt::format("{}[{}]", array, elements[array]++);
    } else if (line.starts_with("[")) {
      section = line.substr(1, line.find(']') - 1);
    } else if (equals != std::string::npos) {
      keys[section + "." + line.substr(0, equals)] = line.substr(equals + 3);
    }
  }
  return keys;
}

/// What holds where a checkpoint of an earlier version does not know a key.
Keys default_keys(const Config& config) {
  Config defaults;
  defaults.model.name = config.model.name;
  defaults.model.from = config.model.from;
  return keys_of(write_config(defaults));
}

/// "key = value here (value there)" for each key that `counts` and whose values differ.
std::vector<std::string> differences(const CheckpointState& state, const Config& config,
                                     const std::function<bool(const std::string&)>& counts) {
  const Keys there = keys_of(state.configuration);
  const Keys here = keys_of(write_config(config));
  const Keys defaults = default_keys(config);
  const auto value = [&](const Keys& keys, const std::string& key) {
    const auto found = keys.find(key);
    if (found != keys.end()) return found->second;
    const auto fallback = defaults.find(key);
    return fallback == defaults.end() ? std::string("not set") : fallback->second;
  };
  Keys all = there;
  all.insert(here.begin(), here.end());
  std::vector<std::string> told;
  for (const auto& [key, ignored] : all) {
    if (!counts(key) || value(here, key) == value(there, key)) continue;
    told.push_back(
        fmt::format("{} = {} ({} in the checkpoint)", key, value(here, key), value(there, key)));
  }
  return told;
}

bool is_one_of(const std::string& key, const std::vector<std::string>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool is_annotation(const std::string& key) { return key.starts_with("model.annotate"); }

/// The model, which samples each step takes, and what the optimizer keeps.
bool makes_the_job(const std::string& key) {
  if (key.starts_with("model.")) return !is_annotation(key) && key != "model.initial_parameters";
  if (key.starts_with("data.mix")) return key.ends_with(".weight");
  return is_one_of(
      key, {"training.sequence_length", "training.source_length", "training.global_batch_size",
            "optimizer.name", "job.seed", "data.shuffle", "data.mask_token",
            "data.mask_probability", "data.unmasked_tokens", "data.crop_padding", "data.flip"});
}

bool changes_numbers(const std::string& key) {
  return key.starts_with("optimizer.") || key.starts_with("lr_scheduler.") ||
         is_one_of(key,
                   {"training.precision", "training.loss_scale", "training.gradient_precision",
                    "training.steps", "training.z_loss", "training.label_smoothing",
                    "training.dropout", "training.router_aux_loss", "training.router_aux_loss_over",
                    "data.end_of_document", "data.attend_across_documents"});
}

bool makes_the_plan(const std::string& key) {
  return is_annotation(key) || key.starts_with("parallelism.") || key.starts_with("planner.") ||
         key.starts_with("cluster.") || key.starts_with("profile.") ||
         key == "training.micro_batch_size" || key == "training.precision" ||
         key == "training.gradient_precision";
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "(" + join(extents) + ")";
}

void match_datasets(const std::string& path, const std::vector<CheckpointDataset>& there,
                    std::vector<CheckpointDataset>& here) {
  std::map<std::string, const CheckpointDataset*> by_path;
  for (const CheckpointDataset& dataset : there) by_path[dataset.path] = &dataset;
  for (CheckpointDataset& dataset : here) {
    const auto found = by_path.find(dataset.path);
    if (found == by_path.end()) {
      throw_bad_input({path, dataset.path + " is missing", "the job needs it",
                       "name a checkpoint of this job"});
    }
    if (found->second->shape != dataset.shape) {
      throw_bad_input(
          {path, fmt::format("{} has shape {}", dataset.path, shape_text(found->second->shape)),
           "the job wants " + shape_text(dataset.shape), "name a checkpoint of this job"});
    }
    dataset = *found->second;
  }
}

/// Kinds of devices in order, and which of them share a node; memory that is a little less is the
/// same machine.
bool same_devices(const Cluster& a, const Cluster& b) {
  constexpr double least_share = 0.99;
  if (a.num_devices() != b.num_devices()) return false;
  for (int d = 0; d < a.num_devices(); ++d) {
    const DeviceId device(d);
    if (a.kind_of(device).name != b.kind_of(device).name || a.node_of(device) != b.node_of(device))
      return false;
    if (b.kind_of(device).memory < least_share * a.kind_of(device).memory) return false;
  }
  return true;
}

}  // namespace

void check_same_job(const std::string& path, const CheckpointHead& head, const Config& config,
                    const std::string& data_fingerprint, std::vector<CheckpointDataset>& datasets) {
  const std::vector<std::string> told = differences(head.state, config, makes_the_job);
  if (!told.empty()) {
    throw_bad_input(
        {path, "a checkpoint of another job: " + join(told),
         "it goes on with the same model and samples",
         "name a checkpoint of this job, or start anew with [model] initial_parameters"});
  }
  if (head.state.data != data_fingerprint) {
    throw_bad_input(
        {path, "a checkpoint of a job with other training data",
         fmt::format("{} here, {} there", data_fingerprint, head.state.data),
         "name the same data in [data] train, or start anew with [model] initial_parameters"});
  }
  match_datasets(path, head.datasets, datasets);
}

std::vector<std::string> changed_settings(const CheckpointState& state, const Config& config,
                                          bool micro_batches_count) {
  return differences(state, config, [&](const std::string& key) {
    return changes_numbers(key) || (micro_batches_count && key == "training.micro_batch_size");
  });
}

bool had_loss_scale(const CheckpointState& state) {
  return keys_of(state.configuration)["training.precision"] ==
         fmt::format("\"{}\"", to_string(Precision::fp16));
}

bool plans_alike(const CheckpointState& state, const Config& config, const Cluster& cluster) {
  if (!config.parallelism.plan.empty() || !differences(state, config, makes_the_plan).empty())
    return false;
  // Read again, since the file of an older version may leave out what is known of its devices
  // today.
  const Cluster before = parse_cluster(state.cluster, "the checkpoint's cluster");
  if (!ClusterConfig::is_discovered(config.cluster.file))
    return write_cluster(cluster) == write_cluster(before);
  return same_devices(before, cluster);
}

}  // namespace pptrain
