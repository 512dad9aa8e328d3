#pragma once

// Every plan of the planners' spaces, one after another, whether or not it fits. Slow on purpose;
// only tests use them.

#include <functional>
#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "planners/ask/restrictions.hpp"
#include "planners/reference/random_instance.hpp"

namespace pptrain::reference {

using Visit = std::function<void(const Plan&)>;

/// A space visits its plans in the order in which ties are decided: (pp, dp, tmp, micro-batch size,
/// boundaries).
using Space = std::function<void(const RandomInstance&, const Visit&)>;

/// Uniform grids over all devices, every samples-per-replica, every contiguous division.
void visit_amp_space(const RandomInstance& instance, const Visit& visit);

/// The grid of one stage, a replica per device.
void visit_data_parallel_space(const RandomInstance& instance, const Visit& visit);

/// Contiguous divisions x replicas (n = 1) x placement policies composed stage by stage x
/// micro-batch sizes.
void visit_dapple_space(const RandomInstance& instance, const Visit& visit);

/// Contiguous divisions x replicas x degrees x assignments of all devices x micro-batch sizes, even
/// whole samples.
void visit_exhaustive_space(const RandomInstance& instance, const Visit& visit);

/// The form that a planner minimises.
enum class Form { amp, dapple };
double seconds_of(const RandomInstance& instance, const Plan& plan, Form form);

/// Whether the plan has the degrees, micro-batch size, schedule, recomputation and ZeRO stage that
/// are fixed.
bool obeys(const Plan& plan, const Restrictions& restrictions);

/// The plan with the schedule, recomputation and ZeRO stage that are fixed.
Plan with_fixed_choices(Plan plan, const Restrictions& restrictions);

struct Optimum {
  Plan plan;
  double seconds = 0.0;
};

/// The fastest plan of a space that fits and obeys; of those within 1e-12 the first.
std::optional<Optimum> optimum(const RandomInstance& instance, const Space& space, Form form,
                               const Restrictions& restrictions = {});

/// Megatron's choice: for each samples-per-replica the fitting degrees of the smallest tmp * pp,
/// then the smaller tmp, layers by count or by parameters; the fastest of these.
std::optional<Optimum> megatron_optimum(const RandomInstance& instance,
                                        const Restrictions& restrictions = {});

}  // namespace pptrain::reference
