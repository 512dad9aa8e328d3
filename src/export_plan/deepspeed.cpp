// Configuration of DeepSpeed. Names and forms are those of deepspeed/runtime/config.py and, for
// pipelines, of deepspeed/runtime/pipe/module.py and engine.py.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/names.hpp"
#include "export_plan/grid_export.hpp"
#include "export_plan/page.hpp"
#include "export_plan/trainers.hpp"
#include "profile/json.hpp"

namespace pptrain {
namespace {

[[noreturn]] void throw_optimizer(const ExportedJob& job) {
  throw_bad_input(
      {job.config.where("optimizer.name"),
       fmt::format("DeepSpeed is not told of the optimizer \"{}\"", job.config.optimizer.name()),
       "its configuration has adamw, lion and sgd",
       "plan and export with --set optimizer.name=adamw"});
}

Json optimizer_of(const ExportedJob& job) {
  const OptimizerConfig& o = job.config.optimizer;
  if (o.kind == OptimizerKind::adamw)
    return {{"type", "AdamW"},
            {"params",
             {{"lr", o.learning_rate},
              {"betas", {o.beta1, o.beta2}},
              {"eps", o.epsilon},
              {"weight_decay", o.decay()}}}};
  if (o.kind == OptimizerKind::lion)
    return {
        {"type", "Lion"},
        {"params",
         {{"lr", o.learning_rate}, {"betas", {o.beta1, o.beta2}}, {"weight_decay", o.decay()}}}};
  if (o.kind == OptimizerKind::sgd)
    return {{"type", "SGD"},
            {"params",
             {{"lr", o.learning_rate},
              {"momentum", o.momentum},
              {"nesterov", o.nesterov},
              {"weight_decay", o.decay()}}}};
  throw_optimizer(job);
}

PossibleMisfit deepspeed_misfit(const ExportedPlan& exported, const TrainerKind& trainer) {
  const ExportGrid grid = grid_of(exported.plan);
  if (grid.offload && grid.zero_stage == 0)
    return Misfit{"the optimizer state is in the host's memory without ZeRO",
                  "DeepSpeed moves there what ZeRO divides"};
  return warm_up_misfit(exported, trainer);
}

void check_deepspeed_job(const ExportedJob& job) { optimizer_of(job); }

class DeepspeedExport : private GridExport {
 public:
  explicit DeepspeedExport(const ExportedPlan& exported) : GridExport(exported) {}

  std::vector<ExportFile> files() {
    std::vector<ExportFile> files = {{"ds_config.json", config()}};
    if (has_stages()) files.push_back({"pptrain_pipeline.py", pipeline()});
    const std::string start =
        "export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}\n"
        "exec \"${PYTHON:-python3}\" \"${TRAIN:?is to be your training program}\" --deepspeed \\\n"
        "  --deepspeed_config \"$here/ds_config.json\" --local_rank \"$LOCAL_RANK\" \"$@\"\n";
    return files_with(std::move(files), start, page());
  }

 private:
  bool has_stages() const { return grid_.pipeline > 1; }

