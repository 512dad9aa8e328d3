#pragma once

#include <string>

#include "asked_cluster.hpp"
#include "options.hpp"
#include "planners/ask/restrictions.hpp"
#include "planners/describe/throughput.hpp"
#include "runtime/places/job_options.hpp"

namespace pptrain {

/// What the command line says, for a job that looks at the machine.
JobOptions job_options(const Options& options);

/// The configuration of a planning job, which the files of the command line replace those of;
/// defaults without one.
Config planning_config(const Options& options);

/// Whether options or configuration say of which model, or of which layers with their times, a
/// planning job is.
bool names_model(const Options& options, const Config& config);

/// Whether the configuration names all that planning without a machine needs.
bool names_files(const Config& config);

/// The cluster of a planning job from files, with the memory that is set aside on it.
Cluster planning_cluster(const Options& options, const Config& config);

/// The profile of a planning job from files: named, computed, or both.
Profile planning_profile(const Options& options, const Config& config, const Cluster& cluster);

/// What the configuration and the options fix of the plans that are searched, and the threads of
/// the search.
Restrictions asked_restrictions(const Options& options, const Config& config);

/// What the first and the last layer share, where the job names a model that pptrain trains.
/// Sets the job's `context` to that of a plan that was read from `path`. Refuses (`Error`, exit
/// code 2) a plan of several where the job is of pptrain's own execution, or says another number.
void take_context(const Plan& plan, const std::string& path, Config& config);

std::vector<Tie> planned_ties(const Options& options, const Config& config, const Profile& profile);

/// A planning job that looks at no machine.
struct PlanningJob {
  Config config;
  Cluster cluster;
  Profile profile;
  Restrictions restrictions;
  std::vector<Tie> ties;
  std::string planner;
};

/// Reads what configuration and options name. What is missing or contradicts itself throws `Error`
/// (exit code 2).
PlanningJob planning_job(const Options& options);

/// The work of the job's model; refuses --tokens (`Error`, exit code 2) where its samples are not
/// known as tokens.
ModelWork asked_work(const Options& options, const Config& config, const Profile& profile);

/// Whether `pptrain profile` measures nothing, and whether `pptrain plan` takes everything from
/// files. A configuration that cannot be read counts as such: reading it again reports why.
bool profiles_from_files(const Options& options);
bool plans_from_files(const Options& options);

/// `pptrain profile` and `pptrain plan`. Collective where they look at the machine.
void run_profile(const Options& options);
void run_plan(const Options& options);

/// What kind of job a configuration is, every file that it names being valid.
std::string validated_job(const std::string& path);

}  // namespace pptrain
