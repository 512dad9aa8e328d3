#include "profile/from_files.hpp"

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
    throw_bad_input(
        {config.where("model.name"),
         fmt::format("name = \"{}\", but {} is of \"{}\"", config.model.name, config.profile.file, profile.model),
         "a planning job takes the model from its profile",
         fmt::format("did you mean \"{}\", or another profile?", profile.model)});
  }
  return profile;
}

void count_gradients(Profile& profile, GradientPrecision precision) {
  BytesPerParameter& bytes = profile.bytes_per_parameter;
  bytes.sent_gradient = precision == GradientPrecision::bf16 ? std::min(2.0, bytes.gradient) : 0.0;
}

void set_reserves(Cluster& cluster, const Config& config, const std::string& given) {
  if (given.empty() && config.profile.file.empty()) set_usual_reserves(cluster);
}

Profile profile_without_machine(const Config& config, const Cluster& cluster, const std::string& given) {
  const bool is_computed = given.empty() && config.profile.file.empty();
  Profile profile = is_computed     ? analytic_profile(config, cluster)
                    : given.empty() ? named_profile(config)
                                    : read_profile(given);
  count_gradients(profile, config.training.gradient_precision);
  if (is_computed) return profile;
  for (const std::string& doubt : doubtful_times(profile, config, cluster)) log_warning("{}", doubt);
  if (!config.profile.analytic) return profile;
  for (const std::string& note : fill_missing_kinds(profile, cluster, config.training.precision, config.cluster.file)) {
    log_info("{}", note);
  }
  return profile;
}

}  // namespace pptrain
