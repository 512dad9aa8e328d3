#include "config/check.hpp"

#include "config/texts.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

using test::parse;
using test::refused;

TEST_CASE("batch sizes that contradict each other name both and the nearest divisors", "[config]") {
  CHECK(refused("[training]\nglobal_batch_size = 12\nmicro_batch_size = 5\n") ==
        "c.toml:3: micro_batch_size = 5 does not divide global_batch_size = 12 (a step is a whole "
        "number of "
        "micro-batches); use 4 or 6, or \"auto\"");
  CHECK(refused("[training]\nglobal_batch_size = 8\nmicro_batch_size = 16\n").find("use 8,") !=
        std::string::npos);
  CHECK(refused("[training]\nmicro_batch_size = 2\n[parallelism]\ndata = 4\n")
            .starts_with("c.toml:4: data = 4"));
  CHECK(parse("[training]\nglobal_batch_size = 12\nmicro_batch_size = 4\n")
            .training.micro_batch_size == 4);
}

TEST_CASE("other contradictions are refused where they stand", "[config]") {
  CHECK(refused("[model]\nhidden_size = 64\nheads = 5\n") ==
        "c.toml:3: heads = 5 does not divide hidden_size = 64 (every head gets hidden_size / heads "
        "columns); "
        "use 4 or 8 heads");
  CHECK(refused("[model]\nlayers = 4\n[parallelism]\npipeline = 7\n")
            .starts_with("c.toml:4: pipeline = 7 is more"));
  CHECK(refused("[parallelism]\ntensor = 5\n").starts_with("c.toml:2: tensor = 5 is more shards"));
  CHECK(refused("[metrics]\nevaluation_interval = 5\n")
            .starts_with("c.toml:2: evaluation is asked for"));
  CHECK(refused("[lr_scheduler]\nname = \"cosine\"\nminimum = 1.0\n")
            .starts_with("c.toml:3: minimum = 1"));
  CHECK(refused("[lr_scheduler]\nname = \"step\"\n") ==
        "c.toml: name = \"step\" without step_interval (it says how often the learning rate is "
        "lowered); set "
        "step_interval to a number of steps");
  CHECK(refused("[lr_scheduler]\nname = \"wsd\"\n")
            .starts_with("c.toml: name = \"wsd\" without decay_steps"));
  CHECK(refused("[training]\nsteps = 10\n[lr_scheduler]\nname = \"wsd\"\nwarmup_steps = "
                "4\ndecay_steps = 7\n") ==
        "c.toml:6: decay_steps = 7 is longer than what the warm-up leaves (steps = 10 with "
        "warmup_steps = 4 leave 6); "
        "lower decay_steps or warmup_steps, or raise [training] steps");
  CHECK(refused("[optimizer]\nname = \"sgd\"\nnesterov = true\n") ==
        "c.toml:3: nesterov = true without momentum (Nesterov's step goes on by the momentum); set "
        "momentum = 0.9, or "
        "leave nesterov");
  CHECK(refused("[optimizer]\nmomentum = 1\n")
            .starts_with("c.toml:2: optimizer.momentum = 1 is out"));
  CHECK(refused("[optimizer]\nbeta2_decay = 0\n")
            .starts_with("c.toml:2: optimizer.beta2_decay = 0 is out"));
  CHECK(refused("[job]\nname = \"a/b\"\n").starts_with("c.toml:2: job.name = \"a/b\""));
  CHECK(refused("[job]\noutput = \"\"\n").starts_with("c.toml:2: job.output is empty"));
  CHECK(refused("[[model.annotate]]\nlayers = [0, 9]\ndevices = 1\n").find("not layers") !=
        std::string::npos);
}

TEST_CASE("a model that cannot be trained needs a profile", "[config]") {
  const std::string gpt3 = refused("[model]\nname = \"gpt3\"\n");
  CHECK(
      gpt3.starts_with("c.toml:2: model.name = \"gpt3\" is not known (known are gpt2, "
                       "mlp-classifier, bert-large, "));
  CHECK(gpt3.ends_with("; other models are planned from a profile); did you mean \"gpt2\"?"));
  CHECK(refused("[model]\nname = \"amoeba-36\"\n")
            .ends_with("use one of these, or name a PROFILE.json in [profile] file"));
  const Config config =
      parse("[model]\nname = \"amoeba-36\"\n[profile]\nfile = \"amoeba-36.json\"\n");
  CHECK(config.model.name == "amoeba-36");
  CHECK_FALSE(config.can_train_model());
  CHECK(parse("").can_train_model());
  CHECK(complaint_of([&] { check_trainable(config); }) ==
        "c.toml:2: name = \"amoeba-36\" cannot be trained (nothing but the profile describes it, "
        "so that this is a "
        "planning "
        "job); plan it: `pptrain plan c.toml --cluster CLUSTER.toml`");
}

TEST_CASE("a planning job takes its layers from the profile", "[config]") {
  const std::vector<std::string> deep = {"parallelism.pipeline=16", "parallelism.tensor=8"};
  CHECK(refused("", deep).find("pipeline = 16 is more stages") != std::string::npos);
  const Config config = parse("[profile]\nfile = \"p.json\"\n", deep);
  CHECK(config.parallelism.pipeline == 16);
  CHECK(complaint_of([&] { check_trainable(config); }).find("pipeline = 16 is more stages") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
