#include "export_plan/export_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "export_plan/grid.hpp"
#include "export_plan/trainers.hpp"

namespace pptrain {
namespace {

const std::vector<TrainerExport>& exports() {
  static const std::vector<TrainerExport> all = {megatron_export(), torchtitan_export(),
                                                 flagscale_export(), deepspeed_export()};
  return all;
}

const TrainerExport& export_of(const TrainerKind& trainer) {
  const auto found =
      std::find_if(exports().begin(), exports().end(),
                   [&](const TrainerExport& one) { return one.trainer == trainer.name; });
  PPTRAIN_ASSERT(found != exports().end(), "no export for {}", trainer.name);
  return *found;
}

}  // namespace

ExportedJob exported_job(const TrainerKind& trainer, const Config& config, const Model& model,
                         const std::string& source) {
  ExportedJob job = {config, model, decoder_shape(model, trainer.title, source), source};
  export_of(trainer).check_job(job);
  return job;
}

PossibleMisfit misfit_of(const ExportedPlan& exported, const TrainerKind& trainer) {
  if (auto misfit = misfit_with(exported, trainer)) return misfit;
  return export_of(trainer).misfit(exported, trainer);
}

std::vector<ExportFile> export_plan(const ExportedPlan& exported, const TrainerKind& trainer) {
  if (const auto misfit = misfit_of(exported, trainer)) {
    throw_bad_input({exported.source, misfit->problem, misfit->reason,
                     fmt::format("plan again with --like {}", trainer.name)});
  }
  return export_of(trainer).write(exported);
}

}  // namespace pptrain
