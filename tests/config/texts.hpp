#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/read.hpp"
#include "support/complaint.hpp"

namespace pptrain::test {

/// The configuration of a file c.toml with this text.
inline Config parse(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return parse_config(text, "c.toml", "", overrides);
}

/// What is said of a text that is refused.
inline std::string refused(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return complaint_of([&] { parse(text, overrides); });
}

/// Many keys of CONFIG.toml at values that are not their defaults.
inline constexpr std::string_view everything = R"([job]
name = "a \"quoted\" name"
output = "elsewhere"
seed = 9007199254740991
timeout = "2 min"
time_limit = "1.5 h"
[model]
name = "gpt2"
layers = 12
hidden_size = 768
heads = 12
vocabulary_size = 50257
tied = true
initial_parameters = "start.h5"
[[model.annotate]]
layers = [0, 12]
primitive = "split"
devices = 4
[[model.annotate]]
layers = [12, 14]
devices = 2
[data]
train = ["a.bin", "b.txt"]
validation = "c.txt"
shuffle = false
[training]
steps = 7
sequence_length = 64
global_batch_size = 24
micro_batch_size = 6
precision = "bf16"
[optimizer]
name = "sgd"
learning_rate = 0.1
beta1 = 0.0
beta2 = 0.999
epsilon = 1e-6
weight_decay = 0
gradient_clip = 0.3333333333333333
[lr_scheduler]
name = "cosine"
warmup_steps = 5
minimum = 1e-4
[parallelism]
data = 2
pipeline = 3
tensor = 4
schedule = "zb-h1"
virtual_stages = 2
unit = 3
recompute = "selective"
zero_stage = "auto"
zero_group = "node"
offload = true
offload_activations = false
experts = "whole"
plan = "p.json"
[cluster]
file = "c.toml"
[planner]
name = "amp"
time_limit = "250 ms"
trials = 2
trial_steps = 3
drift_factor = 1.5
drift_window = 7
replan = "on-drift"
[profile]
file = "measured.json"
cache = false
analytic = true
[checkpoint]
interval = 10
keep = 1
[metrics]
interval = 2
evaluation_interval = 4
trace = true
)";

}  // namespace pptrain::test
