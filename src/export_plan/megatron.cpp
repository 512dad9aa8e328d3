// Arguments of Megatron-LM. Names and forms are those of megatron/training/arguments.py and, for
// the layout of the layers, of megatron/core/transformer/pipeline_parallel_layer_layout.py.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/names.hpp"
#include "export_plan/grid_export.hpp"
#include "export_plan/megatron_model.hpp"
#include "export_plan/page.hpp"
#include "export_plan/trainers.hpp"

namespace pptrain {
namespace {

PossibleMisfit megatron_misfit(const ExportedPlan& exported, const TrainerKind& trainer) {
  const ExportGrid grid = grid_of(exported.plan);
  if (auto found = heads_misfit(exported.shape, grid.tensor, trainer)) return found;
  if (grid.pipeline == 1 && grid.chunks > 1)
    return Misfit{fmt::format("{} chunks on one stage", grid.chunks),
                  "Megatron-LM interleaves stages of a pipeline"};
  if (grid.chunks > 1 && exported.plan.micro_batches % grid.pipeline != 0)
    return Misfit{fmt::format("{} micro-batches on {} stages with several chunks",
                              exported.plan.micro_batches, grid.pipeline),
                  "Megatron-LM runs the rest behind groups of as many as there are stages in "
                  "another order than the plan"};
  return grid.chunks == 1 ? warm_up_misfit(exported, trainer) : std::nullopt;
}

void check_megatron_job(const ExportedJob& job) {
  megatron_model_arguments(job);
  megatron_training_arguments(job);
}

class MegatronExport : private GridExport {
 public:
  explicit MegatronExport(const ExportedPlan& exported) : GridExport(exported) {}

  std::vector<ExportFile> files() {
    std::vector<std::string> lines = megatron_model_arguments(exported_);
    append(lines, parallelism());
    append(lines, memory());
    append(lines, megatron_training_arguments(exported_));
    const std::string start =
        "# Words of the layout stay as they are: no shell looks at the lines of the file.\n"
        "arguments=()\n"
        "while read -ra words; do arguments+=(\"${words[@]}\"); done <\"$here/arguments.txt\"\n"
        "# Data of your own: set DATA to its options, as in README.md.\n"
        "read -ra data <<<\"${DATA:---mock-data --tokenizer-type NullTokenizer --vocab-size " +
        std::to_string(shape_.vocabulary - 1) +
        "}\"\n"
        "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
        "cd -- \"${MEGATRON:?is to be the folder of Megatron-LM}\"\n"
        "exec \"${PYTHON:-python3}\" pretrain_gpt.py \"${arguments[@]}\" \"${data[@]}\" \"$@\"\n";
    return files_with({{"arguments.txt", join(lines, "\n") + "\n"}}, start, page());
  }

 private:
  static void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  }

  std::string layout() const {
    std::vector<std::string> stages;
    for (const ChunkBlocks& chunk : chunk_blocks(exported_)) {
      std::vector<std::string> parts;
      if (chunk.embedding) parts.emplace_back("E");
      if (chunk.blocks.size() == 1) parts.emplace_back("t");
      if (chunk.blocks.size() > 1) parts.push_back(fmt::format("t*{}", chunk.blocks.size()));
      if (chunk.output) parts.emplace_back("L");
      stages.push_back(join(parts, ","));
    }
    return join(stages, "|");
  }

  std::vector<std::string> parallelism() const {
    std::vector<std::string> lines = {
        fmt::format("--tensor-model-parallel-size {}", grid_.tensor),
        fmt::format("--pipeline-model-parallel-size {}", grid_.pipeline)};
    if (grid_.pipeline > 1) lines.push_back("--pipeline-model-parallel-layout " + layout());
    if (grid_.context > 1)
      lines.push_back(fmt::format("--context-parallel-size {}", grid_.context));
    if (grid_.tensor > 1 && shape_.tokens % grid_.tensor == 0)
      lines.emplace_back("--sequence-parallel");
    if (shape_.experts.number > 0) {
      const int expert_parallel = grid_.whole_experts ? grid_.tensor : grid_.expert_replicas;
      lines.push_back(fmt::format("--expert-model-parallel-size {}", expert_parallel));
      lines.push_back(
          fmt::format("--expert-tensor-parallel-size {}", grid_.whole_experts ? 1 : grid_.tensor));
    }
    lines.push_back(fmt::format("--micro-batch-size {}", grid_.samples));
    lines.push_back(fmt::format("--global-batch-size {}", plan_.samples_per_step()));
    return lines;
  }

