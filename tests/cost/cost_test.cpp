// What may be costed. Costs are in amp_test.cpp, dapple_test.cpp, time_parts_test.cpp,
// memory_test.cpp, bound_test.cpp and predict_test.cpp.
#include "cost/cost.hpp"

#include "config/read.hpp"
#include "cost/instances.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("a kind of device without times is refused by name", "[cost]") {
  const Profile profile = two_layers(50.0);
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  const std::string text = complaint_of([&] { check_instance({profile, cluster, 8}, "p.json"); });
  CHECK(text.starts_with("p.json: the profile has no time of layer \"a\" on device kind \"t\""));
  CHECK(text.find("--analytic") != std::string::npos);
}

TEST_CASE("a plan with a degree that the profile lacks is refused", "[cost]") {
  const Profile profile = two_layers(50.0);
  const Cluster cluster = nodes_of(1, 2);
  const Plan plan = uniform_plan({{0, 2}}, 1, 2, 8, 4, "1f1b");
  CHECK(complaint_of([&] {
          predict({profile, cluster, 8}, plan);
        }).find("no time of layer \"a\" on device kind \"v\" at tensor_parallel 2") !=
        std::string::npos);
}

Config small_gpt2(bool tied) {
  return parse_config(fmt::format("model.layers = 2\nmodel.hidden_size = 8\nmodel.heads = 2\n"
                                  "model.vocabulary_size = 100\nmodel.tied = {}\n",
                                  tied),
                      "c.toml", "");
}

TEST_CASE("ties are those of the configuration's model where the profile has its layers",
          "[cost]") {
  Profile profile;
  for (const char* name : {"embedding", "block", "block", "output"})
    profile.layers.push_back(layer(name, 1, 1, 1));
  profile.bytes_per_parameter.gradient = 2;
  Config config = small_gpt2(true);
  const std::vector<Tie> ties = ties_of(config, profile);
  REQUIRE(ties.size() == 1);
  CHECK(ties[0].layers == std::vector<std::int64_t>{0, 3});
  CHECK(ties[0].gradient_bytes() == 100 * 8 * 2);
  CHECK(ties_of(small_gpt2(false), profile).empty());
  CHECK(ties_of(config, two_layers(1.0)).empty());  // of another model
  config.model.name = "other";                      // that pptrain does not train
  CHECK(ties_of(config, profile).empty());
}

}  // namespace
}  // namespace pptrain
