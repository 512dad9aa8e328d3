#include "exporting.hpp"

#include <fmt/format.h>

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
  make_folder(options.output);
  for (const ExportFile& file : files) {
    write_file((fs::path(options.output) / file.name).string(), file.text, other_folder);
  }
  std::cout << fmt::format("{}: {} files for {}, of which README.md says how to use them\n",
                           options.output, files.size(), options.trainer);
}

}  // namespace pptrain
