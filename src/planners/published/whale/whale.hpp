#pragma once

#include <string>

#include "planners/ask/planner.hpp"

namespace pptrain {

/// Whale: equal TaskGraphs in a pipeline, replicated or split over VirtualDevices with the devices
/// in several orders, the whole pipeline replicated over what is left (nested data parallelism);
/// samples and shards balanced inside a TaskGraph by speed and memory, layers between them.
class WhalePlanner : public Planner {
 public:
  std::string name() const override { return "whale"; }
  std::string description() const override {
    return "load balanced over unequal devices, annotations (Whale)";
  }
  Outcome search(const SearchSpace& space) const override;
};

}  // namespace pptrain
