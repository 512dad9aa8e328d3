#include "profile/json.hpp"
#include "profile/profile.hpp"

namespace pptrain {
namespace {

Json row_json(const ProfileRow& row) {
  Json json = {{"device", row.device},
               {"tensor_parallel", row.tensor_parallel},
               {"samples", json_number(row.samples)},
               {"forward", json_number(row.seconds.forward)}};
  if (row.split_known) {
    json["backward_input"] = json_number(row.seconds.backward_input);
    json["backward_weight"] = json_number(row.seconds.backward_weight);
  } else {
    json["backward"] = json_number(row.seconds.backward_input + row.seconds.backward_weight);
  }
  if (row.bytes) {
    json["stored_bytes"] = json_number(row.bytes->stored);
    json["deferred_bytes"] = json_number(row.bytes->deferred);
    json["workspace_bytes"] = json_number(row.bytes->workspace);
    json["forward_workspace_bytes"] = json_number(row.bytes->forward_workspace);
    if (row.bytes->recomputed > 0.0) json["recomputed_bytes"] = json_number(row.bytes->recomputed);
  }
  return json;
}

Json layer_json(const ProfileLayer& layer) {
  Json json = {
      {"name", layer.name},
      {"parameters", json_number(layer.parameters)},
      {"output_bytes", json_number(layer.output_bytes)},
      {"stored_bytes", json_number(layer.stored_bytes)},
      {"tensor_parallel_allreduce_bytes", json_number(layer.tensor_parallel_allreduce_bytes)}};
  if (layer.undivided_parameters > 0.0)
    json["undivided_parameters"] = json_number(layer.undivided_parameters);
  if (layer.batch_norms > 0.0) {
    json["batch_norms"] = json_number(layer.batch_norms);
    json["batch_norm_channels"] = json_number(layer.batch_norm_channels);
  }
  if (layer.exchange_bytes > 0.0) json["exchange_bytes"] = json_number(layer.exchange_bytes);
  if (!layer.repeated) json["repeated"] = false;
  if (layer.selective_part > 0.0) json["selective_part"] = json_number(layer.selective_part);
  json["seconds"] = Json::array();
  for (const ProfileRow& row : layer.rows) json["seconds"].push_back(row_json(row));
  for (const auto& [key, seconds] : layer.update_seconds) {
    json["update"].push_back({{"device", key.first},
                              {"tensor_parallel", key.second},
                              {"seconds", json_number(seconds)}});
  }
  return json;
}

Json communication_json(const Communication& communication) {
  Json json = {{"link_share", json_number(communication.link_share)},
               {"uplink_share", json_number(communication.uplink_share)},
               {"half_bytes", json_number(communication.half_bytes)},
               {"start_seconds", json_number(communication.start_seconds)},
               {"shares_uplinks", communication.shares_uplinks},
               {"hides_sums", communication.hides_sums},
               {"beside", json_number(communication.beside)},
               {"blocking_bandwidth", json_number(communication.blocking_bandwidth)}};
  for (const auto& [kind, number] : communication.link_neighbours)
    json["link_neighbours"][kind] = number;
  return json;
}

}  // namespace

std::string write_profile(const Profile& profile) {
  const BytesPerParameter& bytes = profile.bytes_per_parameter;
  Json json = {{"schema", "pptrain.profile/1"}, {"model", profile.model}};
  if (!profile.source.empty()) json["source"] = profile.source;
  if (!profile.like.empty()) json["like"] = profile.like;
  json["bytes_per_parameter"] = {{"weight", json_number(bytes.weight)},
                                 {"gradient", json_number(bytes.gradient)},
                                 {"optimizer", json_number(bytes.optimizer)}};
  if (bytes.sent_gradient > 0.0)
    json["bytes_per_parameter"]["sent_gradient"] = json_number(bytes.sent_gradient);
  for (const auto& [axis, length] : profile.axes) json["axes"][axis] = length;
  if (profile.sequence_parallel) json["sequence_parallel"] = true;
  if (profile.context > 1) json["context"] = profile.context;
  if (profile.error_band) {
    json["error_band"] = {{"relative", json_number(profile.error_band->relative)},
                          {"runs", profile.error_band->runs},
                          {"of", profile.error_band->of}};
  }
  if (!profile.communication.is_own())
    json["communication"] = communication_json(profile.communication);
  if (profile.workspace_bytes > 0.0) json["workspace_bytes"] = json_number(profile.workspace_bytes);
  if (profile.workspace_bytes_per_sample > 0.0) {
    json["workspace_bytes_per_sample"] = json_number(profile.workspace_bytes_per_sample);
  }
  json["layers"] = Json::array();
  for (const ProfileLayer& layer : profile.layers) json["layers"].push_back(layer_json(layer));
  return format_json(json);
}

}  // namespace pptrain
