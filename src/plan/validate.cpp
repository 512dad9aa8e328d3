#include "plan/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/names.hpp"
#include "model/model.hpp"
#include "plan/patterns.hpp"
#include "plan/plan.hpp"

namespace pptrain {
namespace {

/// Checks of one plan; `source` and the path of the wrong value are the place in messages.
class PlanChecker {
 public:
  PlanChecker(const Plan& plan, const std::string& source) : plan_(plan), source_(source) {}

  void check_without_model() {
    check_batch();
    check_schedule();
    if (plan_.stages.empty())
      refuse("stages", "is empty", "a plan has at least one stage", "plan again");
    for (int i = 0; i < plan_.num_stages(); ++i) check_stage(i);
    check_stage_order();
    check_chunk_layout(plan_, source_);
    check_devices();
  }

  /// Every layer in [0, num_layers) in exactly one chunk; `num_layers` < 0: up to the last layer
  /// named.
  void check_layers(int num_layers) const {
    std::vector<Interval> chunks;
    for (const Stage& stage : plan_.stages)
      chunks.insert(chunks.end(), stage.layers.begin(), stage.layers.end());
    std::sort(chunks.begin(), chunks.end());
    std::int64_t next = 0;
    for (const Interval& chunk : chunks) {
      if (chunk.begin > next) refuse_layer(next, "is in no stage");
      if (chunk.begin < next) refuse_layer(chunk.begin, "is in two stages");
      next = chunk.end;
    }
    if (num_layers < 0 || next == num_layers) return;
    refuse("stages",
           fmt::format("{}, but the model of this job has {} layers",
                       next < num_layers ? fmt::format("layer {} is in no stage", next)
                                         : fmt::format("layer {} does not exist", num_layers),
                       num_layers),
           fmt::format("the plan was made for {}{} layers, numbered from 0",
                       plan_.model.empty() ? "" : plan_.model + " with ", next),
           "name a plan of this model, or plan again: pptrain plan CONFIG.toml -o PLAN.json");
  }

  void check_num_devices(int num_devices) const {
    for (int i = 0; i < plan_.num_stages(); ++i) {
      for (const auto& row : plan_.stages[i].devices) {
        for (const DeviceId device : row) {
          if (device.value < num_devices) continue;
          refuse(fmt::format("stages[{}].devices", i),
                 fmt::format("device {} does not exist", device.value),
                 fmt::format("the cluster has {} devices, numbered from 0", num_devices),
                 "plan again for this cluster");
        }
      }
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& path, const std::string& problem,
                           const std::string& reason, const std::string& suggestion) const {
    throw_bad_input({source_ + ": " + path, problem, reason, suggestion});
  }

  [[noreturn]] void refuse_layer(std::int64_t layer, const std::string& problem) const {
    refuse("stages", fmt::format("layer {} {}", layer, problem), "each layer belongs to one stage",
           "correct the \"layers\" of the stages");
  }

  void check_batch() const {
    if (plan_.micro_batch_size < 1 || plan_.micro_batches < 1 ||
        plan_.micro_batches > plan_.global_batch_size / plan_.micro_batch_size ||
        plan_.micro_batches * plan_.micro_batch_size != plan_.global_batch_size) {
      refuse("global_batch_size", "the batch sizes contradict each other",
             fmt::format("{} micro-batches of {} samples are not a global batch of {}",
                         plan_.micro_batches, plan_.micro_batch_size, plan_.global_batch_size),
             "global_batch_size = micro_batches x micro_batch_size");
    }
  }

  void check_schedule() const {
    const std::string& name = plan_.schedule.name;
    const std::vector<std::string>& known = schedule_names();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      refuse("schedule.name", fmt::format("unknown schedule \"{}\"", name),
             "known schedules: " + join(known), did_you_mean(name, known, "write one of these"));
    }
    if (plan_.schedule.virtual_stages < 1)
      refuse("schedule.virtual_stages", "must be at least 1", "", "1 is the plain pipeline");
    if (plan_.schedule.unit < 0)
      refuse("schedule.unit", "must be at least 0", "", "0 lets it be chosen");
  }

  void check_stage(int index) const {
    const Stage& stage = plan_.stages[index];
    const std::string path = fmt::format("stages[{}]", index);
    if (static_cast<int>(stage.layers.size()) != plan_.schedule.virtual_stages) {
      refuse(path + ".layers", fmt::format("{} intervals", stage.layers.size()),
             fmt::format("a stage has one per virtual stage, and schedule.virtual_stages is {}",
                         plan_.schedule.virtual_stages),
             "make the two agree");
    }
    for (const Interval& chunk : stage.layers) {
      if (chunk.begin < 0 || chunk.empty()) {
        refuse(path + ".layers", fmt::format("[{}, {}] holds no layers", chunk.begin, chunk.end),
               "intervals are half open and start at layer 0 or later",
               "write [begin, end] with 0 <= begin < end");
      }
    }
    if (stage.zero_stage < 0 || stage.zero_stage > 3) {
      refuse(path + ".zero_stage", fmt::format("is {}", stage.zero_stage),
             "ZeRO has the stages 0 to 3", "write one of these");
    }
    check_mesh(path, stage);
    check_context(path, stage);
    check_zero_groups(path + ".zero_groups", stage);
    check_zero_slices(path + ".zero_slices", stage);
    check_samples(path + ".samples", stage.samples, stage.replicas);
    check_shards(path + ".shards", stage.shards, stage.tensor_parallel);
    check_blocks(path + ".blocks", stage);
  }

