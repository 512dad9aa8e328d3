#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/generate/generate.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// Where the model that is being trained lies.
struct TrainedPlan {
  const Plan& plan;
  const RankMap& map;
};

/// Continues the prompts of [metrics] sample_prompts by the model that is being trained: the ranks
/// of its first replica do so together.
class SamplePrompts {
 public:
  /// A classifier and a model without tokenizer throw `Error` (exit code 2), where there are
  /// prompts.
  SamplePrompts(const Config& config, const Model& model);

  /// Whether the configuration has no sample_prompts, so that there is nothing to continue.
  bool empty() const { return prompts_.empty(); }
  /// Whether the ranks of a plan's first replica have its weights between two iterations, which
  /// ZeRO stage 3 spreads over all replicas.
  static bool can_print(const Plan& plan);
  /// A line for each prompt: the step, the prompt and its likeliest continuation, on all ranks.
  /// Copies the weights to the host for as long as it takes. Collective over `world`.
  std::vector<std::string> lines(std::int64_t step, Session& session, const TrainedPlan& where,
                                 MPI_Comm world, Waiter& waiter) const;

 private:
  std::vector<std::string> prompts_;
  TokenMeaning meaning_;
  std::set<std::uint32_t> ends_;
  std::optional<std::size_t> longest_;
};

}  // namespace pptrain
