#pragma once

#include <string>
#include <vector>

namespace pptrain {

/// A job of several ranks before training: what the command line gave.
struct JobOptions {
  std::string config_path;
  std::vector<std::string> overrides;  ///< `section.key=VALUE`
  std::string cluster_path;            ///< "": as the configuration says
  std::string profile_path;            ///< "": measured, or from the cache
  std::string resume;                  ///< a checkpoint, "latest", or "": from the start
  bool dry_run = false;                ///< stop after planning
};

}  // namespace pptrain
