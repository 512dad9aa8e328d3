#include "planners/published/dapple/dapple_costs.hpp"

namespace pptrain {
DappleCosts::DappleCosts(const SearchSpace& space, const PlacementGraph& graph,
                         std::int64_t micro_batch, int most_stages)
    : graph_(graph),
      links_(space.instance.cluster),
      micro_batch_(micro_batch),
      micro_batches_(static_cast<double>(space.instance.global_batch_size / micro_batch)),
      in_flight_(space.schedule, space.instance.global_batch_size / micro_batch, most_stages) {
  for (const ProfileLayer& layer : space.instance.profile.layers)
    output_bytes_.push_back(layer.output_bytes);
  for (const PlacedStage& stage : graph.stages()) {
    const bool possible = stage.replicas <= micro_batch && !space.stop.requested();
    tables_.push_back(possible ? table_of(space, stage) : nullptr);
  }
  transfers_.resize(graph.stages().size());
}

const DappleStageTable* DappleCosts::table_of(const SearchSpace& space, const PlacedStage& stage) {
  const DappleStageShape shape = dapple_stage_shape(links_, stage, micro_batch_);
  const double most_in_flight = in_flight_.behind(in_flight_.most_behind());
  auto place = known_.find(shape);
  if (place == known_.end()) {
    place = known_.emplace(shape, DappleStageTable(space, shape, most_in_flight)).first;
    const double all = place->second.of(0, static_cast<int>(output_bytes_.size())).most_in_flight;
    if (in_flight_.most_behind() > 0 && all < most_in_flight) memory_limits_stages_ = true;
  }
  return &place->second;
}

const std::vector<double>& DappleCosts::transfer_seconds(int stage, std::size_t next) {
  const std::vector<Placement>& placements = graph_.next(stage);
  if (transfers_[stage].empty()) transfers_[stage].resize(placements.size(), nullptr);
  const std::vector<double>*& seconds = transfers_[stage][next];
  if (seconds == nullptr) {
    const TransferLoads loads(links_, graph_.stages()[stage].taken, placements[next].taken,
                              micro_batch_);
    const auto [place, is_new] = known_transfers_.try_emplace(loads);
    if (is_new) {
      for (const double bytes : output_bytes_) place->second.push_back(loads.seconds(bytes));
    }
    seconds = &place->second;
  }
  return *seconds;
}

}  // namespace pptrain
