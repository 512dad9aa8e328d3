#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/trainer_kinds.hpp"
#include "export_plan/decoder_shape.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// A job of which another trainer can be told.
struct ExportedJob {
  const Config& config;
  const Model& model;
  DecoderShape shape;
  std::string source;  ///< for messages: PLAN.json, or the configuration where there is no plan yet
};

/// What an export is made of: a plan with the job and cluster that it is for, which it matches.
struct ExportedPlan : ExportedJob {
  const Plan& plan;
  const Cluster& cluster;
  std::function<std::vector<TaskOrder>()> orders;  ///< of every stage, as the plan's schedule gives
                                                   ///< them
};

/// A file of an export.
struct ExportFile {
  std::string name;  ///< within the folder
  std::string text;
};

/// Why a trainer cannot run a plan.
struct Misfit {
  std::string problem;
  std::string reason;
};
/// The first reason that is found, or nothing where the trainer can run the plan.
using PossibleMisfit = std::optional<Misfit>;

/// The job as the trainer is told of it. A model, optimizer, rate or precision that it does not
/// have throws `Error` (exit code 2). What it returns refers to `config` and `model`.
ExportedJob exported_job(const TrainerKind& trainer, const Config& config, const Model& model,
                         const std::string& source);

/// Why the trainer, of which the job is, cannot run the plan.
PossibleMisfit misfit_of(const ExportedPlan& exported, const TrainerKind& trainer);

/// The files with which the trainer runs the plan. A plan that it cannot run throws `Error` (exit
/// code 2) with the reason, and how to search the best plan that it can.
std::vector<ExportFile> export_plan(const ExportedPlan& exported, const TrainerKind& trainer);

}  // namespace pptrain
