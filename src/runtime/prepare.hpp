#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "comm/waiter.hpp"
#include "config/config.hpp"
#include "model/model.hpp"
#include "planners/search.hpp"
#include "profile/profile.hpp"
#include "runtime/rank_device.hpp"
#include "runtime/role.hpp"

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

/// The machine of a job and what the planner needs to know of it. The same on every rank.
struct Machine {
  Cluster cluster;
  RankMap map = RankMap::identity(0);
  CoreUse core_use = CoreUse::own;
  std::string gpus = {};                ///< a table for people of the ranks' GPUs; "" where no rank has one
  std::vector<std::string> hosts = {};  ///< that the ranks are on, whatever the cluster file says; by rank, each once
};

/// For people: the cluster, and the ranks' GPUs.
std::string describe_machine(const Machine& machine);

/// The node of each rank.
std::vector<int> nodes_of_ranks(const Machine& machine);

/// Reads the configuration on rank 0 and hands it to all; one that cannot be trained is refused but for a rehearsal.
/// Collective.
Config load_config(MPI_Comm world, Waiter& waiter, const JobOptions& options);

/// The cluster file that the options or else the configuration name; "discover": the machine itself.
std::string cluster_file(const JobOptions& options, const Config& config);

/// Whether the devices of the cluster file are emulated, and how; not those of "discover". Collective.
Emulate emulation_of(MPI_Comm world, Waiter& waiter, const std::string& file);

/// What this rank computes with in a job: the host where the cluster's devices are emulated. Collective.
RankDevice find_device(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config);

/// The cluster of the job: found, or read from `file`, whose devices must then be as many as there
/// are ranks; ranks drive devices of the node with their host's name (`match_hosts`) unless devices are emulated.
/// `device`: what this rank computes with. Collective.
Machine find_machine(MPI_Comm world, Waiter& waiter, const std::string& file, const RankDevice& device = {});
/// The same of the file that a job names, with the memory set aside that GPUs of it usually lack. Collective.
Machine find_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                     const RankDevice& device = {});

/// The plan that the configuration names, refused where it does not match the job or cannot be run; nothing where it
/// names none. Collective.
std::optional<Plan> named_plan(MPI_Comm world, Waiter& waiter, const Config& config, const Model& model,
                               const Machine& machine);

/// The profile of a job on emulated devices: nothing is measured on this machine. Collective.
Profile profile_without_machine(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                                const Machine& machine);

/// The profile: from a file, the cache, or measured with progress on rank 0, at the degrees of the named plan
/// or else those that plans may have; the above on emulated devices. Collective.
Profile obtain_profile(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                       const Model& model, const Machine& machine, const std::optional<Plan>& named = {},
                       const RankDevice& device = {});

/// The plan: the one the configuration names, or the best found, followed by the next best ones where it asks for
/// trials. Rank 0 searches, prints the candidates and the plan, and hands them to all. Throws exit code 3 when nothing
/// fits. Collective.
std::vector<Plan> choose_plans(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config,
                               const Machine& machine, const Profile& profile);

/// `search_by_objective` within `[planner] time_limit`; one that takes long shows how far it is on standard error.
/// `training_tokens`: that `[planner] max_cost` is for, where they are known.
SearchResult shown_search(const std::string& planner, const Config& config, const Instance& instance,
                          const Restrictions& restrictions, std::optional<double> training_tokens = {});

/// FLOP per second that all devices of the cluster can reach in this precision, cores shared by devices counted once; 0
/// where that is not known of all of them.
double peak_flop_rate(const Cluster& cluster, Precision precision);

/// The plan of a search, or exit code 3 with what does not fit, and with how many nodes it was found to fit where that
/// was found within 20 seconds. Arguments are those of the search.
const Plan& feasible_plan(const SearchResult& result, const std::string& planner, const Config& config,
                          const Instance& instance, const Restrictions& restrictions);

/// `[job] timeout` of the job's file as this rank finds it, for the time before rank 0 has told; the default where it
/// finds none.
double timeout_of(const JobOptions& options);

/// A waiter for the time before training. Ranks then wait for each other's measurements and for rank 0's search, which
/// may take minutes and hours, so it heeds a `Pulse`: its timeout, `BlockingTimeout` and from `load_config` on `[job]
/// timeout`, counts from the last sign of a rank. Where MPI lets no thread do that its patience is an hour. Collective.
Waiter preparing_waiter(MPI_Comm world);

/// The same before anything of the ranks' hosts is known. Not collective.
Waiter first_waiter(MPI_Comm world);

/// A waiter with the patience of an hour, for ranks that compute between messages without a sign. Collective.
Waiter make_waiter(MPI_Comm world);

}  // namespace pptrain
