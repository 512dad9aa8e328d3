#include <fuzzer/FuzzedDataProvider.h>

#include "check_costs.hpp"
#include "fuzz.hpp"

using namespace pptrain;

namespace {

/// Makes a plan of the input, byte by byte: mostly one that is valid, since a mutated text seldom
/// is.
class PlanMaker {
 public:
  PlanMaker(const std::uint8_t* data, std::size_t size) : input_(data, size) {}

  Plan plan() {
    Plan made;
    made.micro_batch_size = number(1, 6);
    made.micro_batches = number(1, 4);
    made.global_batch_size = made.micro_batch_size * made.micro_batches + (rarely() ? 1 : 0);
    made.schedule.name =
        input_.PickValueInArray({"gpipe", "1f1b", "dapple-b", "interleaved-1f1b", "breadth-first",
                                 "zb-h1", "zb-h2", "zb-v", "zeropp", "auto"});
    made.schedule.virtual_stages = number(1, 2);
    made.schedule.unit = number(0, 2);
    const int stages = number(1, 4);
    int next_layer = 0;
    for (int chunk = 0; chunk < made.schedule.virtual_stages; ++chunk) {
      for (int i = 0; i < stages; ++i) {
        if (chunk == 0) add_stage(made);
        const bool last = chunk + 1 == made.schedule.virtual_stages && i + 1 == stages;
        const int end = last ? 4 : next_layer + number(rarely() ? -2 : 1, 4);
        made.stages[i].layers.push_back({next_layer, end});
        next_layer = end;
      }
    }
    for (Stage& stage : made.stages) {
      if (input_.ConsumeBool()) add_block(made, stage);
    }
    return made;
  }

 private:
  int number(int low, int high) { return input_.ConsumeIntegralInRange(low, high); }
  bool rarely() { return number(0, 31) == 1; }

  std::vector<Interval> parts(std::int64_t size, int count) {
    std::vector<Interval> made;
    for (int i = 0; i < count; ++i) {
      const std::int64_t begin = made.empty() ? 0 : made.back().end;
      const std::int64_t most = std::max<std::int64_t>(begin + 1, size - (count - 1 - i));
      made.push_back({begin, i + 1 == count
                                 ? size
                                 : number(static_cast<int>(begin) + 1, static_cast<int>(most))});
    }
    return made;
  }

  void add_stage(Plan& made) {
    Stage& stage = made.stages.emplace_back();
    stage.replicas = number(1, 3);
    stage.tensor_parallel = number(1, rarely() ? 3 : 2);
    for (int j = 0; j < stage.replicas; ++j) {
      stage.devices.emplace_back();
      for (int k = 0; k < stage.tensor_parallel; ++k) {
        stage.devices.back().emplace_back(rarely() ? number(0, 9) : next_device_++);
      }
    }
    stage.samples = parts(made.micro_batch_size, stage.replicas);
    if (input_.ConsumeBool()) stage.shards["heads"] = parts(8, stage.tensor_parallel);
    stage.recompute =
        input_.PickValueInArray({Recompute::none, Recompute::selective, Recompute::full});
    stage.zero_stage = number(0, 3);
    stage.offload = input_.ConsumeBool();
  }

  void add_block(const Plan& made, Stage& stage) {
    Block block;
    const Interval chunk = stage.layers.front();
    const std::int64_t first = chunk.begin + number(0, 1);
    block.layers = {first, first + number(1, 2)};
    const int devices = stage.replicas * stage.tensor_parallel;
    block.tensor_parallel = number(1, 2);
    block.replicas = std::max(1, devices / block.tensor_parallel);
    block.pattern = input_.PickValueInArray({TensorPattern::replicate, TensorPattern::megatron,
                                             TensorPattern::sp1, TensorPattern::sp2,
                                             TensorPattern::all_to_all});
    const bool sends_rows = block.pattern == TensorPattern::all_to_all && !rarely();
    block.samples = parts(made.micro_batch_size, sends_rows ? devices : block.replicas);
    if (sends_rows) block.shards["experts"] = parts(4, block.tensor_parallel);
    if (input_.ConsumeBool()) block.shards["columns"] = parts(6, block.tensor_parallel);
    stage.blocks.push_back(block);
  }

  FuzzedDataProvider input_;
  int next_device_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Plan made = PlanMaker(data, size).plan();
  check_costs(made);
  const auto parse = [](const std::string& text) { return parse_plan(text, "fuzzed"); };
  check_round_trip(write_plan(made), parse, write_plan);
  return 0;
}
