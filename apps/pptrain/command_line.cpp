#include "command_line.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <memory>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/units.hpp"
#include "config/trainer_kinds.hpp"
#include "help_format.hpp"
#include "profile/foreign/foreign_profile.hpp"

namespace pptrain {
namespace {

std::string exit_codes_text() {
  std::vector<std::string> parts;
  for (const ExitCodeMeaning& code : exit_code_meanings())
    parts.push_back(fmt::format("{:>3} {}", code.code, code.meaning));
  return "Exit codes:\n  " + join(parts, "\n  ");
}

}  // namespace

CLI::Validator positive_count() {
  const auto check = [](const std::string& value) -> std::string {
    std::int64_t number = 0;
    const char* end = value.data() + value.size();
    const std::from_chars_result read = std::from_chars(value.data(), end, number);
    return read.ec == std::errc() && read.ptr == end && number > 0
               ? ""
               : value + " is no whole number of at least 1";
  };
  return CLI::Validator(check, "");
}

std::optional<double> parse_tokens(const std::string& text) {
  constexpr double most = 1e30;
  static const std::map<char, double> factors = {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}};
  std::string number = text;
  double factor = 1.0;
  const char unit =
      number.empty() ? ' '
                     : static_cast<char>(std::toupper(static_cast<unsigned char>(number.back())));
  if (factors.contains(unit)) {
    factor = factors.at(unit);
    number.pop_back();
  }
  double value = 0.0;
  const char* end = number.data() + number.size();
  const std::from_chars_result read = std::from_chars(number.data(), end, value);
  const bool is_number = read.ec == std::errc() && read.ptr == end;
  return is_number && value > 0.0 && value * factor <= most ? std::optional(value * factor)
                                                            : std::nullopt;
}

const std::vector<ExitCodeMeaning>& exit_code_meanings() {
  static const auto number = [](ExitCode code) { return static_cast<int>(code); };
  static const std::vector<ExitCodeMeaning> meanings = {
      {number(ExitCode::success), "success"},
      {number(ExitCode::bad_input), "bad input"},
      {number(ExitCode::no_feasible_plan), "no feasible plan"},
      {number(ExitCode::runtime_failure), "failure at run time"},
      {number(ExitCode::stopped_early),
       "stopped early on request, checkpoint written: go on with --resume latest"},
      {interrupted_exit_code, "ended by Ctrl-C"},
      {number(ExitCode::other), "anything else"}};
  return meanings;
}

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> names = {"train",    "cluster", "profile",     "plan",
                                                 "simulate", "report",  "validate",    "tokenize",
                                                 "generate", "export",  "export-plan", "sweep"};
  return names;
}

CommandLine::CommandLine(Options& options, std::function<std::string()> version)
    : options_(options),
      app_("Plans and runs the training of neural networks on mixed clusters.", "pptrain") {
  app_.set_version_flag("--version", std::move(version),
                        "show the version, what was built in and which GPUs there are");
  app_.set_help_flag("-h,--help", "show this help");
  app_.require_subcommand(1);
  app_.formatter(std::make_shared<HelpFormat>());  // of its subcommands too
  verbosity_flags(&app_);
  describe(&app_,
           "Times the layers of a model on every kind of device of a cluster, searches how to "
           "divide model and batch over "
           "the devices, predicts time and memory of the plan, and trains by it over MPI. Only "
           "train and profile "
           "need mpirun; nothing else needs the cluster or a GPU.\n\n"
           "`pptrain CONFIG.toml` is `pptrain train CONFIG.toml`; on 16 ranks `mpirun -np 16 "
           "pptrain CONFIG.toml`.",
           {{"mpirun -np 16 pptrain inputs/gpt2.toml", "train a small GPT-2 on 16 ranks"},
            {"pptrain plan inputs/papers/dapple-bert-48.toml",
             "plan a published experiment; no machine needed"}});
  train();
  cluster();
  profile();
  plan();
  sweep();
  simulate();
  report();
  validate();
  tokenize();
  generate();
  export_model();
  export_plan();
}

const std::vector<std::string>& CommandLine::choices(const CLI::Option* option) const {
  static const std::vector<std::string> none;
  const auto found = choices_.find(option);
  return found == choices_.end() ? none : found->second;
}

CLI::App* CommandLine::command(Command value, const std::string& name,
                               const std::string& description) {
  CLI::App* sub = app_.add_subcommand(name, description);
  sub->callback([this, value] { options_.command = value; });
  verbosity_flags(sub);
  return sub;
}

void CommandLine::describe(CLI::App* sub, const std::string& details,
                           const std::vector<CommandExample>& examples) {
  std::string footer = wrapped(details, screen_columns()) + "\n\nExamples:\n";
  for (const CommandExample& example : examples)
    footer += fmt::format("  {}\n      {}\n", example.command, example.purpose);
  sub->footer(footer + "\n" + exit_codes_text());
  details_[sub->get_name()] = details;
  examples_[sub->get_name()] = examples;
}

void CommandLine::verbosity_flags(CLI::App* app) {
  app->add_flag("-q,--quiet", quiet, "only warnings, errors and the result");
  app->add_flag("-v,--verbose", verbose,
                "also times of preparations and layers, and of every rank");
}

