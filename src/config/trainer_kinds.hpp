#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace pptrain {

/// A program other than pptrain that trains, and what it runs of a plan. Searches `like` it leave
/// the rest out, `export-plan` refuses it.
struct TrainerKind {
  std::string name;               ///< as `[parallelism] like` and `export-plan --for` take it
  std::string title;              ///< in sentences
  std::string runtime;            ///< its execution, as `[profile] like` calls it
  bool divides_positions = true;  ///< whether tensor-parallel members divide norms along the
                                  ///< sequence
  bool alike_stages = true;       ///< whether stages are alike and divide everything evenly
  std::vector<std::string> schedules = {};  ///< of several stages; empty: all
  std::string why_schedules = {};
  // Stages of ZeRO of several replicas:
  std::vector<int> zero_alone;   ///< that each have the whole model on one device
  std::vector<int> zero_tensor;  ///< whose devices share layers, all of them
  std::vector<int> zero_staged;  ///< of a stage of a pipeline
  std::string why_zero = {};
  std::vector<Recompute> recomputes = {Recompute::none, Recompute::selective, Recompute::full};
  std::string why_recompute = {};
  bool node_groups = true;  ///< whether replicas may divide their state within runs
  std::string why_no_groups = {};
  bool tensor = true;  ///< whether members may share a layer
  std::string why_no_tensor = {};
  bool context = true;  ///< whether replicas may divide the positions of a sample
  std::string why_no_context = {};
  bool offload = true;  ///< whether optimizer state may be in the host's memory
  std::string why_no_offload = {};
  bool sent_rows = true;  ///< whether replicas may divide experts
  std::string why_no_rows = {};
  std::string why_no_tied_stages = {};  ///< why stages cannot share weights; empty: they can

  /// The stages of ZeRO that several replicas may have in plans of so many stages and members of a
  /// replica.
  const std::vector<int>& zero_stages(int num_stages, int tensor_parallel) const {
    if (num_stages > 1) return zero_staged;
    return tensor_parallel > 1 ? zero_tensor : zero_alone;
  }
  /// Whether the trainer runs pipelines of several stages in the schedule of this name.
  bool runs(const std::string& schedule) const;
  /// Whether stages may have several chunks in one of the schedules that the trainer runs.
  bool runs_chunks() const;
  /// Whether stages may recompute in this way.
  bool has(Recompute recompute) const;
  /// Whether replicas have this stage of ZeRO in any plan; a single replica has 0.
  bool has_zero_stage(int stage) const;
};

/// The trainers that are known, in the order of the documentation.
const std::vector<TrainerKind>& trainer_kinds();
/// Names of the trainers in this order.
const std::vector<std::string>& trainer_names();
/// The trainer of this name; null where there is none, as for "pptrain".
const TrainerKind* trainer_kind(const std::string& name);

/// Whose execution an analytic profile predicts: what `[profile] like` says, or what it means that
/// plans are to be `like` a trainer's.
const std::string& predicted_runtime(const Config& config);
/// Whether members of a tensor-parallel group divide norms along the sequence in that execution.
bool divides_positions(const Config& config);

}  // namespace pptrain
