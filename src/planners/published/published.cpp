#include "planners/published/published.hpp"

#include <algorithm>

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

std::vector<std::string> asked_by_auto(const std::vector<std::unique_ptr<Planner>>& planners) {
  std::vector<std::string> names;
  for (const auto& planner : planners) {
    if (planner->is_asked_by_auto()) names.push_back(planner->name());
  }
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name == "amp"; });
  return names;
}

}  // namespace pptrain