void CommandLine::overrides(CLI::App* sub) {
  sub->add_option("--set", options_.overrides,
                  "SECTION.KEY=VALUE instead of the configuration's; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->allow_extra_args(false);
}

void CommandLine::format(CLI::App* sub, const std::vector<std::string>& names) {
  CLI::Option* option = sub->add_option("--format", options_.format,
                                        "how to print: " + join(names) + " (default: text)")
                            ->type_name("FORMAT");
  option->check(CLI::IsMember(names).description(""));
  choices_[option] = names;
}

void CommandLine::cluster_file(CLI::App* sub) {
  sub->add_option("--cluster", options_.cluster,
                  "instead of the configuration's cluster: a file, or nodes as \"2x dgx-h100, 1x "
                  "4x l40s @ 100Gb/s\" "
                  "(`pptrain cluster --list`)")
      ->type_name("CLUSTER.toml");
}

void CommandLine::described_model(CLI::App* sub) {
  model(sub,
        "instead of a configuration: a model by its config.json of Hugging Face's, or the folder "
        "of it, and "
        "computed times");
  precision(
      sub,
      "of products: fp32, bf16, fp16 (with --model by default bf16, or what all devices have)");
}

CLI::Option* CommandLine::model(CLI::App* sub, const std::string& description) {
  CLI::Option* option =
      sub->add_option("--model", options_.model, description)
          ->check([](const std::string& path) { return path.empty() ? "names no model" : ""; })
          ->type_name("DIR|config.json");
  sub->add_option(
         "--sequence-length", options_.sequence_length,
         "tokens of a sample (with --model by default what config.json admits, 4096 at most)")
      ->check(positive_count())
      ->type_name("N");
  return option;
}

void CommandLine::like(CLI::App* sub, const std::string& description) {
  CLI::Option* option =
      sub->add_option("--like", options_.like, description + join(trainer_names()))
          ->type_name("TRAINER");
  option->check(CLI::IsMember(trainer_names()).description(""));
  choices_[option] = trainer_names();
}

void CommandLine::precision(CLI::App* sub, const std::string& description) {
  CLI::Option* option =
      sub->add_option("--precision", options_.plan_precision, description)->type_name("PRECISION");
  option->check(CLI::IsMember({"fp32", "bf16", "fp16"}).description(""));
  choices_[option] = {"fp32", "bf16", "fp16"};
}

void CommandLine::foreign_profile(CLI::App* sub) {
  const std::vector<std::string>& planners = foreign_planners();
  CLI::Option* from =
      sub->add_option("--from", options_.from,
                      "instead of measuring: take the times that another planner has, " +
                          join(planners, " or "))
          ->type_name("PLANNER PATH");
  choices_[from] = planners;
  model(sub,
        "with --from: the measured model by its config.json of Hugging Face's, or the folder of it")
      ->needs(from);
  precision(sub, "of products (with --from by default fp32, or as its files say)");
  sub->add_option("--device", options_.devices,
                  "with --from: what a device is called in clusters, as A100-40=a100-sxm-40gb; "
                  "where the files have one, "
                  "its name alone; may be repeated")
      ->needs(from)
      ->type_name("DEVICE=NAME")
      ->allow_extra_args(false);
}

void CommandLine::profile_file(CLI::App* sub, const std::string& description) {
  sub->add_option("--profile", options_.profile, description)->type_name("PROFILE.json");
}

void CommandLine::analytic(CLI::App* sub, const std::string& description) {
  sub->add_flag("--analytic", options_.analytic, description);
}

void CommandLine::token_count(CLI::App* sub) {
  const auto check = [](const std::string& text) {
    return parse_tokens(text) ? ""
                              : text + " is no number of tokens; write for instance 1e12 or 300B";
  };
  sub->add_option_function<std::string>(
         "--tokens",
         [this](const std::string& text) { options_.training_tokens = parse_tokens(text); },
         "also say what a training on N tokens takes: days, node-hours, money, energy; 1e12, 300B")
      ->check(CLI::Validator(check, ""))
      ->type_name("N");
}

void CommandLine::prices(CLI::App* sub, const std::string& list) {
  sub->add_option(
         "--price", options_.prices,
         "what an hour of a node costs, or of a device where NAME is one, with its currency: "
         "dgx-h100=98.32USD" +
             list + "; may be repeated")
      ->type_name("NAME=PRICE")
      ->allow_extra_args(false);
}

void CommandLine::failures(CLI::App* sub) {
  const auto check = [](const std::string& text) {
    const std::optional<double> seconds = parse_quantity(text, Quantity::seconds);
    return seconds && *seconds > 0.0 ? "" : text + " is no time; write for instance 10000h";
  };
  sub->add_option_function<std::string>(
         "--mtbf",
         [this](const std::string& text) {
           options_.mtbf = parse_quantity(text, Quantity::seconds);
         },
         "mean time between failures of each node: 10000h")
      ->check(CLI::Validator(check, ""))
      ->type_name("TIME");
}

void CommandLine::output(CLI::App* sub, const std::string& type) {
  sub->add_option("-o,--output", options_.output, "write to this file")->type_name(type);
}

}  // namespace pptrain
