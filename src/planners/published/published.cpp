#include "planners/published/published.hpp"

#include "base/error.hpp"
#include "planners/published/alpa/alpa.hpp"
#include "planners/published/amp/exhaustive.hpp"
#include "planners/published/amp/uniform_planners.hpp"
#include "planners/published/dapple/dapple.hpp"
#include "planners/published/dapple/pipedream.hpp"
#include "planners/published/whale/whale.hpp"

namespace pptrain {
namespace {

std::vector<std::unique_ptr<Planner>> make_published() {
  std::vector<std::unique_ptr<Planner>> all;
  all.push_back(std::make_unique<AmpPlanner>());
  all.push_back(std::make_unique<AnnealingPlanner>());
  all.push_back(std::make_unique<MegatronPlanner>());
  all.push_back(std::make_unique<DataParallelPlanner>());
  all.push_back(std::make_unique<DapplePlanner>());
  all.push_back(std::make_unique<PipeDreamPlanner>());
  all.push_back(std::make_unique<WhalePlanner>());
  all.push_back(std::make_unique<AlpaPlanner>());
  all.push_back(std::make_unique<UniformLayersPlanner>());
  all.push_back(std::make_unique<UniformParametersPlanner>());
  all.push_back(std::make_unique<RandomPlanner>());
  all.push_back(std::make_unique<ExhaustivePlanner>());
  return all;
}

}  // namespace

const std::vector<std::unique_ptr<Planner>>& published_planners() {
  static const std::vector<std::unique_ptr<Planner>> all = make_published();
  return all;
}

const Planner& published_planner(const std::string& name) {
  for (const auto& planner : published_planners()) {
    if (planner->name() == name) return *planner;
  }
  PPTRAIN_ASSERT(false, "no planner {} of a paper", name);
}

}  // namespace pptrain
