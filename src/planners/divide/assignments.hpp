#pragma once

#include <map>
#include <vector>

#include "planners/divide/stage_search.hpp"
#include "planners/meshes/degrees.hpp"

namespace pptrain {

/// Every way to assign the devices of a small cluster to stages. Devices of one node are equal, and
/// so are nodes of one group of which none is used: of equal choices only the first is made.
class AllAssignments : public DeviceStates {
 public:
  explicit AllAssignments(const SearchSpace& space);

  const StageMesh& mesh(int index) const override { return *meshes_[index]; }
  int num_meshes() const override { return static_cast<int>(meshes_.size()); }
  const std::vector<StageMove>& moves(int state) override { return moves_[state]; }
  bool complete(int state) const override { return num_left(state) == 0; }
  int num_left(int state) const override { return num_left_[state]; }

 private:
  using Used = std::vector<int>;  ///< devices used of each node

  void add_moves(int state);
  void fill(int state, const Used& before, Used& used, std::vector<DeviceId>& devices);
  void add_meshes(int state, const Used& used, const std::vector<DeviceId>& devices);
  bool is_first_of_equals(const Used& used, int node) const;
  int state_of(const Used& used);

  const SearchSpace& space_;
  std::vector<std::vector<DeviceId>> nodes_;
  Degrees degrees_;
  std::vector<std::unique_ptr<StageMesh>> meshes_;
  std::map<std::pair<int, std::vector<DeviceId>>, int> mesh_index_;
  std::vector<Used> states_;
  std::map<Used, int> state_index_;
  std::vector<int> num_left_;
  std::vector<std::vector<StageMove>> moves_;
};

}  // namespace pptrain
