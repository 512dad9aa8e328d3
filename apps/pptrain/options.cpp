#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/log.hpp"
#include "base/names.hpp"
#include "cuda/presence.hpp"
#include "plan/plan.hpp"
#include "planners/search.hpp"
#include "pptrain_version.hpp"

namespace pptrain {
namespace {

const std::vector<std::string> commands = {"train",    "cluster", "profile",  "plan",
                                           "simulate", "report",  "validate", "tokenize"};

/// The version, what it was built for, and what it finds.
std::string version_text() {
  std::string text = "pptrain " PPTRAIN_VERSION "\n";
  const std::string gpu_build = cuda_build();
  text += "back ends: host" + (gpu_build.empty() ? "" : "; " + gpu_build) + "\n";
  const int gpus = num_gpus();
  text += gpus > 0 ? "GPUs: " + std::to_string(gpus) : "GPUs: none, so the host is used (" + why_no_gpu() + ")";
  return text;
}

/// The command line of pptrain, filling `Options`.
class Parser {
 public:
  explicit Parser(Options& options) : options_(options) {
    app_.set_version_flag("--version", version_text);
    app_.require_subcommand(1);
    app_.footer(
        "`pptrain CONFIG.toml` is `pptrain train CONFIG.toml`; on several ranks: mpirun -np 16 pptrain ...\n"
        "Exit codes: 0 success, 2 bad input, 3 no feasible plan, 4 failure at run time, 75 stopped early on "
        "request with a checkpoint written (start it again with --resume latest), 1 anything else.");
    verbosity_flags(&app_);
    train();
    cluster();
    profile();
    plan();
    simulate();
    report();
    validate();
    tokenize();
  }

  CLI::App& app() { return app_; }
  bool quiet = false;
  bool verbose = false;

 private:
  CLI::App* command(Command value, const std::string& name, const std::string& description) {
    CLI::App* sub = app_.add_subcommand(name, description);
    sub->callback([this, value] { options_.command = value; });
    verbosity_flags(sub);
    return sub;
  }
  void verbosity_flags(CLI::App* app) {
    app->add_flag("-q,--quiet", quiet, "only warnings and errors");
    app->add_flag("-v,--verbose", verbose, "more about what is done");
  }
  void overrides(CLI::App* sub) {
    sub->add_option("--set", options_.overrides, "SECTION.KEY=VALUE instead of the configuration's")
        ->type_name("SECTION.KEY=VALUE")
        ->allow_extra_args(false);
  }
  void format(CLI::App* sub, std::vector<std::string> names) {
    sub->add_option("--format", options_.format, "how to print: " + join(names))
        ->check(CLI::IsMember(std::move(names)));
  }
  void analytic(CLI::App* sub, const std::string& description) {
    sub->add_flag("--analytic", options_.analytic, description);
  }
  void output(CLI::App* sub) {
    sub->add_option("-o,--output", options_.output, "write to this file")->type_name("FILE");
  }

