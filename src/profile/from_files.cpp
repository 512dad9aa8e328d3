#include "profile/from_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "cluster/reserve.hpp"
#include "profile/analytic.hpp"
#include "profile/doubts.hpp"

namespace pptrain {

Profile named_profile(const Config& config) {
  Profile profile = read_profile(config.profile.file);
  if (config.places.contains("model.name") && config.model.name != profile.model) {
    throw_bad_input({config.where("model.name"),
                     fmt::format("name = \"{}\", but {} is of \"{}\"", config.model.name,
                                 config.profile.file, profile.model),
                     "a planning job takes the model from its profile",
                     fmt::format("did you mean \"{}\", or another profile?", profile.model)});
  }
  return profile;
}

namespace {

/// Refuses times of samples that are divided between other numbers of replicas than the job says.
void check_context(const Profile& profile, const Config& config, const std::string& path) {
  const std::int64_t wanted = config.parallelism.context;
  if (profile.context == wanted) return;
  throw_bad_input(
      {path,
       fmt::format("its times are of samples that {} replica{} divide{}", profile.context,
                   profile.context == 1 ? "" : "s", profile.context == 1 ? "s" : ""),
       fmt::format("the job has context = {}", wanted),
       profile.context == 1 ? "leave the profile out: times are computed (--analytic)"
                            : fmt::format("add --set parallelism.context={}", profile.context)});
}

}  // namespace

void count_gradients(Profile& profile, GradientPrecision precision) {
  BytesPerParameter& bytes = profile.bytes_per_parameter;
  bytes.sent_gradient = precision == GradientPrecision::bf16 ? std::min(2.0, bytes.gradient) : 0.0;
}

void set_reserves(Cluster& cluster, const Config& config, const std::string& given) {
  if (given.empty() && config.profile.file.empty()) set_usual_reserves(cluster);
}

Profile profile_without_machine(const Config& config, const Cluster& cluster,
                                const std::string& given) {
  const bool is_computed = given.empty() && config.profile.file.empty();
  Profile profile = is_computed     ? analytic_profile(config, cluster)
                    : given.empty() ? named_profile(config)
                                    : read_profile(given);
  count_gradients(profile, config.training.gradient_precision);
  if (is_computed) return profile;
  check_context(profile, config, given.empty() ? config.profile.file : given);
  for (const std::string& doubt : doubtful_times(profile, config, cluster))
    log_warning("{}", doubt);
  if (!config.profile.analytic) return profile;
  for (const std::string& note :
       fill_missing_kinds(profile, cluster, config.training.precision, config.cluster.file)) {
    log_info("{}", note);
  }
  return profile;
}

}  // namespace pptrain
