#include "program/ties.hpp"

#include <algorithm>
#include <deque>

namespace pptrain {
namespace {

/// The part of a plan that holds a layer, as an end of a tie.
class Parts {
 public:
  explicit Parts(const Plan& plan) : plan_(plan) {
    for (const Stage& stage : plan.stages) parts_.emplace_back(stage);
  }

  TieEnd end_at(int tie, std::int64_t layer) const {
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      if (!contains(plan_.stages[s].layers, layer)) continue;
      const StagePart* part = &parts_[s].part_at(layer);
      return {tie, StageId(static_cast<int>(s)), static_cast<int>(part - parts_[s].all().data()),
              layer};
    }
    return {tie, StageId(-1), 0, layer};
  }

 private:
  const Plan& plan_;
  std::deque<StageParts> parts_;
};

}  // namespace

int Tie::num_layers_in(const std::vector<Interval>& of) const {
  return static_cast<int>(std::count_if(layers.begin(), layers.end(),
                                        [&](std::int64_t layer) { return contains(of, layer); }));
}

std::vector<TieEnd> tie_ends(const Plan& plan, const std::vector<Tie>& ties) {
  if (ties.empty()) return {};
  const Parts parts(plan);
  std::vector<TieEnd> all;
  for (std::size_t t = 0; t < ties.size(); ++t) {
    std::vector<TieEnd> ends;
    for (const std::int64_t layer : ties[t].layers) {
      const TieEnd end = parts.end_at(static_cast<int>(t), layer);
      const bool known = std::any_of(ends.begin(), ends.end(), [&](const TieEnd& other) {
        return other.stage == end.stage && other.part == end.part;
      });
      if (!known) ends.push_back(end);
    }
    if (ends.size() > 1) all.insert(all.end(), ends.begin(), ends.end());
  }
  return all;
}

std::vector<Interval> tie_division(const Mesh& mesh, const Tie& tie) {
  if (tie.axis.empty())
    return std::vector<Interval>(static_cast<std::size_t>(mesh.tensor_parallel), {0, tie.rows});
  const auto shards = mesh.shards.find(tie.axis);
  return shards != mesh.shards.end() ? shards->second
                                     : even_division(tie.rows, mesh.tensor_parallel);
}

std::vector<EqualCopies> tie_copies(const Mesh& mesh, const Tie& tie) {
  if (tie.axis.empty()) {
    EqualCopies all = {{0, tie.rows}, {}};
    for (const std::vector<DeviceId>& replica : mesh.devices) {
      all.devices.insert(all.devices.end(), replica.begin(), replica.end());
    }
    return {all};
  }
  std::vector<EqualCopies> copies;
  for (const Interval& rows : tie_division(mesh, tie)) {
    const std::size_t shard = copies.size();
    copies.push_back({rows, {}});
    for (const std::vector<DeviceId>& replica : mesh.devices)
      copies.back().devices.push_back(replica[shard]);
  }
  return copies;
}

}  // namespace pptrain
