#include "profile/profile.hpp"

#include "profile/from_files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

ProfileRow row(double samples, double forward, double backward_input, double backward_weight,
               int degree = 1, const std::string& device = "v100") {
  return {device, degree, samples, {forward, backward_input, backward_weight}, true};
}

Profile one_layer(std::vector<ProfileRow> rows) {
  Profile profile;
  profile.layers.push_back({"a", 10.0, 1.0, 1.0, 0.0, std::move(rows), {}});
  return profile;
}

TEST_CASE("between two rows F, B and W are linear in the samples", "[profile]") {
  const Profile profile =
      one_layer({row(8, 0.7, 1.0, 2.0), row(2, 0.1, 0.4, 0.2), row(16, 9.0, 9.0, 9.0)});
  const LayerSeconds s = profile.seconds(0, "v100", 1, 5.0).value();
  CHECK(s.forward == Approx(0.4));          // 0.1 + (0.7 - 0.1) * (5 - 2) / (8 - 2)
  CHECK(s.backward_input == Approx(0.7));   // 0.4 + 0.6 / 2
  CHECK(s.backward_weight == Approx(1.1));  // 0.2 + 1.8 / 2
  CHECK(s.total() == Approx(2.2));
}

TEST_CASE("a row's own samples give exactly its seconds", "[profile]") {
  const Profile profile = one_layer({row(1, 0.1, 0.2, 0.3), row(3, 0.7, 1.1, 1.3)});
  CHECK(profile.seconds(0, "v100", 1, 1.0)->forward == 0.1);
  CHECK(profile.seconds(0, "v100", 1, 3.0)->backward_weight == 1.3);
}

TEST_CASE("outside the rows seconds are proportional through the nearest row", "[profile]") {
  const Profile profile = one_layer({row(4, 0.8, 1.6, 2.4), row(8, 1.0, 2.0, 3.0)});
  CHECK(profile.seconds(0, "v100", 1, 1.0)->forward == Approx(0.2));          // 0.8 * 1 / 4
  CHECK(profile.seconds(0, "v100", 1, 1.0)->backward_weight == Approx(0.6));  // 2.4 / 4
  CHECK(profile.seconds(0, "v100", 1, 32.0)->backward_input == Approx(8.0));  // 2.0 * 32 / 8
  const Profile single = one_layer({row(4, 0.8, 1.6, 2.4)});
  CHECK(single.seconds(0, "v100", 1, 6.0)->forward == Approx(1.2));
}

TEST_CASE("rows of another device or degree do not count", "[profile]") {
  const Profile profile =
      one_layer({row(1, 1.0, 1.0, 1.0), row(1, 0.6, 0.6, 0.6, 2), row(1, 3.0, 3.0, 3.0, 1, "t4")});
  CHECK(profile.seconds(0, "v100", 2, 2.0)->forward == Approx(1.2));
  CHECK(profile.seconds(0, "t4", 1, 1.0)->forward == 3.0);
  CHECK_FALSE(profile.seconds(0, "t4", 2, 1.0).has_value());
  CHECK(profile.has_degree("v100", 2));
  CHECK_FALSE(profile.has_degree("t4", 2));
  CHECK_FALSE(profile.has_degree("a100", 1));
}

TEST_CASE("update times are 0 where they are unknown", "[profile]") {
  Profile profile = one_layer({row(1, 1.0, 1.0, 1.0)});
  profile.layers[0].update_seconds[{"v100", 2}] = 0.25;
  CHECK(profile.update_seconds(0, "v100", 2) == 0.25);
  CHECK(profile.update_seconds(0, "v100", 1) == 0.0);
}

const std::string document = R"({"schema": "pptrain.profile/1", "model": "vgg19",
 "bytes_per_parameter": {"weight": 4, "gradient": 4, "optimizer": 8},
 "layers": [
   {"name": "conv1_1", "parameters": 1792, "output_bytes": 12845056, "stored_bytes": 25690112,
    "tensor_parallel_allreduce_bytes": 0,
    "seconds": [
      {"device": "v100", "tensor_parallel": 1, "samples": 32, "forward": 0.0021, "backward_input": 0.0022,
       "backward_weight": 0.0020},
      {"device": "v100", "tensor_parallel": 1, "samples": 64, "forward": 0.004, "backward": 0.008}]},
   {"name": "relu", "parameters": 0, "output_bytes": 0, "stored_bytes": 0, "tensor_parallel_allreduce_bytes": 0.5,
    "seconds": []}]})";

