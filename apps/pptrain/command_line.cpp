#include "command_line.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/names.hpp"
#include "help_format.hpp"
#include "plan/plan.hpp"
#include "planners/search.hpp"

namespace pptrain {
namespace {

std::string exit_codes_text() {
  std::vector<std::string> parts;
  for (const ExitCodeMeaning& code : exit_code_meanings())
    parts.push_back(fmt::format("{:>3} {}", code.code, code.meaning));
  return "Exit codes:\n  " + join(parts, "\n  ");
}

/// How many of something there are: steps, samples.
CLI::Validator count() {
  const auto check = [](const std::string& value) -> std::string {
    std::int64_t number = 0;
    const char* end = value.data() + value.size();
    const std::from_chars_result read = std::from_chars(value.data(), end, number);
    return read.ec == std::errc() && read.ptr == end && number > 0 ? "" : value + " is no whole number of at least 1";
  };
  return CLI::Validator(check, "");
}

}  // namespace

const std::vector<ExitCodeMeaning>& exit_code_meanings() {
  static const auto number = [](ExitCode code) { return static_cast<int>(code); };
  static const std::vector<ExitCodeMeaning> meanings = {
      {number(ExitCode::success), "success"},
      {number(ExitCode::bad_input), "bad input"},
      {number(ExitCode::no_feasible_plan), "no feasible plan"},
      {number(ExitCode::runtime_failure), "failure at run time"},
      {number(ExitCode::stopped_early), "stopped early on request, checkpoint written: go on with --resume latest"},
      {interrupted_exit_code, "ended by Ctrl-C"},
      {number(ExitCode::other), "anything else"}};
  return meanings;
}

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> names = {"train",  "cluster",  "profile",  "plan",     "simulate",
                                                 "report", "validate", "tokenize", "generate", "export"};
  return names;
}

CommandLine::CommandLine(Options& options, std::function<std::string()> version)
    : options_(options), app_("Plans and runs the training of neural networks on mixed clusters.", "pptrain") {
  app_.set_version_flag("--version", std::move(version),
                        "show the version, what was built in and which GPUs there are");
  app_.set_help_flag("-h,--help", "show this help");
  app_.require_subcommand(1);
  app_.formatter(std::make_shared<HelpFormat>());  // of its subcommands too
  verbosity_flags(&app_);
  describe(
      &app_,
      "Times the layers of a model on every kind of device of a cluster, searches how to divide model and batch over "
      "the devices, predicts time and memory of the plan, and trains by it over MPI. All but train and a measured "
      "profile run without mpirun, and need neither the cluster nor a GPU.\n\n"
      "`pptrain CONFIG.toml` is `pptrain train CONFIG.toml`; on 16 ranks `mpirun -np 16 pptrain CONFIG.toml`.",
      {{"mpirun -np 16 pptrain inputs/gpt2.toml", "train a small GPT-2 on 16 ranks"},
       {"pptrain plan inputs/papers/dapple-bert-48.toml", "plan a published experiment; no machine needed"}});
  train();
  cluster();
  profile();
  plan();
  simulate();
  report();
  validate();
  tokenize();
  generate();
  export_model();
}

const std::vector<std::string>& CommandLine::choices(const CLI::Option* option) const {
  static const std::vector<std::string> none;
  const auto found = choices_.find(option);
  return found == choices_.end() ? none : found->second;
}

CLI::App* CommandLine::command(Command value, const std::string& name, const std::string& description) {
  CLI::App* sub = app_.add_subcommand(name, description);
  sub->callback([this, value] { options_.command = value; });
  verbosity_flags(sub);
  return sub;
}

void CommandLine::describe(CLI::App* sub, const std::string& details, const std::vector<CommandExample>& examples) {
  std::string footer = wrapped(details, screen_columns) + "\n\nExamples:\n";
  for (const CommandExample& example : examples)
    footer += fmt::format("  {}\n      {}\n", example.command, example.purpose);
  sub->footer(footer + "\n" + exit_codes_text());
  details_[sub->get_name()] = details;
  examples_[sub->get_name()] = examples;
}

