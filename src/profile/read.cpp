#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "model/model.hpp"
#include "profile/json.hpp"
#include "profile/keys.hpp"
#include "profile/profile.hpp"

namespace pptrain {
namespace {

constexpr std::string_view schema = "pptrain.profile/1";

LayerSeconds read_seconds(const JsonNode& node) {
  LayerSeconds seconds;
  seconds.forward = node.at("forward").number_at_least(0.0);
  if (!node.has("backward")) {
    seconds.backward_input = node.at("backward_input").number_at_least(0.0);
    seconds.backward_weight = node.at("backward_weight").number_at_least(0.0);
    return seconds;
  }
  if (node.has("backward_input") || node.has("backward_weight")) {
    node.refuse("both \"backward\" and a part of it are given",
                "the whole stands for rows whose parts are unknown",
                "give either \"backward\" or \"backward_input\" and \"backward_weight\"");
  }
  const double whole = node.at("backward").number_at_least(0.0);
  seconds.backward_input = seconds.backward_weight = 0.5 * whole;
  return seconds;
}

/// Nothing where no key of them is given.
std::optional<LayerBytes> read_bytes(const JsonNode& node) {
  const auto keys = {"stored_bytes", "deferred_bytes", "workspace_bytes", "forward_workspace_bytes",
                     "recomputed_bytes"};
  if (std::none_of(keys.begin(), keys.end(), [&](const char* key) { return node.has(key); }))
    return std::nullopt;
  LayerBytes bytes;
  bytes.stored = node.at("stored_bytes").number_at_least(0.0);
  bytes.deferred = node.at("deferred_bytes").number_at_least(0.0);
  bytes.workspace = node.at("workspace_bytes").number_at_least(0.0);
  const bool apart = node.has("forward_workspace_bytes");
  bytes.forward_workspace =
      apart ? node.at("forward_workspace_bytes").number_at_least(0.0) : bytes.workspace;
  if (node.has("recomputed_bytes"))
    bytes.recomputed = node.at("recomputed_bytes").number_at_least(0.0);
  return bytes;
}

ProfileRow read_row(const JsonNode& node) {
  node.allow_keys(profile_keys::row);
  ProfileRow row;
  row.device = node.at("device").string();
  row.tensor_parallel = node.at("tensor_parallel").small_integer_at_least(1);
  row.samples = node.at("samples").number_at_least(1.0);
  row.seconds = read_seconds(node);
  row.split_known = !node.has("backward");
  row.bytes = read_bytes(node);
  return row;
}

void read_rows(const JsonNode& node, ProfileLayer& layer) {
  std::set<std::tuple<std::string, int, double>> seen;
  for (const JsonNode& element : node.elements()) {
    ProfileRow row = read_row(element);
    if (!seen.insert({row.device, row.tensor_parallel, row.samples}).second) {
      element.refuse(fmt::format("a second row for device \"{}\", tensor_parallel {}, samples {}",
                                 row.device, row.tensor_parallel, row.samples),
                     "a layer has one time for each of them", "remove one of the rows");
    }
    layer.rows.push_back(std::move(row));
  }
}

void read_updates(const JsonNode& node, ProfileLayer& layer) {
  for (const JsonNode& element : node.elements()) {
    element.allow_keys(profile_keys::update);
    const std::string device = element.at("device").string();
    const int degree = element.at("tensor_parallel").small_integer_at_least(1);
    const double seconds = element.at("seconds").number_at_least(0.0);
    if (!layer.update_seconds.insert({{device, degree}, seconds}).second) {
      element.refuse(
          fmt::format("a second update time for device \"{}\", tensor_parallel {}", device, degree),
          "", "remove one of them");
    }
  }
}

ProfileLayer read_layer(const JsonNode& node) {
  node.allow_keys(profile_keys::layer);
  ProfileLayer layer;
  layer.name = node.at("name").string();
  if (layer.name.empty())
    node.at("name").refuse("is empty", "layers are told apart by their names", "give a name");
  layer.parameters = node.at("parameters").number_at_least(0.0);
  if (node.has("undivided_parameters")) {
    layer.undivided_parameters = node.at("undivided_parameters").number_at_least(0.0);
    if (layer.undivided_parameters > layer.parameters) {
      node.at("undivided_parameters")
          .refuse("is more than the layer's parameters", "it is a part of them", "correct it");
    }
  }
  layer.output_bytes = node.at("output_bytes").number_at_least(0.0);
  layer.stored_bytes = node.at("stored_bytes").number_at_least(0.0);
  layer.tensor_parallel_allreduce_bytes =
      node.at("tensor_parallel_allreduce_bytes").number_at_least(0.0);
  if (node.has("batch_norms")) layer.batch_norms = node.at("batch_norms").number_at_least(0.0);
  if (node.has("batch_norm_channels")) {
    layer.batch_norm_channels = node.at("batch_norm_channels").number_at_least(0.0);
  }
  if (node.has("exchange_bytes"))
    layer.exchange_bytes = node.at("exchange_bytes").number_at_least(0.0);
  if (node.has("repeated")) layer.repeated = node.at("repeated").boolean();
  if (node.has("selective_part")) {
    layer.selective_part = node.at("selective_part").number_at_least(0.0);
    if (layer.selective_part > 1.0)
      node.at("selective_part").refuse("is more than 1", "it is a part of F", "correct it");
  }
  read_rows(node.at("seconds"), layer);
  if (node.has("update")) read_updates(node.at("update"), layer);
  return layer;
}

void read_layers(const JsonNode& node, Profile& profile) {
  std::set<std::string> names;
  for (const JsonNode& element : node.elements()) {
    profile.layers.push_back(read_layer(element));
    const std::string& name = profile.layers.back().name;
    if (!names.insert(name).second) {
      element.at("name").refuse(fmt::format("the layer name \"{}\" is repeated", name),
                                "layers are told apart by their names",
                                "number equal layers: \"block.0\", \"block.1\"");
    }
  }
  if (profile.layers.empty())
    node.refuse("has no layers", "there is nothing to plan", "add a layer");
}

/// A part of something, above 0.
double share(const JsonNode& node) {
  const double value = node.number_at_least(0.0);
  if (value == 0.0 || value > 1.0)
    node.refuse("must be above 0 and at most 1", "it is a part", "correct it");
  return value;
}

ErrorBand read_error_band(const JsonNode& node) {
  node.allow_keys(profile_keys::error_band);
  return {node.at("relative").number_at_least(0.0), node.at("runs").small_integer_at_least(1),
          node.at("of").string()};
}

Communication read_communication(const JsonNode& node) {
  node.allow_keys(profile_keys::communication);
  Communication made;
  made.link_share = share(node.at("link_share"));
  made.uplink_share = share(node.at("uplink_share"));
  made.half_bytes = node.at("half_bytes").number_at_least(0.0);
  made.start_seconds = node.at("start_seconds").number_at_least(0.0);
  made.shares_uplinks = node.at("shares_uplinks").boolean();
  made.hides_sums = node.at("hides_sums").boolean();
  made.beside = node.at("beside").number_at_least(0.0);
  made.blocking_bandwidth = node.at("blocking_bandwidth").number_at_least(0.0);
  if (!node.has("link_neighbours")) return made;
  const JsonNode neighbours = node.at("link_neighbours");
  for (const std::string& kind : neighbours.keys()) {
    made.link_neighbours[kind] = neighbours.at(kind).small_integer_at_least(1);
  }
  return made;
}

}  // namespace

Profile parse_profile(const std::string& text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonNode root(document, source);
  if (const std::string found = root.at("schema").string(); found != schema) {
    root.at("schema").refuse(fmt::format("unknown schema \"{}\"", found), "",
                             fmt::format("this pptrain reads \"{}\"", schema));
  }
  root.allow_keys(profile_keys::root);
  Profile profile;
  profile.model = root.at("model").string();
  if (root.has("source")) profile.source = root.at("source").string();
  const JsonNode bytes = root.at("bytes_per_parameter");
  bytes.allow_keys(profile_keys::bytes_per_parameter);
  profile.bytes_per_parameter.weight = bytes.at("weight").number_at_least(0.0);
  profile.bytes_per_parameter.gradient = bytes.at("gradient").number_at_least(0.0);
  profile.bytes_per_parameter.optimizer = bytes.at("optimizer").number_at_least(0.0);
  if (bytes.has("sent_gradient")) {
    profile.bytes_per_parameter.sent_gradient = bytes.at("sent_gradient").number_at_least(0.0);
  }
  if (root.has("axes")) {
    const JsonNode axes = root.at("axes");
    axes.allow_keys(shard_axis_names());
    for (const std::string& axis : axes.keys())
      profile.axes[axis] = axes.at(axis).small_integer_at_least(1);
  }
  if (root.has("like")) profile.like = root.at("like").string();
  if (root.has("context")) profile.context = root.at("context").small_integer_at_least(1);
  if (root.has("sequence_parallel"))
    profile.sequence_parallel = root.at("sequence_parallel").boolean();
  if (root.has("error_band")) profile.error_band = read_error_band(root.at("error_band"));
  if (root.has("communication"))
    profile.communication = read_communication(root.at("communication"));
  if (root.has("workspace_bytes"))
    profile.workspace_bytes = root.at("workspace_bytes").number_at_least(0.0);
  if (root.has("workspace_bytes_per_sample")) {
    profile.workspace_bytes_per_sample = root.at("workspace_bytes_per_sample").number_at_least(0.0);
  }
  read_layers(root.at("layers"), profile);
  return profile;
}

Profile read_profile(const std::string& path) { return parse_profile(read_text_file(path), path); }

}  // namespace pptrain
