#include "export_plan/like.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "export_plan/grid.hpp"
#include "model/build/check.hpp"
#include "planners/judge/planned_orders.hpp"

namespace pptrain {
namespace {

/// Plans that an export writes for a trainer.
class ExportedPlans : public PlanRule {
 public:
  ExportedPlans(const TrainerKind& trainer, const Config& config)
      : trainer_(trainer),
        config_(config),
        model_(build_model_of(config)),
        job_(exported_job(trainer, config_, model_, config.where("parallelism.like"))) {}

  const TrainerKind& trainer() const override { return trainer_; }

  bool allows(const Instance& instance, const Plan& plan) const override {
    const auto orders = [&] { return task_orders(plan, planned_order_options(instance, plan)); };
    return !misfit_of({job_, plan, instance.cluster, orders}, trainer_);
  }

  bool allows_degree(int tensor_parallel) const override {
    return tensor_parallel == 1 ||
           (trainer_.tensor && !heads_misfit(job_.shape, tensor_parallel, trainer_));
  }

  bool allows_pipeline() const override {
    return !job_.shape.tied || trainer_.why_no_tied_stages.empty();
  }

  bool allows_cut(std::int64_t layer) const override {
    const std::vector<Interval>& blocks = job_.shape.blocks;
    return std::none_of(blocks.begin(), blocks.end(),
                        [&](Interval block) { return block.begin < layer && layer < block.end; });
  }

 private:
  const TrainerKind& trainer_;
  Config config_;
  Model model_;
  ExportedJob job_;
};

}  // namespace

std::shared_ptr<const PlanRule> rule_of_trainer(const Config& config) {
  const TrainerKind* trainer = trainer_kind(config.parallelism.like);
  if (trainer == nullptr) return nullptr;
  if (!config.can_train_model()) {
    throw_bad_input(
        {config.where("parallelism.like"),
         fmt::format("like = \"{}\", but of the model {} only times are known", trainer->name,
                     config.model.name),
         "what the trainer runs depends on its dimensions",
         "name a model that pptrain trains, or a folder with config.json, or leave like out"});
  }
  return std::make_shared<ExportedPlans>(*trainer, config);
}

}  // namespace pptrain
