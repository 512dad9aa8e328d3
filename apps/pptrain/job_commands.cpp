// The options of what plans, trains and looks at plans, runs and files.
#include "base/names.hpp"
#include "command_line.hpp"
#include "config/trainer_kinds.hpp"
#include "plan/plan.hpp"
#include "planners/search.hpp"

namespace pptrain {

void CommandLine::train() {
  CLI::App* sub = command(Command::train, "train", "Profile, plan and train");
  sub->add_option("CONFIG.toml", options_.input, "the job")->required()->type_name("");
  overrides(sub);
  sub->add_option_function<std::int64_t>(
         "--steps",
         [this](std::int64_t n) {
           options_.overrides.push_back("training.steps=" + std::to_string(n));
         },
         "number of steps, instead of the configuration's")
      ->check(positive_count())
      ->type_name("N");
  sub->add_option("--resume", options_.resume,
                  "go on from this checkpoint, or from the newest undamaged one of this run "
                  "directory; latest: of the job, or from the start")
      ->check([](const std::string& path) {
        return path.empty() ? "names no checkpoint; leave it out to train from the start" : "";
      })
      ->type_name("PATH|latest");
  sub->add_flag("--dry-run", options_.dry_run, "stop after planning; nothing is written");
  describe(sub,
           "Finds and measures the machine, times the layers, plans, and trains on the ranks that "
           "mpirun or srun started. "
           "Plan, metrics, checkpoints and all that is needed to repeat the job go to "
           "OUTPUT/JOB/START_TIME. SIGUSR1 ends "
           "the job after the present iteration, with a checkpoint.",
           {{"mpirun -np 16 pptrain train inputs/gpt2.toml", "train on 16 ranks"},
            {"mpirun -np 16 pptrain train inputs/gpt2.toml --resume latest",
             "go on where it was stopped"},
            {"mpirun -np 16 pptrain train inputs/gpt2.toml --dry-run", "only show the plan"}});
}

void CommandLine::cluster() {
  CLI::App* sub =
      command(Command::cluster, "cluster", "Show the machine that is found, or a cluster file");
  sub->add_option("FILE", options_.input,
                  "CONFIG.toml, CLUSTER.toml, or nodes as \"2x dgx-h100, 1x 4x l40s @ 100Gb/s\" "
                  "(default: find the "
                  "machine)")
      ->type_name("");
  sub->add_flag(
      "--list", options_.catalogue,
      "show the nodes and devices that are known by name; with -v where their figures are from");
  prices(sub, "");
  format(sub, {"text", "json", "toml"});
  output(sub, "FILE");
  describe(sub,
           "Without FILE it shows this machine as one device; under mpirun or srun it shows a "
           "device for each rank and "
           "measures the links between them. The other subcommands read what --format toml writes, "
           "or -o FILE.toml "
           "without a format.\n\n"
           "Nodes are parts with commas between: [COUNT x] NODE, or [COUNT x] [COUNT x] DEVICE for "
           "nodes of so many "
           "devices, of the names that --list shows, and with \"@ 100Gb/s\" behind it the network "
           "of each node.",
           {{"mpirun -np 16 pptrain cluster --format toml -o cluster.toml",
             "write a cluster file of this machine"},
            {"pptrain cluster inputs/clusters/aws-heterogeneous.toml", "show a cluster file"},
            {"pptrain cluster \"2x dgx-h100, 4x dgx-a100-40\" -o c.toml",
             "write nodes as a file, to change it"}});
}

void CommandLine::profile() {
  CLI::App* sub =
      command(Command::profile, "profile", "Time the model's layers on every kind of device");
  sub->add_option("CONFIG.toml", options_.input, "the job; not needed with --from")->type_name("");
  foreign_profile(sub);
  overrides(sub);
  cluster_file(sub);
  analytic(sub, "compute the times from FLOP, bytes and the cluster's rates instead of measuring");
  output(sub, "PROFILE.json");
  describe(sub,
           "Measures on the ranks that mpirun or srun started, of which at least one must have "
           "each kind of device; with "
           "--analytic nothing is measured, and with --from the times are those that another "
           "planner has: folders of Sailor "
           "with profile.json, or of Metis with DeviceType.NAME_tpN_bsN.json. Prints the profile, "
           "or writes it to the file "
           "of "
           "--output.",
           {{"mpirun -np 4 pptrain profile inputs/gpt2.toml -o profile.json", "measure here"},
            {"pptrain profile job.toml --cluster cluster.toml --analytic",
             "compute for a cluster that is not at hand"},
            {"pptrain profile --from metis DIR --model config.json -o profile.json",
             "take what was measured for Metis"}});
}

void CommandLine::plan() {
  CLI::App* sub = command(Command::plan, "plan", "Search the best plan and show it beside others");
  sub->add_option("CONFIG.toml", options_.input,
                  "the job; not needed with --cluster and --model or --profile")
      ->type_name("");
  described_model(sub);
  overrides(sub);
  cluster_file(sub);
  profile_file(sub, "instead of measuring");
  analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
  choices_[sub->add_option("--planner", options_.planner,
                           "who searches: " + join(planner_names()) +
                               " (auto, and every other one beside it)")
               ->type_name("NAME")] = planner_names();
  sub->add_option("--global-batch-size", options_.global_batch_size,
                  "samples per step, without a configuration")
      ->check(positive_count())
      ->type_name("N");
  sub->add_option("--micro-batch-size", options_.micro_batch_size,
                  "samples that enter the pipeline together")
      ->check(positive_count())
      ->type_name("N");
  like(sub, "whose plans are wanted: those that this trainer runs, with its times and memory: ");
  token_count(sub);
  prices(sub, "");
  failures(sub);
  sub->add_option("--threads", options_.threads,
                  "threads that search, with the same plan (default: one per core)")
      ->check(positive_count())
      ->type_name("N");
  sub->add_option("--calibrate", options_.calibrate,
                  "scale the times of layers by what was measured: seconds of an iteration, "
                  "metrics.h5 or a run's folder")
      ->type_name("METRICS|SECONDS");
  sub->add_flag(
      "--correlation", options_.correlation,
      "also compare how the closed forms and the simulator rank the plans of all planners");
  format(sub, {"text", "json"});
  output(sub, "PLAN.json");
  sub->add_option("--report", options_.report,
                  "also draw the plan as one HTML file: stages over nodes, timeline, memory, other "
                  "planners, time "
                  "against nodes")
      ->type_name("PLAN.html");
  describe(sub,
           "Prints the plan, its predicted time and memory, and the best plans of other planners. "
           "With a cluster and a "
           "profile or computed times, from configuration or options, it needs no machine; else it "
           "measures this one. "
           "Ctrl-C ends the search with the best plan so far.",
           {{"pptrain plan --model Llama-3-8B --cluster \"2x dgx-h100\" --global-batch-size 64",
             "plan a model of Hugging Face's for machines that are elsewhere"},
            {"pptrain plan inputs/papers/dapple-bert-48.toml", "plan a published experiment"},
            {"pptrain plan inputs/papers/dapple-bert-48.toml --report plan.html",
             "and look at it in a browser"},
            {"pptrain plan --cluster C.toml --profile P.json --global-batch-size 32",
             "plan with any files"}});
}

void CommandLine::sweep() {
  CLI::App* sub = command(Command::sweep, "sweep", "Compare plans for many clusters and prices");
  sub->add_option("CONFIG.toml", options_.input,
                  "the job; not needed with --cluster and --model or --profile")
      ->type_name("");
  sub->add_option("--model", options_.model,
                  "instead of a configuration: a model by its config.json of Hugging Face's, or "
                  "the folder of it, and "
                  "computed times")
      ->check([](const std::string& path) { return path.empty() ? "names no model" : ""; })
      ->type_name("DIR|config.json");
  sub->add_option(
         "--cluster", options_.clusters,
         "a file, or nodes as \"2x dgx-h100, 1x 4x l40s @ 100Gb/s\"; repeated: each of them")
      ->type_name("CLUSTER.toml")
      ->allow_extra_args(false);
  sub->add_option("--nodes", options_.swept_nodes,
                  "so many nodes of a kind in place of the cluster's: dgx-h100=1..8 or "
                  "dgx-h100=0,1,2,4; may be repeated")
      ->type_name("KIND=COUNTS")
      ->allow_extra_args(false);
  sub->add_option("--global-batch-size", options_.swept_batches, "samples per step: 64,128")
      ->type_name("N,...");
  sub->add_option("--precision", options_.swept_precisions, "of products: bf16,fp16,fp32")
      ->type_name("PRECISION,...");
  sub->add_option(
         "--sequence-length", options_.sequence_length,
         "tokens of a sample (with --model by default what config.json admits, 4096 at most)")
      ->check(positive_count())
      ->type_name("N");
  sub->add_option(
         "--set", options_.overrides,
         "values of a key of the configuration: parallelism.recompute=none,full; may be repeated")
      ->type_name("SECTION.KEY=VALUE,...")
      ->allow_extra_args(false);
  prices(sub, " or dgx-h100=98.32USD,60USD");
  failures(sub);
  profile_file(sub, "instead of the configuration's profile");
  analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
  choices_[sub->add_option("--planner", options_.planner, "as of plan")->type_name("NAME")] =
      planner_names();
  like(sub, "as of plan: ");
  token_count(sub);
  sub->add_option("--threads", options_.threads,
                  "points that are planned at a time (default: one per core)")
      ->check(positive_count())
      ->type_name("N");
  sub->add_option("--json", options_.json, "also write all points to this file")
      ->type_name("FILE.json");
  sub->add_option("--csv", options_.csv, "also write all points to this file")
      ->type_name("FILE.csv");
  sub->add_option("--report", options_.report,
                  "also draw time and money of all points as one HTML file")
      ->type_name("FILE.html");
  describe(sub,
           "Plans every combination of the values that are given, each distinct one once, on all "
           "cores. Prints a table "
           "with a mark at the points that no other one beats in time and money, and what they "
           "tell: what more nodes "
           "give, which nodes to leave out, when ZeRO beats a pipeline. Needs no machine.",
           {{"pptrain sweep job.toml --nodes dgx-h100=1..8 --price dgx-h100=98.32USD",
             "what do more nodes give, and at what cost"},
            {"pptrain sweep job.toml --cluster a.toml --cluster b.toml --report sweep.html",
             "which of two clusters is cheaper"}});
}

void CommandLine::simulate() {
  CLI::App* sub =
      command(Command::simulate, "simulate", "Execute a plan event by event and show its time");
  sub->add_option("CONFIG.toml", options_.input,
                  "the job; not needed with --cluster and --model or --profile")
      ->type_name("");
  described_model(sub);
  sub->add_option("--plan", options_.plan, "the plan")->required()->type_name("PLAN.json");
  overrides(sub);
  cluster_file(sub);
  profile_file(sub, "instead of the configuration's profile");
  analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
  like(sub, "whose times and memory: ");
  choices_[sub->add_option("--schedule", options_.schedule,
                           "instead of the plan's: " + join(schedule_names()))
               ->type_name("NAME")] = schedule_names();
  sub->add_option("--order", options_.order,
                  "instead of a schedule: a list of tasks for each device")
      ->excludes("--schedule")
      ->type_name("ORDER.json");
  sub->add_option("--trace", options_.trace, "write a Chrome trace to this file")
      ->type_name("TRACE.json");
  format(sub, {"text", "json"});
  describe(sub,
           "Draws what each device does when, and prints how long a step takes, how long devices "
           "wait, and the most "
           "memory that each one needs. Needs no machine. The trace opens in chrome://tracing or "
           "Perfetto.",
           {{"pptrain simulate --plan P.json --cluster C.toml --profile L.json",
             "draw the pipeline of a plan"}});
}

void CommandLine::export_plan() {
  CLI::App* sub =
      command(Command::export_plan, "export-plan", "Write a plan as the files of another trainer");
  sub->add_option("CONFIG.toml", options_.input,
                  "the job that the plan is for; not needed with --cluster and --model")
      ->type_name("");
  described_model(sub);
  sub->add_option("--plan", options_.plan, "the plan")->required()->type_name("PLAN.json");
  const std::vector<std::string>& trainers = trainer_names();
  CLI::Option* trainer =
      sub->add_option("--for", options_.trainer, "who is to train by it: " + join(trainers))
          ->required();
  trainer->check(CLI::IsMember(trainers).description(""))->type_name("TRAINER");
  choices_[trainer] = trainers;
  sub->add_option("-o,--output", options_.output, "the folder to write")
      ->required()
      ->type_name("FOLDER");
  overrides(sub);
  cluster_file(sub);
  profile_file(sub, "instead of the configuration's profile");
  analytic(sub, "compute what is not in a profile from FLOP, bytes and the cluster's rates");
  describe(sub,
           "Writes options or a configuration file with the plan's degrees, layers, batch sizes, "
           "schedule and memory "
           "savings, the order of hosts and processes, a batch script, and README.md, which says "
           "how to use it and "
           "what stands for what. A plan that the trainer cannot run is refused: plan --like finds "
           "the best one that it "
           "can. Needs no machine.",
           {{"pptrain export-plan job.toml --plan plan.json --for megatron -o megatron-job",
             "write what Megatron-LM needs"}});
}

void CommandLine::report() {
  CLI::App* sub =
      command(Command::report, "report", "Show a run, however it ended, as one HTML file");
  sub->add_option(
         "RUN_DIR", options_.input,
         "the run directory that the job printed: OUTPUT/JOB/START_TIME, or OUTPUT/JOB/latest")
      ->required()
      ->type_name("");
  sub->add_option("-o,--output", options_.output,
                  "write to this file (default: report.html in RUN_DIR)")
      ->type_name("REPORT.html");
  sub->add_option("--tensorboard", options_.tensorboard,
                  "also write the series as an event file into this folder")
      ->type_name("DIR");
  describe(sub,
           "The page shows loss, speed, the plan over the devices, the pipeline as predicted and "
           "as measured, memory, idle "
           "time, and why this plan was chosen. It needs no network. The job may still run.",
           {{"pptrain report outputs/gpt2/latest", "write report.html beside the metrics"}});
}

void CommandLine::validate() {
  CLI::App* sub =
      command(Command::validate, "validate", "Check a file and say what is wrong with it");
  sub->add_option("FILE", options_.input,
                  "CONFIG.toml, CLUSTER.toml, PROFILE.json, PLAN.json, CHECKPOINT.h5, "
                  "tokenizer.json, or a model's folder with "
                  "config.json")
      ->required()
      ->type_name("");
  describe(sub,
           "Prints the mistake with its line, the reason and a suggestion. In a checkpoint all "
           "values are compared "
           "with their digests; in a model's folder weights and tokenizer.json, where there are "
           "any, are compared "
           "with config.json, and all weights have to be finite numbers.",
           {{"pptrain validate inputs/gpt2.toml", "check a configuration"}});
}

}  // namespace pptrain
