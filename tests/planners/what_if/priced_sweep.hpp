#pragma once

#include "cost/instances.hpp"
#include "planners/what_if/sweep.hpp"

namespace pptrain {

using Texts = std::vector<std::string>;

/// So many nodes of one device "v", at a price of an hour.
inline SweepPoint point_of(int nodes, double price, Texts values) {
  SweepPoint point;
  point.values = std::move(values);
  point.cluster = nodes_of(nodes, 1, 1e12);
  point.cluster.currency = "USD";
  point.cluster.groups[0].price = price;
  for (int l = 0; l < 4; ++l) point.profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  point.profile.model = "made";
  point.config.source = "test";
  point.config.training.sequence_length = 10;
  point.config.training.global_batch_size = 8;
  point.config.planner.effort = Effort::quick;
  point.config.places["training.sequence_length"] = "test";
  point.planner = "auto";
  point.restrictions = restrictions_of(point.config);
  return point;
}

/// One, two and three nodes, for one and for two dollars an hour.
inline Sweep swept() {
  const std::vector<SweepAxis> axes = {
      {SweepAxis::Kind::nodes, "node", "node", {"1", "2", "3"}},
      {SweepAxis::Kind::price, "node price", "node", {"1USD", "2USD"}}};
  std::vector<SweepPoint> points;
  for (const Texts& values : all_points(axes)) {
    points.push_back(point_of(std::stoi(values[0]), values[1] == "1USD" ? 1.0 : 2.0, values));
  }
  return run_sweep(axes, points, 2);
}

}  // namespace pptrain
