#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export_plan/export_plan.hpp"

namespace pptrain {

/// A plan whose stages are alike: pipeline x data x context x tensor devices, as most trainers
/// start them.
struct ExportGrid {
  int pipeline = 1;
  int data = 1;     ///< replicas that have samples of their own
  int context = 1;  ///< replicas that divide the positions of each of these samples
  int tensor = 1;
  int chunks = 1;            ///< per stage
  std::int64_t samples = 1;  ///< of a micro-batch that each replica computes
  Recompute recompute = Recompute::none;
  int zero_stage = 0;          ///< 0 where a stage has one replica, which divides nothing
  int zero_runs = 1;           ///< runs of replicas that each hold everything
  bool offload = false;        ///< whether optimizer state is in the host's memory
  bool whole_experts = false;  ///< whether members of a tensor-parallel group have whole experts
  int expert_replicas = 1;  ///< replicas that divide the experts of a layer and send rows to each
                            ///< other

  /// Replicas of each stage, whether they divide samples or positions.
  int replicas() const { return data * context; }
  /// Devices of all stages together.
  int devices() const { return pipeline * replicas() * tensor; }
};

/// The grid of a plan whose stages are alike.
ExportGrid grid_of(const Plan& plan);

/// Why a trainer cannot run a plan by what its kind says: of stages, schedule, ZeRO, recomputation,
/// offload, experts and cuts within blocks.
PossibleMisfit misfit_with(const ExportedPlan& exported, const TrainerKind& trainer);

/// Why a trainer of 1f1b cannot run a plan whose stages begin with fewer forward passes, as where
/// memory is short: stage s of S runs S - s of them before its first backward pass, or all.
PossibleMisfit warm_up_misfit(const ExportedPlan& exported, const TrainerKind& trainer);

/// Why the members of a tensor-parallel group cannot have equally many heads and key heads, as the
/// trainer gives them.
PossibleMisfit heads_misfit(const DecoderShape& shape, int tensor_parallel,
                            const TrainerKind& trainer);

/// The blocks of the model that a chunk has, and whether the embedding or the output layer is there
/// too.
struct ChunkBlocks {
  bool embedding = false;
  Interval blocks;  ///< numbers of the model's blocks
  bool output = false;
};

/// What each chunk of the plan has, in the order of the layers. No cut is within a block.
std::vector<ChunkBlocks> chunk_blocks(const ExportedPlan& exported);

}  // namespace pptrain
