#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "plan/patterns.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// Layers of a stage that are divided alike.
struct StagePart {
  const Stage* mesh;  ///< the division, with the stage's choices; its layers do not count
  std::vector<Interval> layers;  ///< in layer order
  TensorPattern pattern = TensorPattern::megatron;
  /// Who has which samples between layers: as the mesh, but where members have samples of their own
  /// each of them is a replica here.
  const Mesh* holding = nullptr;

  /// The degree of tensor parallelism at which members compute its layers: that of the mesh, or 1
  /// where each has samples of its own.
  int computed_degree() const {
    return pattern == TensorPattern::all_to_all ? 1 : mesh->tensor_parallel;
  }
};

/// A stage as runs of neighbouring layers that are divided alike (in a block, or as the stage), so
/// that what knows one mesh can cost any stage. A stage without blocks is one part. A block's mesh
/// is the stage's devices, row after row, cut into rows of the block's tensor_parallel.
class StageParts {
 public:
  /// `chunks`: intervals of the stage's layers, in layer order. The stage must outlive the parts.
  StageParts(const Stage& stage, const std::vector<Interval>& chunks);
  explicit StageParts(const Stage& stage) : StageParts(stage, stage.layers) {}
  StageParts(const StageParts&) = delete;
  StageParts& operator=(const StageParts&) = delete;

  /// The parts in the order of their layers; neighbours are divided differently.
  const std::vector<StagePart>& all() const { return parts_; }
  /// The part with a layer of the stage.
  const StagePart& part_at(std::int64_t layer) const;
  /// Who has which samples of a layer of the stage (`StagePart::holding`).
  const Mesh& mesh_at(std::int64_t layer) const { return *part_at(layer).holding; }
  /// Who has which samples of the stage's first layer. Cuts between stages are between the
  /// `last_mesh` of one and this mesh of the next.
  const Mesh& first_mesh() const { return *parts_.front().holding; }
  /// Who has which samples of the stage's last layer.
  const Mesh& last_mesh() const { return *parts_.back().holding; }

  /// Two neighbouring layers of a chunk that are divided differently, with who has which samples of
  /// them.
  struct Boundary {
    std::int64_t layer;  ///< the first one behind it
    const Mesh* before;
    const Mesh* after;
  };
  /// Places at which chunks change their division, in the order of layers; empty where none does.
  const std::vector<Boundary>& boundaries() const { return boundaries_; }

 private:
  void append(const StagePart& run, bool inside_chunk);
  const Stage* mesh_of(const Stage& stage, const Block& block, int replicas, int tensor_parallel);
  StagePart part_of(const Stage& stage, const Block& block);

  std::deque<Stage> meshes_;  // of blocks; addresses stay
  std::vector<StagePart> parts_;
  std::vector<Boundary> boundaries_;
};

/// Whether members with these shares have whole experts, instead of columns of all of them.
bool divides_experts(const std::map<std::string, std::vector<Interval>>& shards);

/// Where device `device_of_stage` (they count row after row) is in a mesh of its stage.
struct MeshPlace {
  int replica = 0;
  int shard = 0;
};
MeshPlace place_in(const Mesh& mesh, int device_of_stage);

/// Samples that some device lacks when it changes from one division to the other, at most.
double missing_samples(const Mesh& before, const Mesh& after);

}  // namespace pptrain