void CommandLine::verbosity_flags(CLI::App* app) {
  app->add_flag("-q,--quiet", quiet, "only warnings, errors and the result");
  app->add_flag("-v,--verbose", verbose, "also times of preparations and layers, and of every rank");
}

void CommandLine::overrides(CLI::App* sub) {
  sub->add_option("--set", options_.overrides, "SECTION.KEY=VALUE instead of the configuration's; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->allow_extra_args(false);
}

void CommandLine::format(CLI::App* sub, const std::vector<std::string>& names) {
  CLI::Option* option = sub->add_option("--format", options_.format, "how to print: " + join(names) + "; none: text")
                            ->type_name("FORMAT");
  option->check(CLI::IsMember(names).description(""));
  choices_[option] = names;
}

void CommandLine::cluster_file(CLI::App* sub) {
  sub->add_option("--cluster", options_.cluster, "instead of the configuration's cluster")->type_name("CLUSTER.toml");
}

void CommandLine::profile_file(CLI::App* sub, const std::string& description) {
  sub->add_option("--profile", options_.profile, description)->type_name("PROFILE.json");
}

void CommandLine::analytic(CLI::App* sub, const std::string& description) {
  sub->add_flag("--analytic", options_.analytic, description);
}

void CommandLine::output(CLI::App* sub, const std::string& type) {
  sub->add_option("-o,--output", options_.output, "write to this file")->type_name(type);
}

void CommandLine::train() {
  CLI::App* sub = command(Command::train, "train", "Profile, plan and train");
  sub->add_option("CONFIG.toml", options_.input, "the job")->required()->type_name("");
  overrides(sub);
  sub->add_option_function<std::int64_t>(
         "--steps", [this](std::int64_t n) { options_.overrides.push_back("training.steps=" + std::to_string(n)); },
         "number of steps instead of the configuration's")
      ->check(count())
      ->type_name("N");
  sub->add_option("--resume", options_.resume,
                  "go on from this checkpoint; latest: from the newest sound one of the job, or from the start")
      ->check([](const std::string& path) {
        return path.empty() ? "names no checkpoint; leave it out to train from the start" : "";
      })
      ->type_name("PATH|latest");
  sub->add_flag("--dry-run", options_.dry_run, "stop after planning; nothing is written");
  describe(
      sub,
      "Finds and measures the machine, times the layers, plans, and trains on the ranks that mpirun or srun started. "
      "What is needed to repeat the job, metrics and checkpoints go to OUTPUT/JOB/START_TIME. SIGUSR1 ends it after "
      "the iteration with a checkpoint.",
      {{"mpirun -np 16 pptrain train inputs/gpt2.toml", "train on 16 ranks"},
       {"mpirun -np 16 pptrain train inputs/gpt2.toml --resume latest", "go on where it was stopped"},
       {"mpirun -np 16 pptrain train inputs/gpt2.toml --dry-run", "only show the plan"}});
}

void CommandLine::cluster() {
  CLI::App* sub = command(Command::cluster, "cluster", "Show the machine that is found, or a cluster file");
  sub->add_option("FILE", options_.input, "CONFIG.toml or CLUSTER.toml; none: find the machine")->type_name("");
  format(sub, {"text", "json", "toml"});
  output(sub, "FILE");
  describe(
      sub,
      "Without a FILE it shows this machine as one device; under mpirun or srun a device for each rank, and the links "
      "between them, which are measured. What --format toml writes can be given to the other subcommands.",
      {{"mpirun -np 16 pptrain cluster --format toml -o cluster.toml", "write a cluster file of this machine"},
       {"pptrain cluster inputs/clusters/aws-heterogeneous.toml", "show a cluster file"}});
}

void CommandLine::profile() {
  CLI::App* sub = command(Command::profile, "profile", "Time the model's layers on every kind of device");
  sub->add_option("CONFIG.toml", options_.input, "the job")->required()->type_name("");
  overrides(sub);
  cluster_file(sub);
  analytic(sub, "compute the times from FLOP, bytes and the cluster's rates instead of measuring");
  output(sub, "PROFILE.json");
  describe(
      sub,
      "Measures on the ranks that mpirun or srun started, one of each kind of device at least; with --analytic nothing "
      "is measured. The result is printed, or written to the file of --output.",
      {{"mpirun -np 4 pptrain profile inputs/gpt2.toml -o profile.json", "measure here"},
       {"pptrain profile job.toml --cluster cluster.toml --analytic", "compute for a cluster that is not at hand"}});
}

void CommandLine::plan() {
  CLI::App* sub = command(Command::plan, "plan", "Search the best plan and show it beside others");
  sub->add_option("CONFIG.toml", options_.input, "the job; not needed with --cluster and --profile")->type_name("");
  overrides(sub);
  cluster_file(sub);
  profile_file(sub, "instead of measuring");
  analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
  choices_[sub->add_option("--planner", options_.planner,
                           "who searches: " + join(planner_names()) + " (auto and every other one beside it)")
               ->type_name("NAME")] = planner_names();
  sub->add_option("--global-batch-size", options_.global_batch_size, "samples per step, without a configuration")
      ->check(count())
      ->type_name("N");
  sub->add_option("--micro-batch-size", options_.micro_batch_size, "samples that enter the pipeline together")
      ->check(count())
      ->type_name("N");
  sub->add_flag("--correlation", options_.correlation,
                "also compare how the closed forms and the simulator rank the plans of all planners");
  format(sub, {"text", "json"});
  output(sub, "PLAN.json");
  describe(
      sub,
      "Prints the plan, what is predicted of it, and the best plans of other planners. Needs no machine where "
      "configuration or options name cluster and profile; else it looks at this machine and measures it. Ctrl-C ends "
      "the search with the best plan so far.",
      {{"pptrain plan inputs/papers/dapple-bert-48.toml", "plan a published experiment"},
       {"pptrain plan --cluster C.toml --profile P.json --global-batch-size 32", "plan with any files"}});
}

void CommandLine::simulate() {
  CLI::App* sub = command(Command::simulate, "simulate", "Execute a plan event by event and show its time");
  sub->add_option("CONFIG.toml", options_.input, "the job; not needed with --cluster and --profile")->type_name("");
  sub->add_option("--plan", options_.plan, "the plan")->required()->type_name("PLAN.json");
  overrides(sub);
  cluster_file(sub);
  profile_file(sub, "instead of the configuration's profile");
  analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
  choices_[sub->add_option("--schedule", options_.schedule, "instead of the plan's: " + join(schedule_names()))
               ->type_name("NAME")] = schedule_names();
  sub->add_option("--order", options_.order, "instead of a schedule: a list of tasks per device")
      ->excludes("--schedule")
      ->type_name("ORDER.json");
  sub->add_option("--trace", options_.trace, "write a Chrome trace to this file")->type_name("TRACE.json");
  format(sub, {"text", "json"});
  describe(sub,
           "Draws what each device does when, and prints how long a step takes, how long devices wait, and the most "
           "memory that each one needs. Needs no machine. The trace opens in chrome://tracing or Perfetto.",
           {{"pptrain simulate --plan P.json --cluster C.toml --profile L.json", "draw the pipeline of a plan"}});
}

void CommandLine::report() {
  CLI::App* sub = command(Command::report, "report", "Show a run, however it ended, as one HTML file");
  sub->add_option("RUN_DIR", options_.input, "the directory that the job has printed, OUTPUT/JOB/START_TIME")
      ->required()
      ->type_name("");
  sub->add_option("-o,--output", options_.output, "write to this file; none: report.html in RUN_DIR")
      ->type_name("REPORT.html");
  sub->add_option("--tensorboard", options_.tensorboard, "also write the series as an event file into this folder")
      ->type_name("DIR");
  describe(sub,
           "Loss, speed, the plan over the devices, the pipeline as predicted and as measured, memory, idle time, and "
           "why this plan. The file needs no network. The job may still run.",
           {{"pptrain report outputs/gpt2/START_TIME", "write report.html beside the metrics"}});
}

void CommandLine::validate() {
  CLI::App* sub = command(Command::validate, "validate", "Check a file and say what is wrong with it");
  sub->add_option(
         "FILE", options_.input,
         "CONFIG.toml, CLUSTER.toml, PROFILE.json, PLAN.json, CHECKPOINT.h5, tokenizer.json, or a model's folder with "
         "config.json")
      ->required()
      ->type_name("");
  describe(
      sub,
      "A mistake is answered with its line, the reason and a suggestion. Of a checkpoint all values are compared with "
      "their digests; of a model's folder weights and tokenizer.json, where they are there, are compared with "
      "config.json.",
      {{"pptrain validate inputs/gpt2.toml", "check a configuration"}});
}

void CommandLine::tokenize() {
  CLI::App* sub = command(Command::tokenize, "tokenize", "Turn text into a token file");
  sub->add_option("TEXT", options_.texts, "text files, one after another")->required()->type_name("");
  sub->add_option("-o,--output", options_.output, "the token file")->required()->type_name("TOKENS.bin");
  CLI::Option* tokenizer =
      sub->add_option("--tokenizer", options_.tokenizer, "a tokenizer.json of Hugging Face's, or a folder with one")
          ->type_name("TOKENIZER.json");
  CLI::Option* model = sub->add_option("--model", options_.sentencepiece_model, "a SentencePiece model; none: bytes")
                           ->excludes(tokenizer)
                           ->type_name("PIECES.model");
  sub->add_option("--train-vocabulary", options_.train_vocabulary, "train a SentencePiece model of this many pieces")
      ->check(count())
      ->excludes(model)
      ->excludes(tokenizer)
      ->type_name("N");
  documents(sub, tokenizer);
  describe(sub,
           "Tokens are the bytes of the text, the pieces of a SentencePiece model, or those of a tokenizer.json with "
           "byte-pair encoding (GPT-2, Llama, Qwen, Mistral, Gemma). Prints the vocabulary_size that [model] then "
           "needs; [data] train names the file.\n\n"
           "With --tokenizer each file is a document, and so is each line of a .jsonl file. Tokens have 16 bits where "
           "the vocabulary has at most 65536, else 32.",
           {{"pptrain tokenize book.txt -o book.bin --train-vocabulary 4096", "train a vocabulary and use it"},
            {"pptrain tokenize web.jsonl -o web.bin --tokenizer llama --append-eod",
             "tokenize documents by the tokenizer.json in llama"}});
}

void CommandLine::documents(CLI::App* sub, CLI::Option* tokenizer) {
  sub->add_flag("--append-eod", options_.append_end_of_document,
                "end each document with the eos_token of the tokenizer_config.json beside the tokenizer")
      ->needs(tokenizer);
  sub->add_option("--eod-token", options_.end_of_document, "end each document with this token instead")
      ->needs(tokenizer)
      ->type_name("TOKEN");
  sub->add_flag("--no-special-tokens", options_.no_special_tokens,
                "leave out what the tokenizer puts around each document, as <s>")
      ->needs(tokenizer);
  sub->add_option("--json-key", options_.json_key, "key of the text in lines of .jsonl files; none: text")
      ->needs(tokenizer)
      ->type_name("KEY");
  sub->add_flag("--megatron", options_.megatron,
                "write a dataset as Megatron-LM reads it: NAME.bin and, beside it, NAME.idx")
      ->needs(tokenizer);
  sub->add_option("--threads", options_.threads, "threads that share the work; none: one per core")
      ->check(count())
      ->needs(tokenizer)
      ->type_name("N");
}

void CommandLine::generate() {
  CLI::App* sub = command(Command::generate, "generate", "Continue a text with a trained model");
  sub->add_option("MODEL", options_.input, "a checkpoint, a run directory with one, or a folder as export writes it")
      ->required()
      ->type_name("");
  CLI::Option* prompt = sub->add_option("--prompt", options_.prompt, "the text to continue")->type_name("TEXT");
  sub->add_option("--prompt-file", options_.prompt_file, "a file with that text")->excludes(prompt)->type_name("FILE");
  sub->add_option("--tokens", options_.tokens, "tokens to generate at most; none: 100")->check(count())->type_name("N");
  sampling(sub);
  sub->add_option("--tokenizer", options_.tokenizer,
                  "the tokenizer.json that made the model's data, or a folder with one; none: the one beside the model")
      ->type_name("TOKENIZER.json");
  sub->add_flag("--ignore-eos", options_.ignore_end_of_text, "go on behind a token that ends a text");
  sub->add_option("--plan", options_.plan, "divide the model as this plan does; none: each layer over all ranks")
      ->type_name("PLAN.json");
  const std::vector<std::string> precisions = {"fp32", "bf16"};
  choices_[sub->add_option("--precision", options_.precision, "fp32, or bf16: between products are 16 bits; none: fp32")
               ->check(CLI::IsMember(precisions))
               ->type_name("TYPE")] = precisions;
  describe(sub,
           "Prints the prompt and what the model puts behind it, piece by piece; with -q only the latter. Without "
           "--temperature each token is the likeliest one. A seed gives the same text again. A model whose vocabulary "
           "are the 256 bytes needs no tokenizer.\n\n"
           "Runs on the host, on one process or by mpirun on several, which hold a share of the model each.",
           {{"pptrain generate outputs/gpt2/START_TIME --prompt 'You may'", "continue by the run's last checkpoint"},
            {"pptrain generate llama --prompt-file story.txt --temperature 0.8 --seed 7",
             "draw tokens by a published model in the folder llama"},
            {"mpirun -np 4 pptrain generate llama --prompt 'You may'", "share its layers among four processes"}});
}

void CommandLine::sampling(CLI::App* sub) {
  sub->add_option("--temperature", options_.temperature,
                  "draw tokens, at this temperature; 0 or none: take the likeliest")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("X");
  sub->add_option("--top-k", options_.top_k, "draw among the K likeliest tokens; none: among all")
      ->check(count())
      ->type_name("K");
  sub->add_option("--top-p", options_.top_p,
                  "draw among the fewest likeliest tokens of probability P together; none: 1")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("P");
  sub->add_option("--seed", options_.seed, "of the random numbers; none: 1234")->type_name("S");
}

void CommandLine::export_model() {
  CLI::App* sub = command(Command::export_model, "export", "Write a checkpoint for Hugging Face's libraries");
  sub->add_option("CHECKPOINT", options_.input, "a checkpoint, or a run directory with one")
      ->required()
      ->type_name("CHECKPOINT.h5|RUN");
  sub->add_option("-o,--output", options_.output, "the folder to write")->required()->type_name("FOLDER");
  const std::vector<std::string> types = {"fp32", "bf16", "fp16"};
  CLI::Option* type =
      sub->add_option("--type", options_.weight_type, "what the weights are stored in: fp32, bf16 or fp16; none: fp32")
          ->check(CLI::IsMember(types))
          ->type_name("TYPE");
  choices_[type] = types;
  describe(
      sub,
      "Writes config.json and model.safetensors, in pieces above 5 GB, and the tokenizer's files and generation "
      "settings of the folder that the run started from. transformers' from_pretrained reads the result, and so "
      "does [model] from.",
      {{"pptrain export outputs/llama/START_TIME -o llama-trained --type bf16", "take the last checkpoint along"}});
}

}  // namespace pptrain