  std::string config() const {
    const TrainingConfig& training = exported_.config.training;
    Json json = {{"train_batch_size", plan_.global_batch_size},
                 {"train_micro_batch_size_per_gpu", grid_.samples},
                 {"gradient_accumulation_steps", plan_.micro_batches},
                 {"gradient_clipping", exported_.config.optimizer.gradient_clip},
                 {"optimizer", optimizer_of(exported_)},
                 {"bf16", {{"enabled", training.precision == Precision::bf16}}},
                 {"fp16", {{"enabled", training.precision == Precision::fp16}}}};
    if (training.precision == Precision::fp16)
      json["fp16"]["loss_scale"] = training.loss_scale.value_or(0.0);
    json["zero_optimization"] = {{"stage", grid_.zero_stage}};
    // DeepSpeed divides the state of an optimizer of torch's own only when it is told that this is
    // meant.
    if (exported_.config.optimizer.kind == OptimizerKind::sgd && grid_.zero_stage > 0)
      json["zero_allow_untested_optimizer"] = true;
    if (grid_.offload)
      json["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
    if (training.gradient_precision == GradientPrecision::bf16)
      json["communication_data_type"] = "bf16";
    json["activation_checkpointing"] = {{"partition_activations", false},
                                        {"cpu_checkpointing", false}};
    json["steps_per_print"] = exported_.config.metrics.interval;
    return json.dump(2) + "\n";
  }

  /// The first entry of each stage in the list of layers, and the length of the list: the
  /// embedding, the blocks, then norm, output layer and loss as one.
  std::string cuts() const {
    std::vector<std::string> cuts = {"0"};
    for (const ChunkBlocks& chunk : chunk_blocks(exported_))
      cuts.push_back(std::to_string(1 + chunk.blocks.end + (chunk.output ? 1 : 0)));
    return "[" + join(cuts) + "]";
  }

  std::string pipeline() const {
    return fmt::format(
        "\"\"\"The pipeline of the plan, for DeepSpeed.\n\n"
        "LAYERS is a list of {} entries: the embedding, the {} blocks of the model, then norm, "
        "output layer and loss "
        "as "
        "one.\n\n"
        "    from pptrain_pipeline import PlannedPipeline\n"
        "    model = PlannedPipeline(LAYERS, loss_fn=loss)\n"
        "    engine, *_ = deepspeed.initialize(args=args, model=model, "
        "model_parameters=model.parameters())\n"
        "    engine.train_batch(data_iter)\n\"\"\"\n\n"
        "from deepspeed.pipe import PipelineModule\n\n"
        "NUM_STAGES = {}\n"
        "# First entry of each stage, and the length of the list.\n"
        "CUTS = {}\n"
        "# Layers whose activations are computed again together; 0: none are.\n"
        "CHECKPOINTED_LAYERS = {}\n\n\n"
        "class PlannedPipeline(PipelineModule):\n"
        "    \"\"\"A pipeline with the cuts of the plan, which no partition_method of DeepSpeed's "
        "takes.\"\"\"\n\n"
        "    def __init__(self, layers, **options):\n"
        "        layers = list(layers)\n"
        "        if len(layers) != CUTS[-1]:\n"
        "            raise ValueError(f\"the plan is for {{CUTS[-1]}} layers, not "
        "{{len(layers)}}\")\n"
        "        options.setdefault(\"activation_checkpoint_interval\", CHECKPOINTED_LAYERS)\n"
        "        super().__init__(layers, num_stages=NUM_STAGES, **options)\n\n"
        "    def _partition_layers(self, method=None):\n"
        "        stage = self._topo.get_coord(self.global_rank).pipe\n"
        "        self.parts = CUTS\n"
        "        self._set_bounds(start=CUTS[stage], stop=CUTS[stage + 1])\n",
        shape_.num_blocks() + 2, shape_.num_blocks(), grid_.pipeline, cuts(),
        grid_.recompute == Recompute::full ? 1 : 0);
  }

  ExportFile page() const {
    ExportPage page;
    page.title = "DeepSpeed";
    page.version = "DeepSpeed 0.16.5";
    page.steps = {hosts_step(),
                  has_stages()
                      ? "Build your model as a list of layers and make `PlannedPipeline` of "
                        "`pptrain_pipeline.py` of "
                        "it; the file says how."
                      : "Give your model to `deepspeed.initialize(args=args, model=..., ...)`.",
                  "Set `TRAIN` to your training program, which has DeepSpeed's options "
                  "(`deepspeed.add_config_arguments`) "
                  "and `--local_rank`.",
                  "`sbatch job.sbatch`, here. Options of your program follow."};
    page.files = launch_files();
    page.files.insert(page.files.begin(),
                      {"ds_config.json", "batch sizes, ZeRO, precision, optimizer"});
    if (has_stages())
      page.files.push_back(
          {"pptrain_pipeline.py", "the stages: `PipelineModule` with the plan's cuts"});
    page.mapped = {
        {"micro-batches", "`gradient_accumulation_steps`"},
        {"samples of a replica", "`train_micro_batch_size_per_gpu`"},
        {"replicas", fmt::format("{} = `train_batch_size` / (`train_micro_batch_size_per_gpu` x "
                                 "`gradient_accumulation_steps`)",
                                 grid_.data)},
        {"ZeRO, offload", "`zero_optimization`"},
        {"stages and their layers", has_stages() ? "`CUTS` of `pptrain_pipeline.py`" : "one stage"},
        {"recompute",
         has_stages() ? "`activation_checkpoint_interval` of the pipeline"
         : grid_.recompute == Recompute::full
             ? "each block of your model goes through `deepspeed.checkpointing.checkpoint`"
             : "nothing is computed again"},
        {"devices", rank_order_text() + ", as DeepSpeed's axes pipe, data"}};
    page.differs = {
        "DeepSpeed knows no model: dimensions, tensor and expert parallelism are those of your "
        "program.",
        "The learning rate is the optimizer's; a schedule is your program's, or a `scheduler` that "
        "you add.",
        "Sums of gradients follow `reduce_bucket_size` and `overlap_comm` as DeepSpeed has them.",
        predicted_runtime_text("deepspeed")};
    return page_file(exported_, page);
  }
};

}  // namespace

TrainerExport deepspeed_export() {
  return {"deepspeed", check_deepspeed_job, deepspeed_misfit,
          [](const ExportedPlan& exported) { return DeepspeedExport(exported).files(); }};
}

}  // namespace pptrain
