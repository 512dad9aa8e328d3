#include "export_plan/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "plan/parts.hpp"
#include "plan/uniformity.hpp"

namespace pptrain {

ExportGrid grid_of(const Plan& plan) {
  const Stage& first = plan.stages.front();
  ExportGrid grid = {plan.num_stages(), first.replicas / plan.context, plan.context,
                     first.tensor_parallel, static_cast<int>(first.layers.size())};
  grid.samples = plan.micro_batch_size / grid.replicas();  // a replica has a share of each sample
                                                           // of its group
  grid.recompute = first.recompute;
  grid.zero_stage = grid.replicas() > 1 ? first.zero_stage : 0;
  grid.zero_runs = grid.zero_stage > 0 ? static_cast<int>(first.sharding_groups().size()) : 1;
  grid.offload = first.offload;
  grid.whole_experts = divides_experts(first.shards);
  for (const Stage& stage : plan.stages) {
    if (!stage.blocks.empty()) grid.expert_replicas = stage.blocks.front().tensor_parallel;
  }
  return grid;
}

namespace {

/// Holds a plan to what the kind of a trainer says.
class KindCheck {
 public:
  KindCheck(const ExportedPlan& exported, const TrainerKind& trainer)
      : exported_(exported), plan_(exported.plan), trainer_(trainer) {}

  PossibleMisfit misfit() const {
    for (int s = 0; s < plan_.num_stages(); ++s) {
      if (auto found = difference(s)) return found;
    }
    for (int s = 0; s < plan_.num_stages(); ++s) {
      if (auto found = stage_misfit(s)) return found;
    }
    if (auto found = schedule_misfit()) return found;
    if (auto found = experts_misfit()) return found;
    return cut_misfit();
  }

 private:
  const Stage& stage(int number) const { return plan_.stages[static_cast<std::size_t>(number)]; }

  /// Why a stage does not fit beside the first one.
  PossibleMisfit difference(int number) const {
    const std::string differs =
        trainer_.alike_stages ? stage_difference(stage(0), stage(number)) : "";
    if (differs.empty()) return std::nullopt;
    return Misfit{fmt::format("stages 0 and {} have {}", number, differs),
                  trainer_.title + " has one value for all stages"};
  }

  PossibleMisfit stage_misfit(int number) const {
    const Stage& one = stage(number);
    if (const std::string uneven = uneven_part(one); !uneven.empty())
      return Misfit{fmt::format("stage {} has {}", number, uneven),
                    trainer_.title + " divides everything evenly"};
    if (one.tensor_parallel > 1 && !trainer_.tensor)
      return Misfit{fmt::format("{} tensor-parallel members", one.tensor_parallel),
                    trainer_.why_no_tensor};
    if (auto found = context_misfit(one)) return found;
    return memory_misfit(number);
  }

  /// Why replicas cannot divide samples as they lie. The job says how many do: a plan that is
  /// looked at in a search does not yet.
  PossibleMisfit context_misfit(const Stage& one) const {
    const auto context = static_cast<int>(exported_.config.parallelism.context);
    if (context == 1) return std::nullopt;
    if (!trainer_.context)
      return Misfit{fmt::format("context = {}", context), trainer_.why_no_context};
    if (one.replicas % context != 0)
      return Misfit{fmt::format("{} replicas with context = {}", one.replicas, context),
                    "so many divide the positions of each sample"};
    for (int first = 0; first < one.replicas; first += context) {
      if (auto found = scattered(one, {first, first + context})) return found;
    }
    const std::vector<Interval> groups = one.sharding_groups();
    if (std::any_of(groups.begin(), groups.end(),
                    [&](Interval group) { return group.size() % context != 0; }))
      return Misfit{"replicas that divide samples are in several groups of ZeRO",
                    trainer_.title + " has them in one"};
    return std::nullopt;
  }

  /// Why replicas that divide samples are too far apart: what their keys and values take is
  /// predicted for neighbours.
  PossibleMisfit scattered(const Stage& one, Interval replicas) const {
    const Cluster& cluster = exported_.cluster;
    std::set<int> nodes;
    int smallest = std::numeric_limits<int>::max();
    for (std::int64_t replica = replicas.begin; replica < replicas.end; ++replica) {
      for (const DeviceId device : one.devices[static_cast<std::size_t>(replica)]) {
        nodes.insert(cluster.node_of(device));
        smallest = std::min(smallest, cluster.group_of_node(cluster.node_of(device)).num_devices);
      }
    }
    const auto devices = static_cast<int>(replicas.size()) * one.tensor_parallel;
    const int fewest = (devices + smallest - 1) / smallest;
    if (static_cast<int>(nodes.size()) <= fewest) return std::nullopt;
    return Misfit{fmt::format("{} replicas that divide samples are on {} nodes", replicas.size(),
                              nodes.size()),
                  fmt::format("{} hold{} them, and their keys and values go round in each layer",
                              fewest, fewest == 1 ? "s" : "")};
  }

  /// Why what a stage does to save memory does not fit.
  PossibleMisfit memory_misfit(int number) const {
    const Stage& one = stage(number);
    if (one.recompute != stage(0).recompute)
      return Misfit{fmt::format("stages 0 and {} compute other things again", number),
                    trainer_.title + " is told once for all stages"};
    if (!trainer_.has(one.recompute))
      return Misfit{fmt::format("recompute \"{}\"", to_string(one.recompute)),
                    trainer_.why_recompute};
    if (one.offload_activations)
      return Misfit{fmt::format("stage {} keeps activations in the host's memory", number),
                    trainer_.title + " is not told to"};
    if (one.offload && !trainer_.offload)
      return Misfit{fmt::format("the optimizer state of stage {} is in the host's memory", number),
                    trainer_.why_no_offload};
    return zero_misfit(number);
  }

