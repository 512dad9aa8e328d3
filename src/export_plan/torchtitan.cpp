// Configuration of torchtitan. Names and forms are those of torchtitan/config/job_config.py and
// torchtitan/distributed/pipeline_parallel.py of torchtitan 0.2.2, the last release that reads
// TOML, and of the schedules' CSV in torch/distributed/pipelining/schedules.py.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "config/schedule_kinds.hpp"
#include "export_plan/grid_export.hpp"
#include "export_plan/page.hpp"
#include "export_plan/torchtitan_model.hpp"
#include "export_plan/trainers.hpp"

namespace pptrain {
namespace {

PossibleMisfit torchtitan_misfit(const ExportedPlan& exported, const TrainerKind& trainer) {
  const DecoderShape& shape = exported.shape;
  const ExportGrid grid = grid_of(exported.plan);
  if (shape.tokens % grid.tensor != 0 || shape.key_heads % grid.tensor != 0)
    return Misfit{fmt::format("{} members share {} tokens and {} key heads", grid.tensor,
                              shape.tokens, shape.key_heads),
                  trainer.title + " divides both evenly"};
  const bool divided = grid.zero_stage > 0 || (grid.pipeline == 1 && grid.tensor == 1);
  if (exported.config.training.precision == Precision::bf16 && !divided)
    return Misfit{"precision \"bf16\" with one replica of each stage",
                  "beside pipeline or tensor parallelism torchtitan computes in bfloat16 only "
                  "where FSDP divides weights"};
  if (shape.tied && grid.pipeline > 1)
    return Misfit{"tied weights on several stages", trainer.why_no_tied_stages};
  return std::nullopt;
}

void check_torchtitan_job(const ExportedJob& job) {
  if (job.config.training.precision == Precision::fp16)
    throw_bad_input({job.config.where("training.precision"), "precision \"fp16\" for torchtitan",
                     "it computes in bfloat16 or float32",
                     "plan and export with --set training.precision=bf16"});
  torchtitan_model(job);
  torchtitan_optimizer(job);
}

class TorchtitanExport : private GridExport {
 public:
  explicit TorchtitanExport(const ExportedPlan& exported)
      : GridExport(exported), orders_(exported.orders()) {}

  std::vector<ExportFile> files() {
    std::vector<ExportFile> files = {{"config.toml", config()},
                                     {torchtitan_model_file, torchtitan_model(exported_)}};
    if (has_csv()) files.push_back({"schedule.csv", csv()});
    const std::string start =
        "# Python finds the model's file here, torchtitan the files that config.toml names.\n"
        "cd -- \"$here\"\n"
        "export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}\n"
        "exec \"${PYTHON:-python3}\" -m torchtitan.train --job.config_file config.toml \"$@\"\n";
    return files_with(std::move(files), start, page());
  }

 private:
  /// The name by which torch makes the plan's orders; "" where it has none.
  std::string torch_name() const {
    if (grid_.chunks > 1) return "";
    if (alternates(WarmUpOf::stages_left)) return "1F1B";
    return alternates(WarmUpOf::all) ? "GPipe" : "";
  }

  /// Forward passes before the first backward one: as many as there are stages from this one on, or
  /// all.
  enum class WarmUpOf { stages_left, all };

  /// Whether every stage runs one backward and one forward pass in turn behind this warm-up.
  bool alternates(WarmUpOf kind) const {
    const auto count = static_cast<int>(plan_.micro_batches);
    for (int s = 0; s < grid_.pipeline; ++s) {
      const int warm_up = kind == WarmUpOf::all ? count : std::min(grid_.pipeline - s, count);
      TaskOrder order;
      for (int i = 0; i < warm_up; ++i)
        order.push_back({TaskKind::forward, ChunkId(s), MicroBatchId(i)});
      for (int i = 0; i < count; ++i) {
        order.push_back({TaskKind::backward, ChunkId(s), MicroBatchId(i)});
        if (warm_up + i < count)
          order.push_back({TaskKind::forward, ChunkId(s), MicroBatchId(warm_up + i)});
      }
      if (order != orders_[static_cast<std::size_t>(s)]) return false;
    }
    return true;
  }

  bool has_csv() const { return grid_.pipeline > 1 && torch_name().empty(); }

  /// The name of the order or, where a file says it, one of torch's schedules whose chunks lie as
  /// the plan's do.
  std::string schedule() const {
    if (!has_csv()) return torch_name();
    return schedule_kind(plan_.schedule.name).placement == ChunkPlacement::v_shape
               ? "ZBVZeroBubble"
               : "Interleaved1F1B";
  }

  /// A line per rank of the pipeline: chunk, F, I (gradients of inputs), W (of weights) or B (of
  /// both), micro-batch.
  std::string csv() const {
    std::string text;
    for (const TaskOrder& order : orders_) {
      std::vector<std::string> actions;
      for (const Task& task : order)
        actions.push_back(
            fmt::format("{}{}{}", task.chunk.value, letter(task.kind), task.micro_batch.value));
      text += join(actions, ",") + "\n";
    }
    return text;
  }

  static char letter(TaskKind kind) {
    switch (kind) {
      case TaskKind::forward: return 'F';
      case TaskKind::backward_input: return 'I';
      case TaskKind::backward_weight: return 'W';
      case TaskKind::backward: return 'B';
    }
    return 'F';
  }