  void train() {
    CLI::App* sub = command(Command::train, "train", "Profile, plan and train");
    sub->add_option("CONFIG.toml", options_.input, "the job")->required();
    overrides(sub);
    sub->add_option_function<std::int64_t>(
           "--steps", [this](std::int64_t n) { options_.overrides.push_back("training.steps=" + std::to_string(n)); },
           "number of steps")
        ->check(CLI::PositiveNumber);
    sub->add_option("--resume", options_.resume,
                    "go on from this checkpoint; latest: from the newest sound one of the job, or from the start")
        ->type_name("PATH|latest");
    sub->add_flag("--dry-run", options_.dry_run, "stop after planning; nothing is written");
  }
  void cluster() {
    CLI::App* sub = command(Command::cluster, "cluster", "Show the machine that is found, or a cluster file");
    sub->add_option("FILE", options_.input, "CONFIG.toml or CLUSTER.toml; none: find the machine");
    format(sub, {"text", "json", "toml"});
    output(sub);
  }
  void profile() {
    CLI::App* sub = command(Command::profile, "profile", "Time the model's layers on every kind of device");
    sub->add_option("CONFIG.toml", options_.input, "the job")->required();
    overrides(sub);
    sub->add_option("--cluster", options_.cluster, "a CLUSTER.toml instead of the configuration's");
    analytic(sub, "compute the times from FLOP, bytes and the cluster's rates instead of measuring");
    output(sub);
  }
  void plan() {
    CLI::App* sub = command(Command::plan, "plan", "Search the best plan and show it with its alternatives");
    sub->add_option("CONFIG.toml", options_.input, "the job; not needed with --cluster and --profile");
    overrides(sub);
    sub->add_option("--cluster", options_.cluster, "a CLUSTER.toml instead of the configuration's");
    sub->add_option("--profile", options_.profile, "a PROFILE.json instead of measuring");
    analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
    sub->add_option("--planner", options_.planner, join(planner_names()) + " (auto and every other one beside it)")
        ->type_name("NAME");
    sub->add_option("--global-batch-size", options_.global_batch_size, "samples per step, without a configuration");
    sub->add_option("--micro-batch-size", options_.micro_batch_size, "samples that enter the pipeline together");
    sub->add_flag("--correlation", options_.correlation,
                  "also compare how the closed forms and the simulator rank the plans of all planners");
    format(sub, {"text", "json"});
    output(sub);
  }
  void simulate() {
    CLI::App* sub =
        command(Command::simulate, "simulate", "Execute a plan's schedule event by event and show its time");
    sub->add_option("CONFIG.toml", options_.input, "the job; not needed with --cluster and --profile");
    sub->add_option("--plan", options_.plan, "the PLAN.json")->required();
    overrides(sub);
    sub->add_option("--cluster", options_.cluster, "a CLUSTER.toml instead of the configuration's");
    sub->add_option("--profile", options_.profile, "a PROFILE.json instead of the configuration's");
    analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
    sub->add_option("--schedule", options_.schedule, "instead of the plan's: " + join(schedule_names()))
        ->type_name("NAME");
    sub->add_option("--order", options_.order, "an ORDER.json instead of a schedule: a list of tasks per device")
        ->excludes("--schedule");
    sub->add_option("--trace", options_.trace, "write a Chrome trace to this file")->type_name("TRACE.json");
    format(sub, {"text", "json"});
  }
  void report() {
    CLI::App* sub = command(Command::report, "report", "Show a run, however it ended, as one HTML file");
    sub->add_option("RUN_DIR", options_.input, "the directory that the job has printed, OUTPUT/JOB/START_TIME")
        ->required();
    sub->add_option("-o,--output", options_.output, "write to this file; none: report.html in RUN_DIR")
        ->type_name("REPORT.html");
    sub->add_option("--tensorboard", options_.tensorboard, "also write the series as an event file into this folder")
        ->type_name("DIR");
  }
  void validate() {
    CLI::App* sub = command(Command::validate, "validate", "Check a file and say what is wrong with it");
    sub->add_option("FILE", options_.input, "CONFIG.toml, CLUSTER.toml, PROFILE.json, PLAN.json or CHECKPOINT.h5")
        ->required();
  }
  void tokenize() {
    CLI::App* sub = command(Command::tokenize, "tokenize", "Turn text into a token file");
    sub->add_option("TEXT", options_.texts, "text files, one after another")->required();
    sub->add_option("-o,--output", options_.output, "the token file")->type_name("TOKENS.bin")->required();
    CLI::Option* model = sub->add_option("--model", options_.sentencepiece_model, "a SentencePiece model; none: bytes");
    sub->add_option("--train-vocabulary", options_.train_vocabulary, "train a SentencePiece model of this many pieces")
        ->check(CLI::PositiveNumber)
        ->excludes(model);
  }

  Options& options_;
  CLI::App app_{"Trains large neural networks on mixed clusters: profiles, plans, simulates, trains.", "pptrain"};
};

/// `pptrain x.toml` means `pptrain train x.toml`.
std::vector<std::string> with_command(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto first = std::find_if(arguments.begin(), arguments.end(), [](const std::string& a) { return a[0] != '-'; });
  const bool is_file = first != arguments.end() && first->find('.') != std::string::npos;
  if (is_file) arguments.insert(arguments.begin(), "train");
  return arguments;
}

std::string suggestion(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return "";
  const std::string nearest = nearest_name(arguments.front(), commands);
  const bool is_command = std::find(commands.begin(), commands.end(), arguments.front()) != commands.end();
  return is_command || nearest.empty() ? "" : "; did you mean `pptrain " + nearest + "`?";
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, bool prints, int& exit_code) {
  Options options;
  Parser parser(options);
  std::vector<std::string> arguments = with_command(argc, argv);
  const std::string hint = suggestion(arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
  try {
    parser.app().parse(arguments);
  } catch (const CLI::Success& success) {
    exit_code = 0;
    if (prints) parser.app().exit(success, std::cout, std::cerr);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    exit_code = 2;
    if (prints) log_error("command line: {}{}; see pptrain --help", error.what(), hint);
    return std::nullopt;
  }
  if (parser.quiet) set_verbosity(Verbosity::quiet);
  if (parser.verbose) set_verbosity(Verbosity::verbose);
  return options;
}

}  // namespace pptrain
