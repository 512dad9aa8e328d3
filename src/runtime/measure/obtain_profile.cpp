#include "runtime/measure/obtain_profile.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "profile/analytic.hpp"
#include "profile/from_files.hpp"
#include "runtime/display/progress.hpp"
#include "runtime/measure/profiler.hpp"
#include "runtime/places/user_cache.hpp"

namespace pptrain {
namespace {

void check_layers(const Profile& profile, const Model& model, const std::string& source) {
  if (profile.num_layers() == model.num_layers()) return;
  throw_bad_input({source, fmt::format("a profile of {} layers", profile.num_layers()),
                   fmt::format("the model has {}", model.num_layers()),
                   "use a profile of this very model"});
}

/// The profile of a file, which has to be of this model.
Profile profile_of(const Model& model, const std::string& path) {
  Profile profile = read_profile(path);
  check_layers(profile, model, path);
  return profile;
}

/// The profile in the cache as text; "" where there is none. One that is damaged is measured anew,
/// with a warning.
std::string cached_profile(const Model& model, const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return "";
  try {
    return write_profile(profile_of(model, path));
  } catch (const Error& error) {
    log_warning("{}; measuring anew", error.what());
    return "";
  }
}

/// Refuses (`Error`, exit code 2) a job on this machine that names another runtime: pptrain
/// executes it.
void check_own_runtime(const Config& config) {
  const std::string own = ProfileConfig().like;
  const bool by_trainer = config.parallelism.like != own;
  const std::string& named = by_trainer ? config.parallelism.like : config.profile.like;
  if (named == own) return;
  throw_bad_input(
      {config.where(by_trainer ? "parallelism.like" : "profile.like"),
       fmt::format("like = \"{}\", but pptrain runs here", named),
       "other runtimes are predicted for a cluster from a file alone",
       fmt::format("leave it out, or plan with --cluster FILE --analytic (\"{}\" is pptrain)",
                   own)});
}

}  // namespace

Profile profile_without_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                                const Config& config, const Machine& machine) {
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0)
      text = write_profile(profile_without_machine(config, machine.cluster, options.profile_path));
  });
  return parse_profile_together(world, waiter, broadcast(world, text, waiter), "the profile");
}

namespace {

/// The profile that a job plans by, with the bytes of fp32 gradients.
Profile found_profile(const JobSetup& job, const std::optional<Plan>& named) {
  const MPI_Comm world = job.world;
  Waiter& waiter = job.waiter;
  const Config& config = job.config;
  const Model& model = job.model;
  const Machine& machine = job.machine;
  if (machine.cluster.emulate != Emulate::no) {
    const Profile profile = profile_without_machine(world, waiter, job.options, config, machine);
    check_layers(profile, model, config.source);
    return profile;
  }
  if (config.profile.analytic && job.options.profile_path.empty() && config.profile.file.empty()) {
    Profile profile;
    collectively(world, waiter, [&] { profile = analytic_profile(config, machine.cluster); });
    return profile;
  }
  const std::vector<int> degrees = profiled_degrees(config, model, machine.cluster, named);
  const bool caches = rank_in(world) == 0 && config.profile.cache;
  const std::string& named_file = job.options.profile_path;
  const std::string given = named_file.empty() ? config.profile.file : named_file;
  const std::string cache =
      caches && given.empty()
          ? profile_cache_path(config, model, machine.cluster, degrees, job.device.names())
          : "";
  const std::string path = given.empty() ? cache : given;
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    text = given.empty() ? cached_profile(model, cache) : write_profile(profile_of(model, given));
  });
  text = broadcast(world, text, waiter);
  if (!text.empty()) {
    if (rank_in(world) == 0) log_info("Profile: {}", path);
    return parse_profile_together(world, waiter, text, path.empty() ? "the profile" : path);
  }
  tell_if_interrupted(
      "while timing layers: nothing was saved; `pptrain plan --analytic` plans without timing");
  auto told = std::chrono::steady_clock::now();
  const auto progress = [&told, start = told, &cache](int done, int total) {
    const auto now = std::chrono::steady_clock::now();
    const auto seconds_since = [now](auto before) {
      return std::chrono::duration<double>(now - before).count();
    };
    if (done == 0) log_info("Measuring layer times once{}", cache.empty() ? "" : "; cached");
    if (seconds_since(told) < plain_period(seconds_since(start))) return;
    log_info("Measuring layer times: {} of {} done", done, total);
    told = now;
  };
  const MeasuredModel measured = {config,      model,   machine.cluster,
                                  machine.map, degrees, job.device.backend()};
  Profile profile = measure_profile(world, waiter, measured, progress);
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0 && !cache.empty()) write_cache(cache, write_profile(profile));
  });
  return profile;
}

}  // namespace

Profile obtain_profile(const JobSetup& job, const std::optional<Plan>& named) {
  check_own_runtime(job.config);
  Profile profile = found_profile(job, named);
  count_gradients(profile, job.config.training.gradient_precision);
  return profile;
}

}  // namespace pptrain
