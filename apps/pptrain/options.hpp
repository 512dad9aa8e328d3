#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pptrain {

enum class Command {
  train,
  cluster,
  profile,
  plan,
  simulate,
  report,
  validate,
  tokenize,
  generate,
  export_model,
  export_plan,
  sweep
};

/// What the command line says.
struct Options {
  Command command = Command::train;
  std::string input;                   ///< the positional file
  std::vector<std::string> texts;      ///< of `tokenize`
  std::vector<std::string> overrides;  ///< --set section.key=VALUE
  std::string resume;                  ///< of `train`
  std::string cluster;                 ///< a file, or nodes of the catalogue
  bool catalogue = false;              ///< of `cluster`: show what is known by name
  std::string model;  ///< of `plan` and `simulate`, like the next one: a folder with config.json,
                      ///< or that file
  std::pair<std::string, std::string> from;  ///< of `profile`, like the next one: a planner, the
                                             ///< path of its profiles
  std::vector<std::string> devices;          ///< NAME, or the planner's NAME=NAME
  std::string plan_precision;                ///< "": as the configuration says
  std::string like;  ///< of `plan`, `sweep` and `simulate`; "": as the configuration says
  std::string profile;
  std::string planner;
  std::string plan;  ///< of `simulate`, like the next three, of `generate` and of `export-plan`
  std::string schedule;
  std::string order;
  std::string trace;
  std::string tensorboard;  ///< of `report`
  std::string report;       ///< of `plan` and `sweep`
  std::string format = "text";
  std::string output;
  std::string sentencepiece_model;
  std::int64_t train_vocabulary = 0;
  std::string tokenizer;  ///< of `tokenize`, like the next seven, and of `generate`
  std::string end_of_document;
  std::string json_key = "text";
  std::optional<std::int64_t> threads;
  bool append_end_of_document = false;
  bool no_special_tokens = false;
  bool skip_bad_lines = false;
  bool megatron = false;
  std::optional<std::int64_t> sequence_length;  ///< of `tokenize`, like the next four, and of
                                                ///< `plan` and `simulate`
  std::optional<std::int64_t> source_length;
  std::vector<std::string> pair_keys;
  std::vector<std::string> segment_keys;
  std::string source_prefix;
  std::string padding_token;
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> micro_batch_size;
  std::string weight_type = "fp32";  ///< of `export`
  std::string trainer;               ///< of `export-plan`: `--for`
  std::string prompt;                ///< of `generate`, like the next eight
  std::string prompt_file;
  std::int64_t tokens = 100;
  double temperature = 0.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  std::uint64_t seed = 1234;
  bool ignore_end_of_text = false;
  std::string precision = "fp32";
  std::vector<std::string> prices;  ///< NAME=AMOUNTCURRENCY, of `plan`, `sweep` and `cluster`
  std::optional<double> mtbf;       ///< of each node, seconds; of `plan` and `sweep`
  std::vector<std::pair<std::string, int>> node_counts;  ///< of a kind of node, in place of the
                                                         ///< cluster's; set by `sweep`
  std::vector<std::string> clusters;                     ///< of `sweep`, like the next six
  std::vector<std::string> swept_nodes;
  std::string swept_batches;
  std::string swept_precisions;
  std::string json;
  std::string csv;
  std::optional<double> training_tokens;  ///< of `plan` and `sweep`
  std::string calibrate;                  ///< of `plan`: seconds, or a run that was measured
  bool analytic = false;
  bool dry_run = false;
  bool correlation = false;
};

/// Reads the command line. Prints help, version or the usage error and returns nothing when the
/// program is to end with `exit_code`. Only one process of a job prints.
std::optional<Options> parse_options(int argc, char** argv, bool prints, int& exit_code);

}  // namespace pptrain