  void check_mesh(const std::string& path, const Stage& stage) const {
    if (stage.replicas < 1)
      refuse(path + ".replicas", "must be at least 1", "", "1 is no replication");
    if (stage.tensor_parallel < 1)
      refuse(path + ".tensor_parallel", "must be at least 1", "", "1 is whole layers");
    const auto columns = static_cast<std::size_t>(stage.tensor_parallel);
    const bool square = std::all_of(stage.devices.begin(), stage.devices.end(),
                                    [columns](const auto& row) { return row.size() == columns; });
    if (static_cast<int>(stage.devices.size()) != stage.replicas || !square) {
      refuse(path + ".devices",
             fmt::format("is not a mesh of {} x {}", stage.replicas, stage.tensor_parallel),
             "it has a row per replica and a column per tensor-parallel member",
             "correct the devices, or replicas and tensor_parallel");
    }
  }

  /// Replicas that share samples are together in every stage, and have the same samples.
  void check_context(const std::string& path, const Stage& stage) const {
    if (plan_.context == 1) return;
    const std::string divide =
        fmt::format("context = {} replicas divide each sample", plan_.context);
    if (stage.replicas % plan_.context != 0) {
      refuse(path + ".replicas", fmt::format("is {}", stage.replicas), divide,
             "use a multiple of context");
    }
    if (plan_.micro_batch_size % stage.replicas == 0) return;
    refuse("micro_batch_size",
           fmt::format("{} shares on {} replicas", plan_.micro_batch_size, stage.replicas),
           divide + ", so that all have equally many", "use a multiple of the replicas");
  }

  void check_zero_groups(const std::string& path, const Stage& stage) const {
    if (stage.zero_groups.empty()) return;
    if (stage.zero_stage == 0) {
      refuse(path, "are given with zero_stage = 0", "nothing is divided then",
             "use zero_stage 1, 2 or 3, or leave them");
    }
    if (!stage.blocks.empty()) {
      refuse(path, "are given for a stage with blocks", "blocks have replicas of their own",
             "leave the groups: all replicas divide the state then");
    }
    const bool filled = std::none_of(stage.zero_groups.begin(), stage.zero_groups.end(),
                                     [](Interval g) { return g.empty(); });
    if (!filled || !divides(stage.zero_groups, stage.replicas)) {
      refuse(path, fmt::format("do not cover the {} replicas once", stage.replicas),
             "the intervals follow one another from 0 to replicas",
             "correct the intervals, or replicas");
    }
  }

  void check_zero_slices(const std::string& path, const Stage& stage) const {
    const std::vector<Interval>& slices = stage.zero_slices;
    if (slices.empty()) return;
    const bool one_run = stage.zero_groups.empty() && stage.blocks.empty();
    if (stage.zero_stage == 0 || !one_run) {
      refuse(path,
             stage.zero_stage == 0 ? "are given with zero_stage = 0"
                                   : "are given with zero_groups or blocks",
             "all replicas of a stage divide its state by them",
             "leave the slices: they are equal then");
    }
    const bool filled =
        std::none_of(slices.begin(), slices.end(), [](Interval slice) { return slice.empty(); });
    if (static_cast<int>(slices.size()) != stage.replicas || !filled ||
        !divides(slices, slices.back().end)) {
      refuse(path, fmt::format("are not a slice of each of the {} replicas", stage.replicas),
             "the intervals follow one another from 0, and none is empty",
             "correct the intervals, or leave them: they are equal then");
    }
  }

  /// `whose`: of the replicas, or of the members of all groups.
  void check_samples(const std::string& path, const std::vector<Interval>& samples, int number,
                     const char* whose = "replicas") const {
    if (static_cast<int>(samples.size()) != number) {
      refuse(path, fmt::format("{} intervals for {} {}", samples.size(), number, whose),
             "each has one", fmt::format("give as many as there are {}", whose));
    }
    if (!divides(samples, plan_.micro_batch_size)) {
      refuse(
          path,
          fmt::format("do not cover the {} samples of a micro-batch once", plan_.micro_batch_size),
          "the intervals follow one another from 0 to micro_batch_size",
          "correct the intervals, or micro_batch_size");
    }
    if (std::any_of(samples.begin(), samples.end(), [](Interval i) { return i.empty(); })) {
      refuse(path, "a replica has no samples", "every replica computes at least one",
             "use fewer replicas or a larger micro-batch");
    }
  }

