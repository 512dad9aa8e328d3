#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "plan/plan.hpp"
#include "runtime/execute/session.hpp"

namespace pptrain::test {

/// A stage as a test writes it down.
struct ShapedStage {
  std::vector<std::int64_t> layers;   ///< how many, per chunk
  std::vector<std::int64_t> samples;  ///< of a micro-batch, per replica
  int tensor_parallel = 1;
  std::map<std::string, std::vector<std::int64_t>> shards = {};  ///< per axis and member; empty:
                                                                 ///< even
  int zero_stage = 0;
  Recompute recompute = Recompute::none;
};

/// The plan with these stages, whose devices follow one another. Chunks lie on stages as the
/// schedule has them.
Plan shaped_plan(const std::vector<ShapedStage>& stages, std::int64_t global_batch_size,
                 const std::string& schedule = "1f1b");

/// The plan with so many whole experts on each member of a tensor-parallel group.
Plan with_experts(Plan plan, const std::vector<std::int64_t>& numbers);
/// The plan with layers with experts in blocks of as many replicas as there are `numbers`, which
/// have so many experts each and send rows to one another.
Plan with_sent_rows(Plan plan, const Model& model, const std::vector<std::int64_t>& numbers);

/// The layers of a model whose rows may be sent to experts.
std::vector<std::int64_t> sending_layers(const Model& model);

/// Whether drawn stages divide some of their layers differently.
enum class DrawnBlocks { none, some };

/// What plans divide of a model.
struct DrawnModel {
  std::int64_t num_layers = 6;
  std::int64_t global_batch_size = 8;
  std::map<std::string, std::int64_t> axes = {{"heads", 4}, {"columns", 256}, {"vocabulary", 257}};
  std::int64_t micro_batch_size = 0;              ///< of all plans; 0: drawn
  std::vector<std::int64_t> sending_layers = {};  ///< whose rows may be sent to experts

  /// What every member of a tensor-parallel group has one of at least.
  std::int64_t most_members() const;
};

/// Draws plans of a model, by default the recorded GPT-2, over everything that the runtime
/// executes: stages of different replicas and degrees, uneven layers, samples and shards, schedules
/// with their chunks, recomputation, ZeRO stages and groups per stage, blocks, devices in any
/// order, some of them left out. The same numbers everywhere for one seed.
class RandomShapes {
 public:
  explicit RandomShapes(std::uint64_t seed, DrawnBlocks blocks = DrawnBlocks::some,
                        DrawnModel model = {})
      : random_(seed, "shapes"), blocks_(blocks), model_(std::move(model)) {}

  /// For at most `num_devices` devices.
  Plan plan(int num_devices);
  /// What a machine may make of a plan: nodes of its devices, within which gradients are summed
  /// first, and what crosses the cuts, and a tied embedding's gradient, in slices. Needs
  /// `num_devices` as `plan`.
  SessionOptions machine(const Plan& plan, int num_devices);
  /// A number in [low, high].
  std::int64_t pick(std::int64_t low, std::int64_t high);

 private:
  std::vector<Interval> parts(std::int64_t size, std::int64_t count);
  void shape(Stage& stage, std::vector<DeviceId> devices, std::int64_t micro_batch_size);
  std::map<std::string, std::vector<Interval>> shards(int tensor_parallel);
  TransferForm form(const Stage& one, const Stage& other);
  void add_block(Stage& stage, std::int64_t micro_batch_size);
  void add_sending_blocks(Stage& stage, std::int64_t micro_batch_size);
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[pick(0, i - 1)]);
  }

  CounterRandom random_;
  DrawnBlocks blocks_;
  DrawnModel model_;
  std::uint64_t drawn_ = 0;
};

/// Nodes and forms, for messages.
std::string describe(const SessionOptions& options);

}  // namespace pptrain::test
