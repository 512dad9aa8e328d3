#include "config/trainer_kinds.hpp"

#include <algorithm>

#include "config/schedule_kinds.hpp"

namespace pptrain {
namespace {

std::vector<TrainerKind> make_trainers() {
  std::vector<TrainerKind> kinds;
  kinds.push_back(
      {.name = "megatron",
       .title = "Megatron-LM",
       .runtime = "megatron",
       .schedules = {"1f1b", "interleaved-1f1b"},
       .why_schedules = "Megatron-LM runs 1f1b, and interleaved-1f1b with several chunks",
       .zero_alone = {0, 1},
       .zero_tensor = {0, 1},
       .zero_staged = {0, 1},
       .why_zero = "the distributed optimizer of Megatron-LM divides optimizer state alone, and "
                   "its FSDP runs without "
                   "stages"});
  kinds.push_back(
      {.name = "torchtitan",
       .title = "torchtitan",
       .runtime = "torchtitan",
       .zero_alone = {0, 2, 3},
       .zero_tensor = {2, 3},
       .zero_staged = {1},
       .why_zero =
           "FSDP divides gradients of replicas at once, and in a pipeline when those of all "
           "micro-batches are added up, which is ZeRO stage 1",
       .offload = false,
       .why_no_offload = "torchtitan moves weights and gradients there with it",
       .sent_rows = false,
       .why_no_rows = "none of torchtitan's models that an export writes has experts",
       .why_no_tied_stages = "none of torchtitan's models of text has tied weights on several "
                             "stages"});
  kinds.push_back(
      {.name = "flagscale",
       .title = "FlagScale",
       .runtime = "megatron",
       .alike_stages = false,
       .schedules = {"1f1b"},
       .why_schedules = "FlagScale runs unlike stages in the order of 1f1b, one chunk on each",
       .zero_alone = {0, 1},
       .zero_tensor = {0, 1},
       .zero_staged = {0, 1},
       .why_zero =
           "the distributed optimizer divides optimizer state over all replicas, on all stages or "
           "none",
       .node_groups = false,
       .why_no_groups = "the distributed optimizer divides optimizer state over all replicas",
       .context = false,
       .why_no_context = "FlagScale's meshes run without context parallelism",
       .offload = false,
       .why_no_offload = "FlagScale is not told to"});
  kinds.push_back(
      {.name = "deepspeed",
       .title = "DeepSpeed",
       .runtime = "deepspeed",
       .divides_positions = false,
       .schedules = {"1f1b"},
       .why_schedules = "DeepSpeed's pipelines run one chunk per stage in the order of 1f1b",
       .zero_alone = {0, 1, 2, 3},
       .zero_tensor = {0, 1},
       .zero_staged = {0, 1},
       .why_zero = "DeepSpeed's pipelines go with ZeRO 1 at most",
       .recomputes = {Recompute::none, Recompute::full},
       .why_recompute = "DeepSpeed computes whole layers again",
       .node_groups = false,
       .why_no_groups = "DeepSpeed divides it over all of them",
       .tensor = false,
       .why_no_tensor =
           "how a layer is divided is up to the model's program with DeepSpeed, not to its "
           "configuration",
       .context = false,
       .why_no_context =
           "how positions are divided is up to the model's program with DeepSpeed, not to "
           "its configuration",
       .sent_rows = false,
       .why_no_rows = "their degree is up to the model's program with DeepSpeed"});
  return kinds;
}

}  // namespace

bool TrainerKind::runs(const std::string& schedule) const {
  return schedules.empty() ||
         std::find(schedules.begin(), schedules.end(), schedule) != schedules.end();
}

bool TrainerKind::runs_chunks() const {
  return schedules.empty() ||
         std::any_of(schedules.begin(), schedules.end(), [](const std::string& schedule) {
           return schedule_kind(schedule).chunks != 1;
         });
}

bool TrainerKind::has(Recompute recompute) const {
  return std::find(recomputes.begin(), recomputes.end(), recompute) != recomputes.end();
}

bool TrainerKind::has_zero_stage(int stage) const {
  const auto in = [&](const std::vector<int>& stages) {
    return std::find(stages.begin(), stages.end(), stage) != stages.end();
  };
  return stage == 0 || in(zero_alone) || in(zero_tensor) || in(zero_staged);
}

const std::vector<TrainerKind>& trainer_kinds() {
  static const std::vector<TrainerKind> kinds = make_trainers();
  return kinds;
}

const std::vector<std::string>& trainer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const TrainerKind& kind : trainer_kinds()) all.push_back(kind.name);
    return all;
  }();
  return names;
}

const TrainerKind* trainer_kind(const std::string& name) {
  const auto found = std::find_if(trainer_kinds().begin(), trainer_kinds().end(),
                                  [&](const TrainerKind& kind) { return kind.name == name; });
  return found == trainer_kinds().end() ? nullptr : &*found;
}

const std::string& predicted_runtime(const Config& config) {
  const TrainerKind* trainer = trainer_kind(config.parallelism.like);
  return trainer == nullptr || config.places.contains("profile.like") ? config.profile.like
                                                                      : trainer->runtime;
}

bool divides_positions(const Config& config) {
  const TrainerKind* trainer = trainer_kind(config.parallelism.like);
  const bool said = trainer == nullptr || config.places.contains("profile.sequence_parallel");
  return said ? config.profile.sequence_parallel : trainer->divides_positions;
}

}  // namespace pptrain