  void check_shards(const std::string& path,
                    const std::map<std::string, std::vector<Interval>>& shards, int members) const {
    for (const auto& [axis, parts] : shards) {
      const std::vector<std::string>& axes = shard_axis_names();
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
        refuse(path, fmt::format("unknown axis \"{}\"", axis), "axes: " + join(axes),
               "write one of these");
      }
      if (static_cast<int>(parts.size()) != members) {
        refuse(path + "." + axis, fmt::format("{} intervals for {} members", parts.size(), members),
               "each has one", "give as many as tensor_parallel says");
      }
      if (!divides(parts, parts.back().end)) {
        refuse(path + "." + axis, "the intervals have a gap or overlap",
               "they follow one another from 0", "correct the intervals");
      }
    }
  }

  void check_blocks(const std::string& path, const Stage& stage) const {
    for (std::size_t i = 0; i < stage.blocks.size(); ++i) {
      const Block& block = stage.blocks[i];
      const std::string at = fmt::format("{}[{}]", path, i);
      const bool inside =
          std::any_of(stage.layers.begin(), stage.layers.end(), [&](Interval chunk) {
            return !block.layers.empty() && intersect(chunk, block.layers) == block.layers;
          });
      if (!inside)
        refuse(at + ".layers", "are not in this stage", "a block is a part of its stage's layers",
               "correct the layers of the block or of the stage");
      const int stage_devices = stage.replicas * stage.tensor_parallel;
      const std::int64_t own_devices = std::int64_t{block.replicas} * block.tensor_parallel;
      if (block.replicas < 1 || block.tensor_parallel < 1 || own_devices != stage_devices) {
        refuse(at,
               fmt::format("{} replicas x {} members are not the stage's {} devices",
                           block.replicas, block.tensor_parallel, stage_devices),
               "a block uses the devices of its stage",
               "correct replicas or tensor_parallel of the block");
      }
      if (block.pattern == TensorPattern::replicate && block.tensor_parallel != 1) {
        refuse(at + ".pattern",
               fmt::format("\"replicate\" with tensor_parallel {}", block.tensor_parallel),
               "replicas hold whole layers", "use \"megatron\", \"sp1\" or \"sp2\" to divide them");
      }
      for (std::size_t k = 0; k < i; ++k) {
        if (intersect(stage.blocks[k].layers, block.layers).empty()) continue;
        refuse(at + ".layers", fmt::format("overlap those of blocks[{}]", k),
               "a layer is divided in one way", "give each layer to one block");
      }
      const bool sends_rows = block.pattern == TensorPattern::all_to_all;
      if (sends_rows && !block.shards.contains("experts")) {
        refuse(at + ".pattern", "\"all-to-all\" without experts in shards",
               "rows go to the members with their experts",
               "say in shards which experts each member has");
      }
      check_samples(at + ".samples", block.samples, sends_rows ? stage_devices : block.replicas,
                    sends_rows ? "members" : "replicas");
      check_shards(at + ".shards", block.shards, block.tensor_parallel);
    }
  }

  /// With one chunk per stage the stages are the pipeline, so they come in layer order.
  void check_stage_order() const {
    if (plan_.schedule.virtual_stages != 1) return;
    for (int i = 1; i < plan_.num_stages(); ++i) {
      if (plan_.stages[i].layers.front() < plan_.stages[i - 1].layers.front()) {
        refuse(fmt::format("stages[{}].layers", i), "come before those of the stage before",
               "stages are listed in layer order", "put the stages in this order");
      }
    }
  }

  void check_devices() const {
    std::set<DeviceId> used;
    for (int i = 0; i < plan_.num_stages(); ++i) {
      for (const auto& row : plan_.stages[i].devices) {
        for (const DeviceId device : row) {
          const std::string path = fmt::format("stages[{}].devices", i);
          if (device.value < 0)
            refuse(path, fmt::format("{} is no device", device.value), "they count from 0",
                   "correct it");
          if (!used.insert(device).second) {
            refuse(path, fmt::format("device {} is used twice", device.value),
                   "a device belongs to one replica of one stage", "name another device");
          }
        }
      }
    }
  }

  const Plan& plan_;
  std::string source_;
};

}  // namespace

void validate_plan(const Plan& plan, int num_layers, int num_devices, const std::string& source) {
  PlanChecker checker(plan, source);
  checker.check_without_model();
  checker.check_layers(num_layers);
  checker.check_num_devices(num_devices);
}

void validate_plan_alone(const Plan& plan, const std::string& source) {
  PlanChecker checker(plan, source);
  checker.check_without_model();
  checker.check_layers(-1);
}

}  // namespace pptrain