std::string refused(const std::string& from, const std::string& to) {
  return complaint_of([&] { parse_profile(replaced(document, from, to), "p.json"); });
}

TEST_CASE("a profile is read as documented", "[profile][json]") {
  const Profile profile = parse_profile(document, "p.json");
  CHECK(profile.model == "vgg19");
  CHECK(profile.bytes_per_parameter.optimizer == 8.0);
  REQUIRE(profile.num_layers() == 2);
  const ProfileLayer& layer = profile.layers[0];
  CHECK(layer.name == "conv1_1");
  CHECK(layer.stored_bytes == 25690112.0);
  REQUIRE(layer.rows.size() == 2);
  CHECK(layer.rows[0].seconds.backward_input == 0.0022);
  CHECK(layer.rows[0].split_known);
  CHECK(layer.rows[1].seconds.backward_input == 0.004);  // half of "backward"
  CHECK(layer.rows[1].seconds.backward_weight == 0.004);
  CHECK_FALSE(layer.rows[1].split_known);
  CHECK(profile.layers[1].rows.empty());
  CHECK(profile.workspace_bytes == 0.0);
}

TEST_CASE("a profile reads back as it was written", "[profile][json]") {
  Profile profile = parse_profile(document, "p.json");
  profile.workspace_bytes = 1.0 / 3.0;
  profile.layers[0].update_seconds[{"v100", 1}] = 0.1 + 0.2;
  profile.layers[0].rows[0].seconds.forward = 4.9406564584124654e-324;
  profile.layers[1].parameters = 1e18;
  const std::string text = write_profile(profile);
  const Profile back = parse_profile(text, "written");
  CHECK(back.workspace_bytes == 1.0 / 3.0);
  CHECK(back.update_seconds(0, "v100", 1) == 0.1 + 0.2);
  CHECK(back.layers[0].rows[0].seconds.forward == 4.9406564584124654e-324);
  CHECK(back.layers[1].parameters == 1e18);
  CHECK_FALSE(back.layers[0].rows[1].split_known);
  CHECK(write_profile(back) == text);
}

TEST_CASE("a profile says the bytes of gradients that travel where they are others than those held",
          "[profile][json]") {
  Profile profile = parse_profile(document, "p.json");
  CHECK(profile.bytes_per_parameter.sent() == profile.bytes_per_parameter.gradient);
  CHECK(write_profile(profile).find("sent_gradient") == std::string::npos);
  count_gradients(profile, GradientPrecision::bf16);
  const Profile back = parse_profile(write_profile(profile), "written");
  CHECK(back.bytes_per_parameter.sent() == 2.0);
  count_gradients(profile, GradientPrecision::fp32);
  CHECK(write_profile(profile).find("sent_gradient") == std::string::npos);
}

TEST_CASE("a profile may say where its figures are from", "[profile][json]") {
  CHECK(parse_profile(document, "p.json").source.empty());
  CHECK(write_profile(parse_profile(document, "p.json")).find("\"source\"") == std::string::npos);
  const std::string quoted = "table 2 of \"a paper\"\nand a line";
  Profile profile = parse_profile(document, "p.json");
  profile.source = quoted;
  const Profile back = parse_profile(write_profile(profile), "written");
  CHECK(back.source == quoted);
  CHECK(write_profile(back) == write_profile(profile));
  CHECK(refused("\"model\": \"vgg19\"", "\"model\": \"vgg19\", \"source\": 3")
            .starts_with("p.json: source: must be a string"));
}

