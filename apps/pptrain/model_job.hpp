#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "options.hpp"

namespace pptrain {

/// The settings of options that are short for `--set`: sequence length and precision. Refuses a key
/// that is set both ways (`Error`, exit code 2).
std::vector<std::string> short_settings(const Options& options);

/// The model of `--model` alone, for what needs no cluster: the configuration of the command line
/// with it. `chosen` gets what was taken where nobody said it. Throws `Error` (exit code 2) as
/// `model_job` does.
Config model_without_cluster(const Options& options, std::vector<std::string>& chosen);

/// The job of `--model`, which has neither a CONFIG.toml nor a profile: the model of a config.json
/// on the cluster of
/// `--cluster` by computed times. What the command line leaves open is taken from both and told:
/// bf16 where all devices have it, else fp16, else fp32; as many tokens a sample as config.json
/// admits, 4096 at most. Of `--plan` it has the batch. Throws `Error` (exit code 2) where options
/// contradict each other or something is missing.
Config model_job(const Options& options);

}  // namespace pptrain
