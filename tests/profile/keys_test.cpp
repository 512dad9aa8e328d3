#include "profile/keys.hpp"

#include "profile/profile.hpp"
#include "support/key_tables.hpp"

namespace pptrain {
namespace {

const std::string everything = R"({
 "schema": "pptrain.profile/1", "model": "m", "source": "here", "like": "megatron",
 "bytes_per_parameter": {"weight": 4, "gradient": 4, "optimizer": 8, "sent_gradient": 2},
 "axes": {"heads": 2}, "sequence_parallel": true, "context": 2, "workspace_bytes": 1, "workspace_bytes_per_sample": 1,
 "error_band": {"relative": 0.1, "runs": 3, "of": "A100"},
 "communication": {"link_share": 0.8, "uplink_share": 0.9, "half_bytes": 1e6, "start_seconds": 1e-5,
   "shares_uplinks": true, "hides_sums": false, "beside": 0.5, "blocking_bandwidth": 1e9, "link_neighbours": {"d": 3}},
 "layers": [{"name": "l", "parameters": 3, "undivided_parameters": 1, "output_bytes": 1, "stored_bytes": 1,
   "tensor_parallel_allreduce_bytes": 0, "batch_norms": 1, "batch_norm_channels": 4, "exchange_bytes": 2, "repeated": false, "selective_part": 0.5,
   "seconds": [{"device": "d", "tensor_parallel": 1, "samples": 1, "forward": 1, "backward_input": 1,
                "backward_weight": 1, "stored_bytes": 1, "deferred_bytes": 1, "workspace_bytes": 1,
                "forward_workspace_bytes": 1, "recomputed_bytes": 1}],
   "update": [{"device": "d", "tensor_parallel": 1, "seconds": 1}]}]})";

TEST_CASE("keys of a profile are those that are described", "[keys]") {
  const Json document = parse_json(everything, "file");
  REQUIRE_NOTHROW(parse_profile(everything, "file"));
  check_key_table(document, "", profile_keys::root, parse_profile);
  check_key_table(document, "/bytes_per_parameter", profile_keys::bytes_per_parameter,
                  parse_profile);
  check_key_table(document, "/error_band", profile_keys::error_band, parse_profile);
  check_key_table(document, "/communication", profile_keys::communication, parse_profile);
  CHECK(write_profile(parse_profile(everything, "file")).find("\"link_neighbours\"") !=
        std::string::npos);
  check_key_table(document, "/layers/0", profile_keys::layer, parse_profile);
  check_key_table(document, "/layers/0/seconds/0", profile_keys::row, parse_profile,
                  {"backward", "backward_input", "backward_weight", "stored_bytes",
                   "deferred_bytes", "workspace_bytes"});
  check_key_table(document, "/layers/0/update/0", profile_keys::update, parse_profile);
  CHECK(profile_keys::all().size() == 7);
}

TEST_CASE("the workspace of F is that of all passes where a profile does not say") {
  const auto bytes_of = [](const std::string& text) {
    return *parse_profile(text, "file").layers[0].rows[0].bytes;
  };
  std::string text = everything;
  const std::string key =
      "\"workspace_bytes\": 1,\n                \"forward_workspace_bytes\": 1,";
  REQUIRE(text.find(key) != std::string::npos);
  text.replace(text.find(key), key.size(), "\"workspace_bytes\": 7,");
  CHECK(bytes_of(text).forward_workspace == 7.0);
  text.replace(text.find("\"workspace_bytes\": 7,"), 22,
               "\"workspace_bytes\": 7, \"forward_workspace_bytes\": 3,");
  CHECK(bytes_of(text).forward_workspace == 3.0);
  const LayerBytes again = bytes_of(write_profile(parse_profile(text, "file")));
  CHECK(again.workspace == 7.0);
  CHECK(again.forward_workspace == 3.0);
  CHECK(again.recomputed == 1.0);
}

}  // namespace
}  // namespace pptrain
