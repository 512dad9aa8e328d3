#include "config/trainer_kinds.hpp"

#include "config/texts.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("trainers are found by their names, and pptrain is none of them", "[config][like]") {
  REQUIRE(trainer_names().size() == trainer_kinds().size());
  for (std::size_t t = 0; t < trainer_kinds().size(); ++t) {
    CHECK(trainer_names()[t] == trainer_kinds()[t].name);
    CHECK(trainer_kind(trainer_names()[t]) == &trainer_kinds()[t]);
  }
  CHECK(trainer_kind("pptrain") == nullptr);
  CHECK(trainer_kind("Megatron") == nullptr);
}

TEST_CASE("a trainer runs the schedules that it names, or all where it names none",
          "[config][like]") {
  TrainerKind trainer;
  CHECK((trainer.runs("gpipe") && trainer.runs("zb-v") && trainer.runs_chunks()));
  trainer.schedules = {"gpipe", "1f1b"};
  CHECK((trainer.runs("1f1b") && !trainer.runs("zb-v") && !trainer.runs_chunks()));
  trainer.schedules.push_back("interleaved-1f1b");
  CHECK(trainer.runs_chunks());
  trainer.recomputes = {Recompute::none, Recompute::full};
  CHECK((trainer.has(Recompute::full) && !trainer.has(Recompute::selective)));
}

TEST_CASE("stages of ZeRO depend on whether replicas have several devices or stages",
          "[config][like]") {
  TrainerKind trainer;
  trainer.zero_alone = {3};
  trainer.zero_tensor = {2};
  trainer.zero_staged = {1};
  CHECK(trainer.zero_stages(1, 1) == std::vector<int>{3});
  CHECK(trainer.zero_stages(1, 2) == std::vector<int>{2});
  CHECK(trainer.zero_stages(2, 1) == std::vector<int>{1});
  CHECK(trainer.zero_stages(2, 2) == std::vector<int>{1});
  for (const int stage : {0, 1, 2, 3}) CHECK(trainer.has_zero_stage(stage));
  trainer.zero_tensor = {1};
  CHECK_FALSE(trainer.has_zero_stage(2));
}

TEST_CASE("a profile is of the execution that is named, or of the trainer's that plans are for",
          "[config][like]") {
  const auto runtime = [](const std::string& text) {
    return predicted_runtime(test::parse("[profile]\nanalytic = true\n" + text));
  };
  CHECK(runtime("") == "pptrain");
  CHECK(runtime("like = \"jax\"\n") == "jax");
  CHECK(runtime("[parallelism]\nlike = \"flagscale\"\n") == "megatron");
  CHECK(runtime("[parallelism]\nlike = \"deepspeed\"\n") == "deepspeed");
  CHECK(runtime("like = \"pptrain\"\n[parallelism]\nlike = \"deepspeed\"\n") == "pptrain");
  const auto divides = [](const std::string& text) {
    return divides_positions(test::parse("[profile]\nanalytic = true\n" + text));
  };
  CHECK_FALSE(divides(""));
  CHECK(divides("sequence_parallel = true\n"));
  CHECK(divides("[parallelism]\nlike = \"megatron\"\n"));
  CHECK_FALSE(divides("[parallelism]\nlike = \"deepspeed\"\n"));
  CHECK_FALSE(divides("sequence_parallel = false\n[parallelism]\nlike = \"megatron\"\n"));
  CHECK(divides("sequence_parallel = true\n[parallelism]\nlike = \"deepspeed\"\n"));
}

}  // namespace
}  // namespace pptrain
