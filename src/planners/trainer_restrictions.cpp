#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "planners/ask/restrictions.hpp"

namespace pptrain {
namespace {

/// Refuses keys that are fixed to what a trainer does not run.
class TrainerKeys {
 public:
  TrainerKeys(const Restrictions& fixed, const PlanRule& rule, const std::string& source)
      : fixed_(fixed), rule_(rule), trainer_(rule.trainer()), source_(source) {}

  void check() const {
    if (!is_open(fixed_.schedule) && !trainer_.runs(fixed_.schedule))
      refuse("schedule", fmt::format("\"{}\"", fixed_.schedule), trainer_.why_schedules);
    if (!trainer_.runs_chunks() && fixed_.virtual_stages.value_or(1) > 1)
      refuse("virtual_stages", fmt::format("{}", *fixed_.virtual_stages), trainer_.why_schedules);
    if (fixed_.zero_stage && !trainer_.has_zero_stage(static_cast<int>(*fixed_.zero_stage)))
      refuse("zero_stage", fmt::format("{}", *fixed_.zero_stage), trainer_.why_zero);
    if (fixed_.recompute && !trainer_.has(*fixed_.recompute))
      refuse("recompute", fmt::format("\"{}\"", to_string(*fixed_.recompute)),
             trainer_.why_recompute);
    if (!trainer_.node_groups && fixed_.zero_group == ZeroGroup::node)
      refuse("zero_group", "\"node\"", trainer_.why_no_groups);
    if (!trainer_.context && fixed_.context > 1)
      refuse("context", fmt::format("{}", fixed_.context), trainer_.why_no_context);
    if (!trainer_.offload && fixed_.offload == AutoFlag(true))
      refuse("offload", "true", trainer_.why_no_offload);
    if (fixed_.offload_activations == AutoFlag(true))
      refuse("offload_activations", "true", trainer_.title + " is not told to");
    if (!trainer_.sent_rows && (fixed_.experts == Experts::sent || fixed_.expert))
      refuse(fixed_.expert ? "expert" : "experts",
             fixed_.expert ? fmt::format("{}", *fixed_.expert) : "\"all-to-all\"",
             trainer_.why_no_rows);
    if (fixed_.pipeline.value_or(1) > 1 && !rule_.allows_pipeline())
      refuse("pipeline", fmt::format("{}", *fixed_.pipeline), trainer_.why_no_tied_stages);
    check_tensor();
  }

 private:
  void check_tensor() const {
    if (!fixed_.tensor || rule_.allows_degree(static_cast<int>(*fixed_.tensor))) return;
    refuse("tensor", fmt::format("{}", *fixed_.tensor),
           trainer_.tensor
               ? "it divides the model's heads, key heads and what else is shared evenly"
               : trainer_.why_no_tensor);
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& value,
                           const std::string& reason) const {
    throw_bad_input({fixed_.place_of(key, source_),
                     fmt::format("{} = {} with like = \"{}\"", key, value, trainer_.name), reason,
                     fmt::format("leave {} out, or like", key)});
  }

  const Restrictions& fixed_;
  const PlanRule& rule_;
  const TrainerKind& trainer_;
  const std::string& source_;
};

}  // namespace

Restrictions as_trainer_runs(Restrictions restrictions, std::shared_ptr<const PlanRule> rule,
                             const std::string& source) {
  TrainerKeys(restrictions, *rule, source).check();
  const TrainerKind& trainer = rule->trainer();
  restrictions.uniform = restrictions.uniform || trainer.alike_stages;
  if (trainer.schedules.size() == 1) restrictions.schedule = trainer.schedules.front();
  if (!trainer.runs_chunks()) restrictions.virtual_stages = 1;
  if (!trainer.node_groups) restrictions.zero_group = ZeroGroup::replicas;
  if (!trainer.offload) restrictions.offload = false;
  if (!rule->allows_pipeline()) restrictions.pipeline = 1;
  if (!trainer.sent_rows && restrictions.experts == Experts::chosen)
    restrictions.experts = Experts::columns;
  restrictions.offload_activations = false;
  restrictions.rule = std::move(rule);
  return restrictions;
}

}  // namespace pptrain
