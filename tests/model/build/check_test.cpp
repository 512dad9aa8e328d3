#include "model/build/check.hpp"

#include "config/read.hpp"
#include "model/families/families.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

Config published_job(const std::string& model, const std::string& more = "") {
  return parse_config("[model]\nfrom = \"" + test_data("models/" + model) + "\"\n" + more,
                      "job.toml", "");
}

std::string complaint_of_llama(const std::string& more) {
  const Config config = published_job("llama", more);
  return complaint_of([&] { build_model_of(config); });
}

TEST_CASE("a job asks no more of its model than that has", "[chain]") {
  CHECK(complaint_of_llama("[parallelism]\npipeline = 6\ntensor = 4\n") == "nothing was refused");
  CHECK(complaint_of_llama("[parallelism]\npipeline = 7\n")
            .starts_with("job.toml:4: pipeline = 7 is more stages than"));
  CHECK(complaint_of_llama("[parallelism]\ntensor = 5\n")
            .starts_with("job.toml:4: tensor = 5 is more shards than"));
  CHECK(complaint_of_llama("[data]\nend_of_document = 256\n") == "nothing was refused");
  CHECK(complaint_of_llama("[data]\nend_of_document = 257\n")
            .starts_with("job.toml:4: end_of_document = 257 is no token"));
  const std::string annotated = "[[model.annotate]]\ndevices = 1\nlayers = [0, 7]\n";
  CHECK(complaint_of_llama(annotated).find("layers = [0, 7] are not layers of the model") !=
        std::string::npos);
}

Model build(const std::string& text, std::int64_t image_size) {
  return build_family(ConfigJson::parse(text, "config.json"),
                      {.tokens = 1, .image_size = image_size});
}

Model resnet(std::int64_t image_size = 32) {
  return build(
      R"({"model_type": "resnet", "embedding_size": 4, "hidden_sizes": [8, 16], "depths": [1, 2]})",
      image_size);
}

/// A network without batch norms.
Model vgg() {
  return build(R"({"model_type": "vgg", "num_labels": 10, "cfg": [4, "M"], "hidden": [4]})", 0);
}

/// What is said of a job for the residual network of the tests.
std::string complaint_of_resnet(const std::string& training, const std::string& more = "") {
  const std::string text =
      "[model]\nfrom = \"" + test_data("models/resnet") + "\"\nimage_size = 32\n" +
      "[data]\ntrain = \"synthetic\"\n[training]\nglobal_batch_size = 8\n" + training + "\n" + more;
  return complaint_of([&] { build_model_of(parse_config(text, "job.toml", "")); });
}

TEST_CASE("the size of a micro-batch is the user's where losses depend on it", "[families]") {
  CHECK_THAT(complaint_of_resnet(""),
             Catch::Contains("micro_batch_size = \"auto\" for a resnet") &&
                 Catch::Contains("set it to a number of samples: 8 for the global batch"));
  CHECK(complaint_of_resnet("micro_batch_size = 1") == "nothing was refused");  // the smallest map
                                                                                // has 16 pixels
  const Config config =
      parse_config("[training]\nglobal_batch_size = 8\nmicro_batch_size = 4\n", "job.toml", "");
  CHECK_NOTHROW(check_plan_batches(config, resnet(), 4, "plan.json"));
  CHECK_THAT(complaint_of([&] { check_plan_batches(config, resnet(), 8, "plan.json"); }),
             Catch::Contains("plan.json") && Catch::Contains("the configuration has one of 4"));
  CHECK_NOTHROW(check_plan_batches(config, vgg(), 8, "plan.json"));
  Config single =
      parse_config("[training]\nglobal_batch_size = 8\nmicro_batch_size = 1\n", "job.toml", "");
  single.model.from = "somewhere";
  CHECK_THAT(complaint_of([&] { check_fits(single, resnet(8)); }),
             Catch::Contains("one value in each channel") &&
                 Catch::Contains("use a micro_batch_size of 2 or more"));
}

TEST_CASE("context parallelism divides the positions of texts alone", "[families]") {
  CHECK(complaint_of_resnet("micro_batch_size = 2",
                            "[parallelism]\nlike = \"megatron\"\ncontext = 2\n") ==
        "job.toml:11: context = 2, but the samples of resnet are no tokens (context parallelism "
        "divides the positions of texts); leave the key out");
}

TEST_CASE("no more replicas divide experts than there are experts", "[families]") {
  const auto refused = [](const std::string& model, int replicas) {
    const Config config =
        published_job(model, "[parallelism]\nexpert = " + std::to_string(replicas) + "\n");
    return complaint_of([&] { build_model_of(config); });
  };
  CHECK(refused("mixtral", 4) == "nothing was refused");
  CHECK(refused("mixtral", 5) ==
        "job.toml:4: expert = 5, but mixtral has 4 experts in each such layer (each of the "
        "replicas that divide them has one at least); use at most 4 or \"auto\"");
  CHECK(refused("llama", 2).starts_with("job.toml:4: expert = 2, but llama has no experts ("));
}

TEST_CASE("losses depend on micro-batches where experts are balanced over them", "[families]") {
  const Model model = build_model_of(published_job("mixtral"));
  Config config;
  CHECK_FALSE(sums_over_micro_batches(config, model));
  CHECK_NOTHROW(check_plan_batches(config, model, 4, "plan.json"));
  config.training.router_aux_loss = 0.01;
  CHECK(sums_over_micro_batches(config, model));
  CHECK(complaint_of([&] { check_plan_batches(config, model, 4, "plan.json"); }) ==
        "plan.json: micro_batch_size = 4 (router_aux_loss balances experts over a micro-batch, and "
        "the configuration has none); make both equal");
}

}  // namespace
}  // namespace pptrain
