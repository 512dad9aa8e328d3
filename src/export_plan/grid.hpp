#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export_plan/decoder_shape.hpp"
#include "export_plan/export_plan.hpp"

namespace pptrain {

/// A plan whose stages are alike: pipeline x data x tensor devices, as most trainers start them.
struct ExportGrid {
  int pipeline = 1;
  int data = 1;
  int tensor = 1;
  int chunks = 1;            ///< per stage
  std::int64_t samples = 1;  ///< of a micro-batch that each replica computes
  Recompute recompute = Recompute::none;
  int zero_stage = 0;          ///< 0 where a stage has one replica, which divides nothing
  int zero_runs = 1;           ///< runs of replicas that each hold everything
  bool offload = false;        ///< whether optimizer state is in the host's memory
  bool whole_experts = false;  ///< whether members of a tensor-parallel group have whole experts
  int expert_replicas = 1;     ///< replicas that divide the experts of a layer and send rows to each other

  int devices() const { return pipeline * data * tensor; }
};

/// A trainer as messages name it, and the name that `--for` takes.
struct TrainerName {
  std::string title;
  std::string option;
};

/// Refuses a plan: exit code 2 with the plan's file, what the trainer lacks, and the command that plans without it.
[[noreturn]] void refuse_plan(const ExportedPlan& exported, const std::string& problem, const std::string& reason,
                              const std::string& suggestion);

/// What to set so that the search leaves out plans whose stages differ.
std::string uniform_remedy();

/// Refuses a stage that no trainer here can run: one with an uneven part, or with activations in the host's memory.
void check_stage(const ExportedPlan& exported, const TrainerName& trainer, const Stage& stage, int number);

/// The grid of a plan. A plan that is none is refused with what differs.
ExportGrid grid_of(const ExportedPlan& exported, const TrainerName& trainer);

/// Refuses a plan of one chunk per stage whose stages start with fewer forward passes than 1F1B has, as where memory is
/// short: stage s of S runs S - s of them before its first backward pass, or all.
void check_warm_ups(const ExportedPlan& exported, const TrainerName& trainer);

/// Refuses a plan whose replicas divide the experts of some layers and not of others.
void check_experts(const ExportedPlan& exported, const TrainerName& trainer, const DecoderShape& shape);

/// The blocks of the model that a chunk has, and whether the embedding or the output layer is there too.
struct ChunkBlocks {
  bool embedding = false;
  Interval blocks;  ///< numbers of the model's blocks
  bool output = false;
};

/// What each chunk of the plan has, in the order of the layers. A cut within a block is refused.
std::vector<ChunkBlocks> chunk_blocks(const ExportedPlan& exported, const TrainerName& trainer,
                                      const DecoderShape& shape);

}  // namespace pptrain