  /// Names of the modules of each chunk.
  std::string modules() const {
    std::string text = "module_fqns_per_model_part = [\n";
    for (const ChunkBlocks& chunk : chunk_blocks(exported_)) {
      std::vector<std::string> names;
      if (chunk.embedding) names.emplace_back("\"tok_embeddings\"");
      for (std::int64_t block = chunk.blocks.begin; block < chunk.blocks.end; ++block)
        names.push_back(fmt::format("\"layers.{}\"", block));
      if (chunk.output) names.insert(names.end(), {"\"norm\"", "\"output\""});
      text += "  [" + join(names) + "],\n";
    }
    return text + "]\n";
  }

  std::string config() const {
    const TrainingConfig& training = exported_.config.training;
    const bool divides = grid_.zero_stage > 0;
    const std::int64_t local =
        grid_.pipeline > 1 ? grid_.samples * plan_.micro_batches : grid_.samples;
    std::string text = fmt::format("[model]\nname = \"{}\"\nflavor = \"{}\"\n",
                                   torchtitan_model_name(shape_), torchtitan_flavor);
    text +=
        "# The folder of the tokenizer, as Hugging Face's libraries write it.\n"
        "hf_assets_path = \"./assets\"\n\n[experimental]\ncustom_import = \"pptrain_model\"\n\n";
    text += fmt::format(
        "[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\nsteps = {}\n",
        local, plan_.samples_per_step(), shape_.tokens, training.steps);
    text += fmt::format("max_norm = {}\nmixed_precision_param = \"{}\"\n",
                        exported_.config.optimizer.gradient_clip > 0.0
                            ? fmt::format("{}", exported_.config.optimizer.gradient_clip)
                            : "inf",
                        training.precision == Precision::bf16 ? "bfloat16" : "float32");
    text += "dataset = \"c4\"\n\n" + torchtitan_optimizer(exported_) + "\n[parallelism]\n";
    text += fmt::format("data_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n",
                        divides ? grid_.zero_runs : grid_.data,
                        divides ? grid_.data / grid_.zero_runs : 1);
    if (grid_.context > 1) text += fmt::format("context_parallel_degree = {}\n", grid_.context);
    if (divides)
      text += fmt::format("fsdp_reshard_after_forward = \"{}\"\n",
                          grid_.zero_stage == 3 ? "always" : "never");
    text += fmt::format("tensor_parallel_degree = {}\npipeline_parallel_degree = {}\n",
                        grid_.tensor, grid_.pipeline);
    if (grid_.pipeline > 1) {
      text += fmt::format(
          "pipeline_parallel_microbatch_size = {}\npipeline_parallel_schedule = \"{}\"\n",
          grid_.samples, schedule());
      if (has_csv()) text += "pipeline_parallel_schedule_csv = \"schedule.csv\"\n";
      text += modules();
    }
    text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", to_string(grid_.recompute));
    return text + (grid_.recompute == Recompute::selective ? "selective_ac_option = \"op\"\n" : "");
  }

  ExportFile page() const {
    ExportPage page;
    page.title = "torchtitan";
    page.version = "torchtitan 0.2.2, the last release that reads TOML" +
                   std::string(has_csv() ? ", and the schedules' CSV of PyTorch 2.15" : "");
    page.steps = {
        hosts_step(),
        "Install torchtitan 0.2.2 and its PyTorch, and set `PYTHON` to its Python where that is "
        "not `python3`.",
        "In `config.toml`, set `hf_assets_path` to the folder of the tokenizer, and `dataset` and "
        "`dataset_path` to your data.",
        "`sbatch job.sbatch`, here. More options follow: `sbatch job.sbatch --training.steps "
        "1000`."};
    page.files = launch_files();
    page.files.insert(page.files.begin(), {{"config.toml", "the job"},
                                           {torchtitan_model_file, "the model's dimensions"}});
    if (has_csv())
      page.files.push_back({"schedule.csv",
                            "the order of passes, a line per rank of the pipeline: chunk, `F`, `I` "
                            "(gradients of inputs), `W` (of weights) or `B` (both), micro-batch"});
    page.mapped = {
        {"stages, chunks and their layers", "`module_fqns_per_model_part`, a list for each chunk"},
        {"schedule", has_csv() ? "`schedule.csv`; the schedule's name says how chunks lie on ranks"
                               : "`pipeline_parallel_schedule`"},
        {"replicas and ZeRO",
         "`data_parallel_replicate_degree`, `data_parallel_shard_degree`, "
         "`fsdp_reshard_after_forward`: `never` keeps weights whole between passes, as stages 1 "
         "and 2"},
        {"samples of a replica",
         grid_.pipeline > 1 ? "`pipeline_parallel_microbatch_size`; `local_batch_size` is that "
                              "times the micro-batches"
                            : "`local_batch_size`; micro-batches are gradient accumulation"},
        {"devices",
         rank_order_text() + ", as torchtitan's mesh pp, dp_replicate, dp_shard, cp, tp"},
        {"recompute",
         "`[activation_checkpoint] mode`; `selective` keeps attention and every other product"}};
    if (grid_.context > 1)
      page.mapped.push_back(
          {"context",
           "`context_parallel_degree`: replicas that divide the positions of each sample"});
    page.differs = {
        "Weights are gathered by FSDP for each pass with stage 3, else once a step; its "
        "prefetching is its own.",
        "Tensor parallelism divides norms along the sequence.",
        "Initial weights, the order of samples and dropout (there is none) are torchtitan's.",
        predicted_runtime_text("torchtitan")};
    return page_file(exported_, page);
  }

  std::vector<TaskOrder> orders_;  // of every stage
};

}  // namespace

TrainerExport torchtitan_export() {
  return {"torchtitan", check_torchtitan_job, torchtitan_misfit,
          [](const ExportedPlan& exported) { return TorchtitanExport(exported).files(); }};
}

}  // namespace pptrain
