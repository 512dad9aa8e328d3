#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What an export is made of: a plan with the job, model and cluster that it is for, which it matches.
struct ExportedPlan {
  const Plan& plan;
  const Config& config;
  const Model& model;
  const Cluster& cluster;
  std::vector<TaskOrder> orders;  ///< of every stage, as the plan's schedule gives them
  std::string source;             ///< PLAN.json, for messages
};

/// A file of an export.
struct ExportFile {
  std::string name;  ///< within the folder
  std::string text;
};

/// Names of the trainers that plans can be written for, as `--for` takes them.
const std::vector<std::string>& trainer_names();

/// The files with which the trainer of this name runs the plan. What the trainer cannot run throws `Error` (exit code
/// 2) with the reason, and how to search the best plan that it can.
std::vector<ExportFile> export_plan(const ExportedPlan& exported, const std::string& trainer);

}  // namespace pptrain