TEST_CASE("each wrong value of a profile is refused with its path", "[profile][json]") {
  CHECK(refused("0.0021", "-1") ==
        "p.json: layers[0].seconds[0].forward: must be at least 0 (it is -1); correct the value");
  CHECK(refused("1792", "-5").starts_with("p.json: layers[0].parameters: must be at least 0"));
  CHECK(refused("1792", "1e300")
            .starts_with("p.json: layers[0].parameters: must be at most 1e+18 (it is 1e+300)"));
  CHECK(refused("12845056", "\"12 MB\"")
            .starts_with("p.json: layers[0].output_bytes: must be a number"));
  CHECK(
      refused("25690112", "null").starts_with("p.json: layers[0].stored_bytes: must be a number"));
  CHECK(refused("\"samples\": 32", "\"samples\": 0.5")
            .starts_with("p.json: layers[0].seconds[0].samples: must be at least 1"));
  CHECK(refused("\"tensor_parallel\": 1", "\"tensor_parallel\": 0")
            .starts_with("p.json: layers[0].seconds[0].tensor_parallel"));
  CHECK(refused("\"tensor_parallel\": 1", "\"tensor_parallel\": 1.5")
            .find("must be a whole number") != std::string::npos);
  CHECK(refused("\"samples\": 64", "\"samples\": 32")
            .starts_with("p.json: layers[0].seconds[1]: a second row"));
  CHECK(refused("\"relu\"", "\"conv1_1\"")
            .starts_with("p.json: layers[1].name: the layer name \"conv1_1\" is repeated"));
  CHECK(refused("\"relu\"", "\"\"").starts_with("p.json: layers[1].name: is empty"));
  CHECK(refused("profile/1", "profile/2")
            .starts_with("p.json: schema: unknown schema \"pptrain.profile/2\""));
  CHECK(refused("\"optimizer\": 8", "\"optimizer\": -8")
            .starts_with("p.json: bytes_per_parameter.optimizer: "));
  CHECK(refused("\"backward\": 0.008", "\"backward\": 0.008, \"backward_input\": 1")
            .find("both \"backward\"") != std::string::npos);
}

TEST_CASE("unknown, missing and repeated keys of a profile are refused", "[profile][json]") {
  CHECK(refused("stored_bytes", "stored_byte") ==
        "p.json: layers[0]: unknown key \"stored_byte\"; did you mean \"stored_bytes\"?");
  CHECK(refused("\"parameters\": 1792, ", "")
            .starts_with("p.json: layers[0].parameters: is missing"));
  CHECK(refused("\"model\": \"vgg19\"", "\"model\": \"a\", \"model\": \"b\"")
            .find("\"model\" appears twice") != std::string::npos);
  CHECK(
      complaint_of([] { parse_profile("[]", "p.json"); }).starts_with("p.json: must be an object"));
}

TEST_CASE("text of more levels than a profile has is refused with its line", "[profile][json]") {
  const std::string deep = "{\n\"x\": " + std::string(100000, '[');
  CHECK(complaint_of([&] {
          parse_profile(deep, "p.json");
        }).starts_with("p.json:2: has more than 32 levels"));
}

TEST_CASE("text that is no JSON is refused with its line", "[profile][json]") {
  const std::string broken = complaint_of([] { parse_profile("{\n \"schema\": }", "p.json"); });
  CHECK(broken.starts_with("p.json:2: this is not JSON (syntax error"));
  CHECK(refused("0.0021", "1e999").find("1e999") != std::string::npos);
  CHECK(refused("0.0021", "NaN").starts_with("p.json:7: this is not JSON"));
  CHECK(complaint_of([] {
          read_profile("no/such.json");
        }).starts_with("no/such.json: cannot read the file"));
  CHECK(refused(document.substr(document.find("\"layers\": [")), "\"layers\": []}")
            .starts_with("p.json: layers: has no layers"));
}

TEST_CASE("the lengths of axes are read, written and checked", "[profile]") {
  const std::string layer =
      R"({"name": "a", "parameters": 1, "output_bytes": 1, "stored_bytes": 1, "tensor_parallel_allreduce_bytes": 0,
          "seconds": [{"device": "v", "tensor_parallel": 1, "samples": 1, "forward": 1, "backward": 1}]})";
  const auto text = [&](const std::string& axes) {
    return R"({"schema": "pptrain.profile/1", "model": "m", "bytes_per_parameter": {"weight": 4, "gradient": 4,
               "optimizer": 8}, "axes": )" +
           axes + R"(, "layers": [)" + layer + "]}";
  };
  const Profile profile = parse_profile(text(R"({"heads": 4, "columns": 64})"), "p.json");
  CHECK(profile.axes == std::map<std::string, std::int64_t>{{"heads", 4}, {"columns", 64}});
  CHECK(parse_profile(write_profile(profile), "written").axes == profile.axes);
  CHECK(complaint_of([&] {
          parse_profile(text(R"({"heads": 0})"), "p.json");
        }).find("axes.heads") != std::string::npos);
  CHECK(complaint_of([&] { parse_profile(text(R"({"rows": 4})"), "p.json"); }).find("rows") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
