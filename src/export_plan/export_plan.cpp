#include "export_plan/export_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "export_plan/trainers.hpp"

namespace pptrain {
namespace {

struct Trainer {
  std::string name;
  std::vector<ExportFile> (*write)(const ExportedPlan&);
};

const std::vector<Trainer>& trainers() {
  static const std::vector<Trainer> all = {{"megatron", export_for_megatron},
                                           {"torchtitan", export_for_torchtitan},
                                           {"flagscale", export_for_flagscale},
                                           {"deepspeed", export_for_deepspeed}};
  return all;
}

}  // namespace

const std::vector<std::string>& trainer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Trainer& trainer : trainers()) all.push_back(trainer.name);
    return all;
  }();
  return names;
}

std::vector<ExportFile> export_plan(const ExportedPlan& exported, const std::string& trainer) {
  const auto found =
      std::find_if(trainers().begin(), trainers().end(), [&](const Trainer& one) { return one.name == trainer; });
  PPTRAIN_ASSERT(found != trainers().end(), "no trainer {}", trainer);
  return found->write(exported);
}

}  // namespace pptrain
