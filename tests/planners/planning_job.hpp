#pragma once

#include <string>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "profile/analytic.hpp"

namespace pptrain {

/// A job file and what it names, as `pptrain plan` reads them.
struct PlanningJob {
  Config config;
  Cluster cluster;
  Profile profile;

  explicit PlanningJob(const std::string& file)
      : config(read_config(file)),
        cluster(read_cluster(config.cluster.file)),
        profile(config.profile.file.empty() ? analytic_profile(config, cluster)
                                            : read_profile(config.profile.file)) {
    if (config.profile.analytic)
      fill_missing_kinds(profile, cluster, config.training.precision, config.source);
  }
};

}  // namespace pptrain
