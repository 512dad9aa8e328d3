#include "planners/published/published.hpp"

#include "base/error.hpp"

namespace pptrain {
namespace {

std::vector<std::unique_ptr<Planner>> make_published() {
  std::vector<std::unique_ptr<Planner>> all;
#define PPTRAIN_ADD_PLANNER(identifier, name) all.push_back(make_##identifier##_planner());
  PPTRAIN_FOR_EACH_PLANNER(PPTRAIN_ADD_PLANNER)
#undef PPTRAIN_ADD_PLANNER
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
