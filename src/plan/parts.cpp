#include "plan/parts.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {
namespace {

TensorPattern pattern_of(const Block& block) {
  if (block.pattern == "sp1") return TensorPattern::sp1;
  return block.pattern == "sp2" ? TensorPattern::sp2 : TensorPattern::megatron;
}

bool alike(const StagePart& a, const StagePart& b) {
  return a.pattern == b.pattern && a.mesh->tensor_parallel == b.mesh->tensor_parallel &&
         a.mesh->samples == b.mesh->samples && a.mesh->shards == b.mesh->shards;
}

}  // namespace

StageParts::StageParts(const Stage& stage, const std::vector<Interval>& chunks) {
  if (stage.blocks.empty()) {
    parts_.push_back({&stage, chunks});
    return;
  }
  std::vector<const Block*> blocks;
  for (const Block& block : stage.blocks) blocks.push_back(&block);
  std::sort(blocks.begin(), blocks.end(), [](const Block* a, const Block* b) { return a->layers < b->layers; });
  std::vector<const Stage*> meshes;
  for (const Block* block : blocks) meshes.push_back(mesh_of(stage, *block));
  for (const Interval& chunk : chunks) {
    std::int64_t next = chunk.begin;
    for (std::size_t i = 0; i <= blocks.size() && next < chunk.end; ++i) {
      const Interval block = i < blocks.size() ? intersect(blocks[i]->layers, chunk) : Interval{chunk.end, chunk.end};
      if (i < blocks.size() && block.empty()) continue;
      if (next < block.begin) append({&stage, {{next, block.begin}}}, next > chunk.begin);
      if (!block.empty()) append({meshes[i], {block}, pattern_of(*blocks[i])}, block.begin > chunk.begin);
      next = block.end;
    }
  }
}

const Stage* StageParts::mesh_of(const Stage& stage, const Block& block) {
  Stage& mesh = meshes_.emplace_back();
  mesh.replicas = block.replicas;
  mesh.tensor_parallel = block.tensor_parallel;
  mesh.samples = block.samples;
  mesh.shards = block.shards;
  mesh.recompute = stage.recompute;
  mesh.zero_stage = stage.zero_stage;
  mesh.offload = stage.offload;
  mesh.offload_activations = stage.offload_activations;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) {
      if (mesh.devices.empty() || static_cast<int>(mesh.devices.back().size()) == block.tensor_parallel) {
        mesh.devices.emplace_back();
      }
      mesh.devices.back().push_back(device);
    }
  }
  return &mesh;
}

void StageParts::append(const StagePart& run, bool inside_chunk) {
  if (!parts_.empty() && alike(parts_.back(), run)) {
    Interval& last = parts_.back().layers.back();
    if (inside_chunk) {
      last.end = run.layers.front().end;
    } else {
      parts_.back().layers.push_back(run.layers.front());
    }
    return;
  }
  if (inside_chunk) boundaries_.push_back({run.layers.front().begin, parts_.back().mesh, run.mesh});
  parts_.push_back(run);
}

const StagePart& StageParts::part_at(std::int64_t layer) const {
  for (const StagePart& part : parts_) {
    if (contains(part.layers, layer)) return part;
  }
  PPTRAIN_ASSERT(false, "layer {} is not in the stage", layer);
}

bool divides_experts(const std::map<std::string, std::vector<Interval>>& shards) { return shards.contains("experts"); }

MeshPlace place_in(const Stage& mesh, int device_of_stage) {
  return {device_of_stage / mesh.tensor_parallel, device_of_stage % mesh.tensor_parallel};
}

double missing_samples(const Stage& before, const Stage& after) {
  const int devices = before.replicas * before.tensor_parallel;
  std::int64_t most = 0;
  for (int d = 0; d < devices; ++d) {
    const Interval held = before.samples[d / before.tensor_parallel];
    const Interval needed = after.samples[d / after.tensor_parallel];
    most = std::max(most, needed.size() - intersect(held, needed).size());
  }
  return static_cast<double>(most);
}

}  // namespace pptrain
