#include "exporting.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "cluster/read.hpp"
#include "export_plan/export_plan.hpp"
#include "model/build/check.hpp"
#include "plan/match.hpp"
#include "planners/judge/planned_orders.hpp"
#include "planning.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* other_folder = "name another folder with -o";

void check_job(const Config& config) {
  if (!names_files(config)) {
    throw_bad_input({config.source,
                     "the job does not say where its devices and its layers' times are from",
                     "an export looks at no machine",
                     "add --cluster CLUSTER.toml, and --analytic or --profile FILE"});
  }
  if (config.can_train_model()) return;
  throw_bad_input({config.where("model.name"),
                   fmt::format("of the model {} only times are known", config.model.name),
                   "another trainer has to be told its dimensions",
                   "name a model that pptrain trains, or a folder with config.json, in [model]"});
}

/// Refuses a plan whose prediction is of other work, where it says of how much: of a model with
/// layers of other sizes, or of samples of another length.
void check_work(const Plan& plan, const Config& config, const Model& model,
                const std::string& source) {
  if (!plan.predicted || !plan.predicted->speed) return;
  const SpeedPrediction& speed = *plan.predicted->speed;
  if (!speed.flop_per_second || speed.flop_source != "layers") return;
  double used = 0.0;
  for (const KindPrediction& kind : plan.predicted->kinds) used += kind.used;
  const auto samples = static_cast<double>(plan.samples_per_step());
  const double planned =
      *speed.flop_per_second * used * plan.predicted->iteration_seconds / samples;
  const double asked = model.flop_per_sample();
  constexpr double of_printed_digits = 1e-6;
  if (std::abs(planned / asked - 1.0) < of_printed_digits) return;
  throw_bad_input(
      {source,
       fmt::format(
           "made for a {} of {:.4g} FLOP a sample, but a {} of {} tokens a sample has {:.4g}",
           plan.model, planned, model.name, config.rows_per_sample(), asked),
       "layers have other sizes, or samples another length",
       "name the model and the sequence length that were planned, or plan again"});
}

void make_folder(const std::string& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (fs::is_directory(folder)) return;
  throw_bad_input({folder, "the folder cannot be made",
                   failure ? failure.message() : "something else has its name", other_folder});
}

}  // namespace

void run_export_plan(const Options& options) {
  Config config = planning_config(options);
  config.parallelism.like = options.trainer;  // whose memory says which orders fit
  const Plan plan = read_plan(options.plan);
  take_context(plan, options.plan, config);
  check_job(config);
  const Cluster cluster = planning_cluster(options, config);
  const Model model = build_model_of(config);
  check_plan_matches(plan, model, cluster, plan.global_batch_size, options.plan);
  validate_plan(plan, model.num_layers(), cluster.num_devices(), options.plan);
  const Profile profile = planning_profile(options, config, cluster);
  const Instance instance = {profile, cluster, plan.global_batch_size,
                             planned_ties(options, config, profile)};
  check_instance(instance, config.source);
  const TrainerKind& trainer = *trainer_kind(options.trainer);
  const auto orders = [&] { return task_orders(plan, planned_order_options(instance, plan)); };
  const std::vector<ExportFile> files = export_plan(
      {exported_job(trainer, config, model, options.plan), plan, cluster, orders}, trainer);
  check_work(plan, config, model, options.plan);
  make_folder(options.output);
  for (const ExportFile& file : files) {
    write_file((fs::path(options.output) / file.name).string(), file.text, other_folder);
  }
  std::cout << fmt::format("{}: {} files for {}, of which README.md says how to use them\n",
                           options.output, files.size(), options.trainer);
}

}  // namespace pptrain
