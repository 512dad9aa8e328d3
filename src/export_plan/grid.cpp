#include "export_plan/grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "plan/parts.hpp"
#include "plan/uniformity.hpp"

namespace pptrain {

void refuse_plan(const ExportedPlan& exported, const std::string& problem, const std::string& reason,
                 const std::string& suggestion) {
  throw_bad_input({exported.source, problem, reason, suggestion});
}

std::string uniform_remedy() { return "plan again with --planner uniform"; }

void check_stage(const ExportedPlan& exported, const TrainerName& trainer, const Stage& stage, int number) {
  if (const std::string uneven = uneven_part(stage); !uneven.empty()) {
    refuse_plan(exported, fmt::format("stage {} has {}", number, uneven), trainer.title + " divides everything evenly",
                uniform_remedy());
  }
  if (stage.offload_activations) {
    refuse_plan(exported, fmt::format("stage {} keeps activations in the host's memory", number),
                trainer.title + " is not told to", "plan again with --set parallelism.offload_activations=false");
  }
}

ExportGrid grid_of(const ExportedPlan& exported, const TrainerName& trainer) {
  const Plan& plan = exported.plan;
  const Stage& first = plan.stages.front();
  for (int s = 0; s < plan.num_stages(); ++s) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    if (const std::string differs = stage_difference(first, stage); !differs.empty()) {
      refuse_plan(exported, fmt::format("stages 0 and {} have {}", s, differs),
                  trainer.title + " has one value for all stages", uniform_remedy());
    }
    check_stage(exported, trainer, stage, s);
  }
  ExportGrid grid = {plan.num_stages(), first.replicas, first.tensor_parallel, static_cast<int>(first.layers.size())};
  grid.samples = plan.micro_batch_size / grid.data;
  grid.recompute = first.recompute;
  grid.zero_stage = grid.data > 1 ? first.zero_stage : 0;
  grid.zero_runs = grid.zero_stage > 0 ? static_cast<int>(first.sharding_groups().size()) : 1;
  grid.offload = first.offload;
  grid.whole_experts = divides_experts(first.shards);
  for (const Stage& stage : plan.stages) {
    if (!stage.blocks.empty()) grid.expert_replicas = stage.blocks.front().tensor_parallel;
  }
  return grid;
}

namespace {

/// Forward passes of a stage before its first backward one, and how many 1F1B has.
struct WarmUp1f1b {
  std::int64_t found = 0;
  std::int64_t wanted = 0;
};

WarmUp1f1b warm_up_of(const ExportedPlan& exported, int stage) {
  const TaskOrder& order = exported.orders[static_cast<std::size_t>(stage)];
  const auto first_backward =
      std::find_if(order.begin(), order.end(), [](const Task& task) { return task.kind != TaskKind::forward; });
  return {first_backward - order.begin(),
          std::min<std::int64_t>(exported.plan.num_stages() - stage, exported.plan.micro_batches)};
}

}  // namespace

void check_warm_ups(const ExportedPlan& exported, const TrainerName& trainer) {
  for (int s = 0; s < exported.plan.num_stages(); ++s) {
    const WarmUp1f1b warm_up = warm_up_of(exported, s);
    if (warm_up.found >= warm_up.wanted) continue;
    refuse_plan(
        exported,
        fmt::format("stage {} starts with {} forward passes where 1f1b has {}", s, warm_up.found, warm_up.wanted),
        fmt::format("its memory holds no more by pptrain's count, and {} starts all", trainer.title),
        "plan again with --set parallelism.recompute=full or a smaller --set training.micro_batch_size=N");
  }
}

void check_experts(const ExportedPlan& exported, const TrainerName& trainer, const DecoderShape& shape) {
  const std::vector<Stage>& stages = exported.plan.stages;
  if (std::all_of(stages.begin(), stages.end(), [](const Stage& stage) { return stage.blocks.empty(); })) return;
  for (const Stage& stage : stages) {
    for (const Interval block : shape.blocks) {
      const std::int64_t experts = block.end - 1;  // the layer of a block that has them
      if (!contains(stage.layers, experts)) continue;
      const bool divided = std::any_of(stage.blocks.begin(), stage.blocks.end(),
                                       [&](const Block& one) { return one.layers.contains(experts); });
      if (divided) continue;
      refuse_plan(exported, fmt::format("replicas divide the experts of some layers, and not of layer {}", experts),
                  trainer.title + " has one degree for all of them",
                  "plan again with --set parallelism.expert=N, or --set parallelism.experts=columns");
    }
  }
}

std::vector<ChunkBlocks> chunk_blocks(const ExportedPlan& exported, const TrainerName& trainer,
                                      const DecoderShape& shape) {
  std::vector<ChunkBlocks> chunks;
  for (const ChunkPlace& place : chunk_places(exported.plan)) {
    ChunkBlocks& chunk = chunks.emplace_back();
    chunk.embedding = place.layers.contains(0);
    chunk.output = place.layers.contains(exported.model.num_layers() - 1);
    const auto begins = [&](Interval block) { return block.begin < place.layers.begin; };
    const auto first = std::find_if_not(shape.blocks.begin(), shape.blocks.end(), begins);
    const auto behind =
        std::find_if(first, shape.blocks.end(), [&](Interval block) { return block.begin >= place.layers.end; });
    chunk.blocks = {first - shape.blocks.begin(), behind - shape.blocks.begin()};
    const bool cut = (first != shape.blocks.begin() && std::prev(first)->end > place.layers.begin) ||
                     (behind != first && std::prev(behind)->end > place.layers.end);
    if (!cut) continue;
    refuse_plan(exported,
                fmt::format("layers {} to {} are a part of a block's layers", place.layers.begin, place.layers.end - 1),
                trainer.title + " cuts between blocks, and attention and experts of one are together there",
                "move the cut in the file's \"layers\" by one layer, or choose other degrees with "
                "--set parallelism.pipeline=N");
  }
  return chunks;
}

}  // namespace pptrain