  PossibleMisfit zero_misfit(int number) const {
    const Stage& one = stage(number);
    if (one.replicas == 1) return std::nullopt;  // which divides nothing
    const bool alone = plan_.num_stages() == 1 && one.tensor_parallel == 1;
    const std::vector<int>& known = trainer_.zero_stages(plan_.num_stages(), one.tensor_parallel);
    if (std::find(known.begin(), known.end(), one.zero_stage) == known.end())
      return Misfit{fmt::format("replicas with ZeRO stage {}{}", one.zero_stage,
                                alone ? "" : " beside pipeline or tensor parallelism"),
                    trainer_.why_zero};
    if (one.zero_stage > 0 && one.sharding_groups().size() > 1 && !trainer_.node_groups)
      return Misfit{"state that is divided within runs of replicas", trainer_.why_no_groups};
    return std::nullopt;
  }

  PossibleMisfit schedule_misfit() const {
    if (plan_.num_stages() == 1 || trainer_.runs(plan_.schedule.name))
      return std::nullopt;  // one stage: one order
    const std::size_t chunks = stage(0).layers.size();
    return Misfit{fmt::format("schedule \"{}\"{}", plan_.schedule.name,
                              chunks > 1 ? fmt::format(" of {} chunks per stage", chunks) : ""),
                  trainer_.why_schedules};
  }

  /// Why experts that replicas divide do not fit: a trainer divides those of all layers, or of
  /// none.
  PossibleMisfit experts_misfit() const {
    const auto sends_none = [](const Stage& one) { return one.blocks.empty(); };
    if (std::all_of(plan_.stages.begin(), plan_.stages.end(), sends_none)) return std::nullopt;
    if (!trainer_.sent_rows) return Misfit{"experts that replicas divide", trainer_.why_no_rows};
    for (const Stage& one : plan_.stages) {
      for (const Interval block : exported_.shape.blocks) {
        const std::int64_t experts = block.end - 1;  // the layer of a block that has them
        const auto has = [&](const Block& part) { return part.layers.contains(experts); };
        if (!contains(one.layers, experts) ||
            std::any_of(one.blocks.begin(), one.blocks.end(), has))
          continue;
        return Misfit{
            fmt::format("replicas divide the experts of some layers, and not of layer {}", experts),
            trainer_.title + " has one degree for all of them"};
      }
    }
    return std::nullopt;
  }

  PossibleMisfit cut_misfit() const {
    for (const ChunkPlace& place : chunk_places(plan_)) {
      const std::int64_t cut = place.layers.begin;
      const auto is_cut = [&](Interval block) { return block.begin < cut && cut < block.end; };
      const std::vector<Interval>& blocks = exported_.shape.blocks;
      const auto block = std::find_if(blocks.begin(), blocks.end(), is_cut);
      if (block == blocks.end()) continue;
      return Misfit{
          fmt::format("layers {} to {} are a part of a block's layers", block->begin, cut - 1),
          trainer_.title +
              " cuts between blocks, and attention and experts of one are together there"};
    }
    return std::nullopt;
  }

  const ExportedPlan& exported_;
  const Plan& plan_;
  const TrainerKind& trainer_;
};

}  // namespace

PossibleMisfit misfit_with(const ExportedPlan& exported, const TrainerKind& trainer) {
  return KindCheck(exported, trainer).misfit();
}

PossibleMisfit warm_up_misfit(const ExportedPlan& exported, const TrainerKind& trainer) {
  const int stages = exported.plan.num_stages();
  if (stages == 1) return std::nullopt;
  const std::vector<TaskOrder> orders = exported.orders();
  for (int s = 0; s < stages; ++s) {
    const TaskOrder& order = orders[static_cast<std::size_t>(s)];
    const auto is_backward = [](const Task& task) { return task.kind != TaskKind::forward; };
    const auto found = std::find_if(order.begin(), order.end(), is_backward) - order.begin();
    const auto wanted = std::min<std::int64_t>(stages - s, exported.plan.micro_batches);
    if (found >= wanted) continue;
    return Misfit{
        fmt::format("stage {} starts with {} forward passes where 1f1b has {}", s, found, wanted),
        fmt::format("its memory holds no more by pptrain's count, and {} starts all",
                    trainer.title)};
  }
  return std::nullopt;
}

PossibleMisfit heads_misfit(const DecoderShape& shape, int tensor_parallel,
                            const TrainerKind& trainer) {
  if (shape.heads % tensor_parallel == 0 && shape.key_heads % tensor_parallel == 0)
    return std::nullopt;
  return Misfit{fmt::format("{} members share {} heads and {} key heads", tensor_parallel,
                            shape.heads, shape.key_heads),
                "each has equally many of both in " + trainer.title};
}

std::vector<ChunkBlocks> chunk_blocks(const ExportedPlan& exported) {
  const std::vector<Interval>& blocks = exported.shape.blocks;
  std::vector<ChunkBlocks> chunks;
  for (const ChunkPlace& place : chunk_places(exported.plan)) {
    ChunkBlocks& chunk = chunks.emplace_back();
    chunk.embedding = place.layers.contains(0);
    chunk.output = place.layers.contains(exported.model.num_layers() - 1);
    const auto first_block_from = [&](std::int64_t layer) {
      return std::find_if(blocks.begin(), blocks.end(),
                          [&](Interval block) { return block.begin >= layer; }) -
             blocks.begin();
    };
    chunk.blocks = {first_block_from(place.layers.begin), first_block_from(place.layers.end)};
  }
  return chunks;
}

}  // namespace pptrain
