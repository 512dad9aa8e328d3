#include "commands.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/open_file.hpp"
#include "base/units.hpp"
#include "cluster/expression.hpp"
#include "cluster/read.hpp"
#include "comm/launcher.hpp"
#include "comm/mpi.hpp"
#include "config/read.hpp"
#include "exporting.hpp"
#include "generating.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/export/export_model.hpp"
#include "model_folder.hpp"
#include "output.hpp"
#include "plan/plan.hpp"
#include "planning.hpp"
#include "profile/profile.hpp"
#include "report/document.hpp"
#include "report/page.hpp"
#include "report/tensorboard.hpp"
#include "runtime/job/job.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/places/waiters.hpp"
#include "simulating.hpp"
#include "sweeping.hpp"
#include "tokenizing.hpp"

namespace pptrain {
namespace {

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw_bad_input({path, "this is a directory", "a file is needed", "name the file in it"});
  return read_text(path, {path, "cannot be read", "", "check the path"});
}

/// Whether a file has nodes or devices, be it as tables of a wrong kind.
bool is_cluster_file(const std::string& path) {
  const std::string text = "\n" + read_file(path);
  const std::vector<const char*> tables = {"\n[[node]]", "\n[[device]]", "\n[node]", "\n[device]"};
  return std::any_of(tables.begin(), tables.end(),
                     [&](const char* table) { return text.find(table) != std::string::npos; });
}

std::string cluster_text(const Cluster& cluster, const std::string& format) {
  if (format == "json") return cluster_json(cluster);
  if (format == "toml") return write_cluster(cluster);
  return describe_cluster(cluster);
}

/// What the command line or a configuration names: a cluster file, or nodes of the catalogue; ""
/// for the machine itself.
std::string named_cluster(const Options& options) {
  if (options.input.empty()) return "";
  if (!means_cluster_file(options.input) || is_cluster_file(options.input)) return options.input;
  const std::string file = read_config(options.input).cluster.file;
  return ClusterConfig::is_discovered(file) ? "" : file;
}

void run_catalogue(const Options& options) {
  if (!options.input.empty() || options.format != "text") {
    throw_bad_input(
        {"command line: --list", "it stands alone", "all that is known by name is printed as text",
         options.input.empty() ? "leave --format out" : "leave " + options.input + " out"});
  }
  deliver(describe_catalogue(verbosity() == Verbosity::verbose), options.output);
}

/// How to print: as the option says or, where it says nothing, as the name of the file ends.
std::string cluster_format(const Options& options) {
  for (const std::string format : {"toml", "json"}) {
    if (options.format == "text" && options.output.ends_with("." + format)) return format;
  }
  return options.format;
}

void run_cluster(const Options& options) {
  if (options.catalogue) return run_catalogue(options);
  const std::string format = cluster_format(options);
  const std::string path = named_cluster(options);
  if (!path.empty()) {
    Cluster cluster = read_cluster(path);
    set_prices(options.prices, cluster);
    deliver(cluster_text(cluster, format), options.output);
    return;
  }
  Waiter waiter = preparing_waiter(MPI_COMM_WORLD);
  const RankDevice device(MPI_COMM_WORLD, waiter,
                          options.input.empty() ? Config() : read_config(options.input));
  Machine machine = find_machine(MPI_COMM_WORLD, waiter, "discover", device);
  set_prices(options.prices, machine.cluster);
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  const bool tells_gpus = format == "text" && !machine.gpus.empty();
  deliver(cluster_text(machine.cluster, format) + (tells_gpus ? "\n" + machine.gpus : ""),
          options.output);
}

std::string validated_checkpoint(const std::string& path) {
  const CheckpointHead head = read_checkpoint_head(path);
  check_blocks(path, head);
  double elements = 0.0;
  for (const CheckpointDataset& dataset : head.datasets)
    elements += static_cast<double>(dataset.num_elements());
  return fmt::format("a checkpoint after {} steps, {} datasets of {}, values {}", head.state.step,
                     head.datasets.size(), format_bytes(elements * sizeof(float)),
                     values_digest(head));
}

void run_validate(const Options& options) {
  const std::string& path = options.input;
  const std::string extension = std::filesystem::path(path).extension();
  std::string kind;
  if (names_model_folder(path)) {
    kind = validated_model_folder(path);
  } else if (names_tokenizer(path)) {
    kind = validated_tokenizer(path);
  } else if (extension == ".toml" && is_cluster_file(path)) {
    const Cluster cluster = read_cluster(path);
    kind = fmt::format("a cluster of {} devices", cluster.num_devices());
  } else if (extension == ".toml") {
    kind = validated_job(path);
  } else if (extension == ".h5") {
    kind = validated_checkpoint(path);
  } else if (read_file(path).find("pptrain.profile/") != std::string::npos) {
    kind = fmt::format("a profile of {} layers", read_profile(path).num_layers());
  } else if (extension == ".json") {
    kind = fmt::format("a plan: {}", read_plan(path).shape());
  } else {
    throw_bad_input(
        {path, fmt::format("\"{}\" is no kind of file that this version checks", extension), "",
         "give a CONFIG.toml, CLUSTER.toml, PROFILE.json, PLAN.json, CHECKPOINT.h5 or a folder "
         "with config.json"});
  }
  std::cout << path << ": valid, " << kind << "\n";
}

void run_export(const Options& options) {
  const WeightType type = options.weight_type == "bf16"   ? WeightType::bf16
                          : options.weight_type == "fp16" ? WeightType::f16
                                                          : WeightType::f32;
  const ExportResult result = export_model({options.input, options.output, type});
  std::cout << fmt::format("{}: a {} of {} parameters after step {}, in {}\n", options.output,
                           result.family, result.parameters, result.step, options.weight_type);
}

void run_report(const Options& options) {
  const RunFolder run = read_run_folder(options.input);
  const std::string output =
      options.output.empty() ? options.input + "/report.html" : options.output;
  deliver(report_page(report_document(run)), output);
  if (!options.tensorboard.empty())
    log_info("Wrote {}", write_tensorboard(run, options.tensorboard));
  close_metrics(run);
}

/// What is wrong with the file is said when the command runs.
bool looks_at_machine(const Options& options) {
  try {
    return !options.catalogue && named_cluster(options).empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool needs_machine(const Options& options) {
  switch (options.command) {
    case Command::train: return true;
    case Command::profile: return !profiles_from_files(options);
    case Command::plan: return !plans_from_files(options);
    case Command::cluster: return looks_at_machine(options);
    case Command::simulate:
    case Command::report:
    case Command::validate:
    case Command::tokenize:
    case Command::export_model:
    case Command::export_plan:
    case Command::sweep: return false;
    case Command::generate: return num_launched_ranks() > 1;
  }
  return false;
}

void run_command(const Options& options) {
  switch (options.command) {
    case Command::train: train(MPI_COMM_WORLD, job_options(options)); break;
    case Command::cluster: run_cluster(options); break;
    case Command::profile: run_profile(options); break;
    case Command::plan: run_plan(options); break;
    case Command::simulate: run_simulate(options); break;
    case Command::report: run_report(options); break;
    case Command::validate: run_validate(options); break;
    case Command::tokenize: run_tokenize(options); break;
    case Command::generate: run_generate(options); break;
    case Command::export_model: run_export(options); break;
    case Command::export_plan: run_export_plan(options); break;
    case Command::sweep: run_sweep(options); break;
  }
}

}  // namespace pptrain
