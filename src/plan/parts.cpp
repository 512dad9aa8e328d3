#include "plan/parts.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {
namespace {

bool alike(const StagePart& a, const StagePart& b) {
  return a.pattern == b.pattern && a.mesh->tensor_parallel == b.mesh->tensor_parallel &&
         a.holding->samples == b.holding->samples && a.mesh->shards == b.mesh->shards;
}

}  // namespace

StageParts::StageParts(const Stage& stage, const std::vector<Interval>& chunks) {
  if (stage.blocks.empty()) {
    parts_.push_back({&stage, chunks, TensorPattern::megatron, &stage});
    return;
  }
  std::vector<const Block*> blocks;
  for (const Block& block : stage.blocks) blocks.push_back(&block);
  std::sort(blocks.begin(), blocks.end(),
            [](const Block* a, const Block* b) { return a->layers < b->layers; });
  std::vector<StagePart> of_blocks;
  for (const Block* block : blocks) of_blocks.push_back(part_of(stage, *block));
  for (const Interval& chunk : chunks) {
    std::int64_t next = chunk.begin;
    for (std::size_t i = 0; i <= blocks.size() && next < chunk.end; ++i) {
      const Interval block =
          i < blocks.size() ? intersect(blocks[i]->layers, chunk) : Interval{chunk.end, chunk.end};
      if (i < blocks.size() && block.empty()) continue;
      if (next < block.begin) {
        append({&stage, {{next, block.begin}}, TensorPattern::megatron, &stage},
               next > chunk.begin);
      }
      if (!block.empty()) {
        of_blocks[i].layers = {block};
        append(of_blocks[i], block.begin > chunk.begin);
      }
      next = block.end;
    }
  }
}

StagePart StageParts::part_of(const Stage& stage, const Block& block) {
  const Stage* mesh = mesh_of(stage, block, block.replicas, block.tensor_parallel);
  const TensorPattern pattern =
      block.pattern == TensorPattern::replicate ? TensorPattern::megatron : block.pattern;
  if (pattern != TensorPattern::all_to_all) return {mesh, {}, pattern, mesh};
  // The members of a replica have its samples together.
  Stage& division = meshes_.back();
  division.samples.clear();
  const auto members = static_cast<std::size_t>(block.tensor_parallel);
  for (std::size_t first = 0; first < block.samples.size(); first += members) {
    division.samples.push_back(
        {block.samples[first].begin, block.samples[first + members - 1].end});
  }
  return {mesh, {}, pattern, mesh_of(stage, block, block.replicas * block.tensor_parallel, 1)};
}

const Stage* StageParts::mesh_of(const Stage& stage, const Block& block, int replicas,
                                 int tensor_parallel) {
  Stage& mesh = meshes_.emplace_back();
  static_cast<Mesh&>(mesh) = block;
  mesh.replicas = replicas;
  mesh.tensor_parallel = tensor_parallel;
  mesh.recompute = stage.recompute;
  mesh.zero_stage = stage.zero_stage;
  mesh.offload = stage.offload;
  mesh.offload_activations = stage.offload_activations;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) {
      if (mesh.devices.empty() || static_cast<int>(mesh.devices.back().size()) == tensor_parallel) {
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
  if (inside_chunk)
    boundaries_.push_back({run.layers.front().begin, parts_.back().holding, run.holding});
  parts_.push_back(run);
}

const StagePart& StageParts::part_at(std::int64_t layer) const {
  for (const StagePart& part : parts_) {
    if (contains(part.layers, layer)) return part;
  }
  PPTRAIN_ASSERT(false, "layer {} is not in the stage", layer);
}

bool divides_experts(const std::map<std::string, std::vector<Interval>>& shards) {
  return shards.contains("experts");
}

MeshPlace place_in(const Mesh& mesh, int device_of_stage) {
  return {device_of_stage / mesh.tensor_parallel, device_of_stage % mesh.tensor_parallel};
}

double missing_samples(const Mesh& before, const Mesh& after) {
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