  std::vector<std::string> memory() const {
    std::vector<std::string> lines;
    if (grid_.zero_stage == 1 || grid_.offload) lines.emplace_back("--use-distributed-optimizer");
    if (grid_.zero_runs > 1)
      lines.push_back(fmt::format("--num-distributed-optimizer-instances {}", grid_.zero_runs));
    if (grid_.offload) {
      lines.emplace_back("--optimizer-cpu-offload");
      lines.emplace_back("--use-precision-aware-optimizer");
    }
    if (grid_.recompute == Recompute::selective) {
      lines.emplace_back("--recompute-granularity selective");
      lines.emplace_back("--recompute-modules core_attn");
    }
    if (grid_.recompute == Recompute::full) {
      lines.emplace_back("--recompute-granularity full");
      lines.emplace_back("--recompute-method uniform");
      lines.emplace_back("--recompute-num-layers 1");
    }
    return lines;
  }

  /// The versions that have all options which are written.
  std::string version() const {
    if (shape_.experts.shared > 0)
      return "Megatron-LM core 0.16 to 0.20; earlier ones have no `--moe-shared-expert-gate`";
    if (shape_.window > 0 && shape_.window < shape_.tokens)
      return "Megatron-LM core 0.15 to 0.20; earlier ones have no `--window-size`";
    return "Megatron-LM core 0.13 to 0.20; earlier ones have no `--pipeline-model-parallel-layout`";
  }

  ExportFile page() const {
    ExportPage page;
    page.title = "Megatron-LM";
    page.version = version();
    page.steps = {hosts_step(),
                  "Set `MEGATRON` to the folder of Megatron-LM, in an environment in which its "
                  "`pretrain_gpt.py` runs.",
                  "Set `DATA` to the options of your data, such as `--data-path PREFIX "
                  "--tokenizer-type HuggingFaceTokenizer "
                  "--tokenizer-model FOLDER --split 99,1,0`. Without it Megatron-LM trains on "
                  "tokens that it makes up.",
                  "`sbatch job.sbatch`, here. More options, such as `--save FOLDER --save-interval "
                  "500`, follow: "
                  "`sbatch job.sbatch --save FOLDER --save-interval 500`."};
    page.files = launch_files();
    page.files.insert(page.files.begin(),
                      {"arguments.txt", "options of `pretrain_gpt.py`, one to a line"});
    page.mapped = {
        {"stages, chunks and their layers",
         "`--pipeline-model-parallel-layout`: `E` is the embedding, `t` a block, `L` "
         "norm, output layer and loss; virtual stages in the order of the layers"},
        {"replicas", fmt::format("{} processes / ({} x {}{}) = {}", grid_.devices(), grid_.tensor,
                                 grid_.context > 1 ? fmt::format("{} x ", grid_.context) : "",
                                 grid_.pipeline, grid_.data)},
        {"samples of a replica", "`--micro-batch-size`"},
        {"devices", rank_order_text() + ", as Megatron-LM's order tp-cp-ep-dp-pp"},
        {"recompute, ZeRO, offload",
         "`--recompute-...`, `--use-distributed-optimizer`, `--optimizer-cpu-offload`"},
        {"experts", "`--expert-model-parallel-size`, `--expert-tensor-parallel-size`"}};
    if (grid_.context > 1)
      page.mapped.push_back(
          {"context",
           "`--context-parallel-size`: replicas that divide the positions of each sample"});
    page.differs = {
        "`--sequence-parallel` goes with tensor parallelism: it stores less and sends as much.",
        "The vocabulary is padded to a multiple of 128 times the tensor-parallel degree.",
        "Which sample is in which step, and initial weights, are Megatron-LM's own; losses are not "
        "pptrain's bit by bit.",
        "Sums of gradients, and the optimizer step, begin when it likes.",
        predicted_runtime_text("megatron")};
    return page_file(exported_, page);
  }
};

}  // namespace

TrainerExport megatron_export() {
  return {"megatron", check_megatron_job, megatron_misfit,
          [](const ExportedPlan& exported) { return MegatronExport(exported).files(); }};
}

}  // namespace pptrain
