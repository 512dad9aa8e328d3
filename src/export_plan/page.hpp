#pragma once

#include <string>
#include <utility>
#include <vector>

#include "export_plan/export_plan.hpp"

namespace pptrain {

/// What the README.md of an export says.
struct ExportPage {
  std::string title;                                        ///< of the trainer
  std::string version;                                      ///< whose source the export follows
  std::vector<std::string> steps;                           ///< how to use it, in order
  std::vector<std::pair<std::string, std::string>> files;   ///< name and what it is
  std::vector<std::pair<std::string, std::string>> mapped;  ///< of the plan, and in what words it
                                                            ///< is here
  std::vector<std::string> differs;  ///< what the trainer ignores or does in its own way
};

/// README.md of an export.
ExportFile page_file(const ExportedPlan& exported, const ExportPage& page);

/// The sentence of every page that says how the processes lie on the devices.
std::string rank_order_text();

/// The sentence of every page that says whose execution predicted times are of. `trainer` is the
/// name that `--like` takes.
std::string predicted_runtime_text(const std::string& trainer);

/// The step of every page that tells what to do with host names.
std::string hosts_step();

/// Files of every export: ranks.tsv, hosts.txt, job.sbatch and rank.sh with what they are.
std::vector<std::pair<std::string, std::string>> launch_files();

}  // namespace pptrain
