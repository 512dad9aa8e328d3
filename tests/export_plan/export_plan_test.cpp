#include "export_plan/export_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/read.hpp"
#include "cost/instances.hpp"
#include "model/build/check.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// A GPT-2 of an embedding, four blocks and an output layer on two nodes of two devices.
struct SmallGpt {
  Config config = parse_config(
      "model.name = \"gpt2\"\nmodel.layers = 4\nmodel.hidden_size = 64\nmodel.heads = 4\n"
      "model.vocabulary_size = 512\ntraining.sequence_length = 64\n"
      "training.global_batch_size = 16\n",
      "job.toml", "");
  Model model = build_model_of(config);
  Cluster cluster = nodes_of(2, 2);
  Plan plan = uniform_plan({{0, 3}, {3, 6}}, 2, 1, 16, 4, "1f1b");

  ExportedPlan exported(const TrainerKind& trainer) const {
    return {exported_job(trainer, config, model, "plan.json"), plan, cluster,
            [this] { return task_orders(plan); }};
  }
  std::vector<ExportFile> files(const TrainerKind& trainer) const {
    return export_plan(exported(trainer), trainer);
  }
};

/// The problem of a misfit; "" where there is none.
std::string problem_of(const ExportedPlan& exported, const TrainerKind& trainer) {
  const PossibleMisfit misfit = misfit_of(exported, trainer);
  return misfit ? misfit->problem : "";
}

const TrainerKind& megatron() { return *trainer_kind("megatron"); }
const TrainerKind& deepspeed() { return *trainer_kind("deepspeed"); }

std::string text_of(const std::vector<ExportFile>& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const ExportFile& file) { return file.name == name; });
  REQUIRE(found != files.end());
  return found->text;
}

TEST_CASE("a job is told with its shape, unless a trainer has not its model or optimizer",
          "[export_plan]") {
  SmallGpt gpt;
  const ExportedJob job = exported_job(megatron(), gpt.config, gpt.model, "job.toml");
  CHECK(&job.config == &gpt.config);
  CHECK(&job.model == &gpt.model);
  CHECK(job.source == "job.toml");
  CHECK(job.shape.num_blocks() == 4);
  CHECK(job.shape.hidden == 64);
  CHECK(complaint_of([&] {
          exported_job(*trainer_kind("torchtitan"), gpt.config, gpt.model, "job.toml");
        }).starts_with("job.toml: torchtitan cannot be told of the model gpt2"));
  gpt.config.optimizer.kind = OptimizerKind::muon;
  CHECK(complaint_of([&] {
          exported_job(deepspeed(), gpt.config, gpt.model, "job.toml");
        }).find("DeepSpeed is not told of the optimizer \"muon\"") != std::string::npos);
}

TEST_CASE("files of a plan have its stages, batches and processes", "[export_plan]") {
  const SmallGpt gpt;
  const std::vector<ExportFile> deepspeeds = gpt.files(deepspeed());
  const nlohmann::json config = nlohmann::json::parse(text_of(deepspeeds, "ds_config.json"));
  CHECK(config.at("train_batch_size") == 16);
  CHECK(config.at("train_micro_batch_size_per_gpu") == 2);
  CHECK(config.at("gradient_accumulation_steps") == 4);
  // The embedding and two blocks; two blocks and the output.
  CHECK(text_of(deepspeeds, "pptrain_pipeline.py").find("\nCUTS = [0, 3, 6]\n") !=
        std::string::npos);
  const std::vector<ExportFile> megatrons = gpt.files(megatron());
  CHECK(
      text_of(megatrons, "arguments.txt").find("--pipeline-model-parallel-layout E,t*2|t*2,L\n") !=
      std::string::npos);
  for (const char* name : {"rank.sh", "ranks.tsv", "hosts.txt", "job.sbatch", "README.md"}) {
    for (const auto& files : {deepspeeds, megatrons}) CHECK_FALSE(text_of(files, name).empty());
  }
}

TEST_CASE("the first reason why a trainer cannot run a plan is said, with what to do",
          "[export_plan]") {
  SmallGpt gpt;
  CHECK_FALSE(misfit_of(gpt.exported(megatron()), megatron()));
  CHECK_FALSE(misfit_of(gpt.exported(deepspeed()), deepspeed()));
  gpt.plan.schedule.name = "zb-h1";
  const PossibleMisfit misfit = misfit_of(gpt.exported(deepspeed()), deepspeed());
  REQUIRE(misfit);
  CHECK(misfit->problem == "schedule \"zb-h1\"");
  CHECK(misfit->reason == deepspeed().why_schedules);
  CHECK(complaint_of([&] { gpt.files(deepspeed()); }) ==
        "plan.json: schedule \"zb-h1\" (DeepSpeed's pipelines run one chunk per stage in the order "
        "of 1f1b); plan again with --like deepspeed");
  gpt.plan.stages[1].zero_stage = 1;  // is looked at before the schedule
  CHECK(problem_of(gpt.exported(megatron()), megatron()).starts_with("stages 0 and 1 have "));
}

TEST_CASE("what one trainer alone lacks is no reason for another", "[export_plan]") {
  SmallGpt gpt;
  gpt.plan = uniform_plan({{0, 6}}, 4, 1, 16, 4, "1f1b");
  gpt.plan.stages[0].zero_stage = 3;
  CHECK_FALSE(misfit_of(gpt.exported(deepspeed()), deepspeed()));
  CHECK(problem_of(gpt.exported(megatron()), megatron()) == "replicas with ZeRO stage 3");
  gpt.plan.stages[0].zero_stage = 0;
  gpt.plan.stages[0].offload = true;
  CHECK(problem_of(gpt.exported(deepspeed()), deepspeed()) ==
        "the optimizer state is in the host's memory without ZeRO");
  CHECK_FALSE(misfit_of(gpt.exported(megatron()), megatron()));
}

TEST_CASE("stages that warm up with fewer passes than 1f1b are no plan of such a trainer",
          "[export_plan]") {
  const SmallGpt gpt;
  ExportedPlan exported = gpt.exported(deepspeed());
  exported.orders = [&] {
    std::vector<TaskOrder> orders = task_orders(gpt.plan);
    const auto backward = std::find_if(orders[0].begin(), orders[0].end(), [](const Task& task) {
      return task.kind != TaskKind::forward;
    });
    std::iter_swap(backward, backward - 1);
    return orders;
  };
  CHECK(problem_of(exported, deepspeed()) ==
        "stage 0 starts with 1 forward passes where 1f1b has 2");
}

}  // namespace
}  // namespace pptrain
