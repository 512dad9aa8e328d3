#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// What a model does with a sample, for figures that people compare.
struct ModelWork {
  std::vector<double> layer_flop;  ///< forward and backward of each layer; empty: not known
  std::string flop_source;         ///< "layers", "parameters", or "" where they are not known
  std::optional<double> tokens_per_sample;  ///< nothing: its samples are no tokens, or nobody says
                                            ///< of how many
  std::string precision;                    ///< what the job computes in
};

/// The work of the profile's model. FLOP are those of the configuration's layers where these are
/// the profile's; else 6 for each parameter and token, where the number of tokens is known: 2
/// forward, 4 backward.
ModelWork model_work(const Config& config, const Profile& profile);

/// Adds `speed` and `kinds` to what is predicted of a plan, which has `predicted`; simulates it
/// once more where the prediction is a simulation. `training_tokens`: how many a training is to
/// see, told in seconds too where samples are tokens.
void predict_throughput(const Instance& instance, const ModelWork& work, Plan& plan,
                        std::optional<double> training_tokens = {});

}  // namespace pptrain
