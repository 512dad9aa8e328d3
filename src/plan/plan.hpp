#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/interval.hpp"
#include "config/config.hpp"
#include "config/schedule_kinds.hpp"
#include "plan/patterns.hpp"
#include "profile/error_band.hpp"

namespace pptrain {

struct ScheduleChoice {
  std::string name = "1f1b";
  int virtual_stages = 1;
  int unit = 0;
  bool operator==(const ScheduleChoice&) const = default;
};

/// Devices in a grid of replicas x tensor_parallel: what each of them has of some layers and of a
/// micro-batch.
struct Mesh {
  int replicas = 1;
  int tensor_parallel = 1;
  std::vector<std::vector<DeviceId>> devices;           ///< a row per replica, a column per member
  std::vector<Interval> samples;                        ///< of the micro-batch, per replica
  std::map<std::string, std::vector<Interval>> shards;  ///< empty: the even division
  bool operator==(const Mesh&) const = default;
};

/// Layers of a stage that a mesh of their own divides over its devices, which only the stage lists;
/// uniform grids have none.
struct Block : Mesh {
  Interval layers;
  TensorPattern pattern = TensorPattern::replicate;

  Block() = default;
  Block(Interval layers, int replicas, int tensor_parallel, TensorPattern pattern,
        std::vector<Interval> samples, std::map<std::string, std::vector<Interval>> shards)
      : Mesh{replicas, tensor_parallel, {}, std::move(samples), std::move(shards)},
        layers(layers),
        pattern(pattern) {}
  bool operator==(const Block&) const = default;
};

/// Layers that a mesh of devices holds.
struct Stage : Mesh {
  std::vector<Interval> layers;  ///< one interval per virtual chunk
  Recompute recompute = Recompute::none;
  int zero_stage = 0;
  /// Runs of replicas that divide among themselves what ZeRO divides; each run holds all of it.
  /// Empty: all replicas are one run.
  std::vector<Interval> zero_groups;
  /// The slice that each replica holds of what ZeRO divides, as an interval of a whole that ends
  /// with the last slice. Empty: equal slices. Only where all replicas are one run.
  std::vector<Interval> zero_slices;
  bool offload = false;              ///< optimizer state lies in the host's memory
  bool offload_activations = false;  ///< what layers store from F to B lies in the host's memory
  std::vector<Block> blocks;

  /// Whether the stage keeps anything in the host's memory.
  bool offloads() const { return offload || offload_activations; }

  /// The runs of replicas that divide what ZeRO divides, in order.
  std::vector<Interval> sharding_groups() const;
  /// The run of `sharding_groups` that replica `replica` is in.
  Interval sharding_group_of(int replica) const;
  /// What ZeRO divides, as a multiple of the slice of replica `replica`.
  double slices_of(int replica) const;
  /// The largest slice as a multiple of an equal one: 1 where all are equal.
  double largest_slice() const;
  /// Whether any replica shares its weights with another, as stage 3 has it.
  bool divides_weights() const;

  /// Whether its devices gather weights chunk by chunk, as instructions of their programs. With a
  /// single chunk a task gathers layer by layer, since the whole chunk is what ZeRO stage 3 is to
  /// spare.
  bool gathers_chunks() const { return divides_weights() && layers.size() > 1 && blocks.empty(); }
  bool operator==(const Stage&) const = default;
};

/// The `amp` estimate as the slowest stage (the first of equal ones) spends it; the parts add up to
/// it.
struct TimeParts {
  double compute = 0.0;  ///< F, B and W of all micro-batches on the slowest stage
  double bubble = 0.0;   ///< one micro-batch on each other stage: the pipeline fills and drains
  double pipeline_communication = 0.0;    ///< all e_i
  double tensor_communication = 0.0;      ///< tensor-parallel collectives and re-partitions of the
                                          ///< slowest stage
  double parameter_gathers = 0.0;         ///< of the slowest stage, ZeRO stage 3
  double gradient_synchronization = 0.0;  ///< the largest gradient all-reduce
  /// Seconds of the whole iteration by the `amp` estimate.
  double sum() const {
    return compute + bubble + pipeline_communication + tensor_communication + parameter_gathers +
           gradient_synchronization;
  }
};

/// Where the predicted iteration comes from.
enum class PredictionBasis { estimate, simulation };

/// What devices of one kind do in an iteration, on average over those that the plan uses. Shares of
/// the iteration are 0 to 1.
struct KindPrediction {
  std::string kind;
  int devices = 0;  ///< how many the cluster has
  int used = 0;     ///< how many the plan has; 0: nothing of what follows the bytes is known
  double memory_bytes = 0.0;   ///< memory of one, as far as plans may use it
  double reserve_bytes = 0.0;  ///< memory of one that drivers and libraries take
  std::optional<double> computing;
  std::optional<double> waiting;  ///< data are under way; nothing where the plan was not simulated
  std::optional<double> idle;     ///< the rest
  std::optional<double> flop_per_second;       ///< FLOP of the model
  std::optional<double> peak_flop_per_second;  ///< rate in the job's precision, as the cluster's
                                               ///< file says it
  std::optional<double> utilization;           ///< the former over the latter
};

/// What a plan's iteration comes to for those who compare: model FLOP are those of forward and
/// backward, without what is computed again.
struct SpeedPrediction {
  double samples_per_second = 0.0;
  std::optional<double> tokens_per_second;  ///< nothing: samples are no tokens, or nobody says of
                                            ///< how many
  std::string flop_source;                  ///< "layers" or "parameters"; "": FLOP are not known
  std::optional<double> flop_per_second;  ///< FLOP of the model, of each device that the plan uses
                                          ///< on average
  std::optional<double> utilization;  ///< part of the peak of the devices that the plan uses, 0 to
                                      ///< 1
  std::string precision;              ///< precision of that peak
  std::optional<double> training_tokens;   ///< tokens that were asked for
  std::optional<double> training_seconds;  ///< time that these take
};

/// What failures leave of a training that writes checkpoints.
struct FailurePrediction {
  double mtbf_seconds = 0.0;        ///< mean time between failures of the nodes that the plan uses,
                                    ///< together
  double checkpoint_seconds = 0.0;  ///< of writing one
  double restart_seconds = 0.0;     ///< from a failure until the job trains again
  double interval_seconds = 0.0;    ///< training between two checkpoints that loses least
  std::int64_t interval_steps = 0;  ///< `interval_seconds` in whole steps
  double goodput = 1.0;             ///< part of the time that training goes on in, 0 to 1
};

/// What a training on so many tokens comes to, failures included where they are known.
struct TrainingTotals {
  double tokens = 0.0;
  double seconds = 0.0;
  double node_hours = 0.0;
  std::optional<double> money;           ///< nothing: a node has no price
  std::optional<double> kilowatt_hours;  ///< nothing: the power of a node is not known
};

/// What the nodes that a plan uses cost; a node counts as a whole.
struct CostPrediction {
  int nodes = 0;
  std::string currency;                  ///< "": no prices
  std::optional<double> money_per_hour;  ///< of these nodes; nothing: one of them has no price
  double egress_per_step = 0.0;          ///< money for what leaves switches that have such a price
  std::optional<double> money_per_step;  ///< failures included where they are known
  std::optional<double> money_per_billion_tokens;  ///< failures included where they are known
  std::optional<double> watts;             ///< at full load; nothing: not known of all of them
  std::optional<TrainingTotals> training;  ///< on request
  ObjectiveKind objective = ObjectiveKind::time;  ///< what the search made small
};

/// What is predicted of a plan.
struct Prediction {
  PredictionBasis basis = PredictionBasis::estimate;  ///< of iteration, bubble and peak
  double iteration_seconds = 0.0;
  double estimate_seconds = 0.0;
  std::map<std::string, double> estimates;  ///< "amp", "dapple"
  double lower_bound_seconds = 0.0;
  double bubble_fraction = 0.0;
  std::vector<double> peak_bytes;  ///< per device of the cluster, in device order
  TimeParts parts;                 ///< of the `amp` estimate
  std::optional<ErrorBand> error_band = std::nullopt;  ///< of the iteration, where times are
                                                       ///< computed
  std::string like;                   ///< the runtime that is predicted; "": pptrain itself
  std::vector<double> stage_seconds;  ///< of one micro-batch on each stage: t_i of AMP Eq. 4
  std::optional<SpeedPrediction> speed;
  std::vector<KindPrediction> kinds;  ///< kinds of the cluster's devices, in the order of its file;
                                      ///< with `speed`
  std::optional<CostPrediction> cost;         ///< where the cluster says something of it
  std::optional<FailurePrediction> failures;  ///< where the cluster and the job say something of
                                              ///< them
};

/// The best plan of another planner, or one that was tried, for the reader.
struct Alternative {
  static constexpr const char* tried = "trial";  ///< stands in place of a planner where the plan
                                                 ///< was run

  std::string planner;
  std::optional<double> iteration_seconds;  ///< nothing when infeasible
  bool feasible = false;
  std::string why_not;
  std::optional<double> measured_seconds;  ///< in a trial
};

/// The plan in the order of another schedule, for the reader.
struct ScheduleAlternative {
  ScheduleChoice schedule;
  std::optional<double> iteration_seconds;  ///< nothing when it does not fit
  std::string why_not;                      ///< what does not fit, where there are no seconds
};

/// How closed forms rank plans of an instance, compared with the simulator.
struct RankCorrelations {
  int num_plans = 0;
  std::map<std::string, double> forms;  ///< Spearman's coefficient of each form
};

/// Devices of one kind that follow one another in a cluster.
struct KindRun {
  std::string kind;
  int count = 0;
  bool operator==(const KindRun&) const = default;
};

/// How a model is divided and run: PLAN.json. A uniform (pp, dp, tmp) grid is a plan like any
/// other.
struct Plan {
  std::string planner;
  std::string model;
  std::string cluster;
  std::vector<KindRun> device_kinds;  ///< all devices of that cluster in order; empty: unknown
  /// Replicas that divide the positions of each sample, by context parallelism. A sample of the
  /// plan is then the share of one replica; shares of one sample are on replicas that follow one
  /// another.
  int context = 1;
  std::int64_t global_batch_size = 0;
  std::int64_t micro_batch_size = 0;  ///< samples that enter the pipeline together
  std::int64_t micro_batches = 0;
  ScheduleChoice schedule;
  std::vector<Stage> stages;

  std::optional<Prediction> predicted;
  std::int64_t search_candidates = 0;
  double search_seconds = 0.0;
  bool search_complete = true;  ///< false: a time limit or the user ended it with the best so far
  std::vector<Alternative> alternatives;
  std::vector<ScheduleAlternative> schedules;  ///< that were simulated with the plan's stages
  std::optional<RankCorrelations> rank_correlations;  ///< on request

  /// Whole samples of a step.
  std::int64_t samples_per_step() const { return global_batch_size / context; }
  /// Whole samples of a micro-batch.
  std::int64_t samples_per_micro_batch() const { return micro_batch_size / context; }
  int num_stages() const { return static_cast<int>(stages.size()); }
  /// Number of devices that the plan uses.
  int num_devices() const;
  /// Whether all stages have the same number of replicas and the same tensor-parallel degree.
  bool uniform() const;
  /// "PP 4 x DP 2 x TP 2" for a uniform grid, with "CP 2 x" before TP where replicas divide
  /// samples; else the stages' shapes, of many the first few and the last.
  std::string shape() const;
};

/// Seconds of an iteration in the trial of a plan that was kept because it was the fastest one
/// tried; nothing where none of its alternatives was tried.
std::optional<double> trial_seconds(const Plan& plan);

/// Whether two plans do the same: stages, batch sizes and schedule, whoever made them.
bool same_plan(const Plan& a, const Plan& b);

/// A uniform grid as a plan. Shard k of replica j of stage i is device (i * dp + j) * tmp + k.
/// `layers` is the interval of each stage.
/// micro_batch_size must divide global_batch_size, and dp must not exceed it.
Plan uniform_plan(const std::vector<Interval>& layers, int data, int tensor,
                  std::int64_t global_batch_size, std::int64_t micro_batch_size,
                  const std::string& schedule);

/// A uniform grid as a plan, whose `chunks` lie on stages as the schedule has them; each is an
/// interval of layers. `virtual_stages` must divide their number, micro_batch_size must divide
/// global_batch_size, and dp must not exceed it.
Plan uniform_plan(const std::vector<Interval>& chunks, int data, int tensor,
                  std::int64_t global_batch_size, std::int64_t micro_batch_size,
                  const ScheduleChoice& schedule);

/// Checks a plan against the number of layers and devices it is meant for: layers and samples
/// covered exactly once, no device used twice, batch sizes that multiply up, known schedule.
/// Throws `Error` (exit code 2) with `source` as the place.
void validate_plan(const Plan& plan, int num_layers, int num_devices, const std::string& source);

/// Reads PLAN.json (`pptrain.plan/1`); checks everything that needs no model or cluster.
Plan read_plan(const std::string& path);
Plan parse_plan(const std::string& text, const std::string& source);
std::string write_plan(const Plan& plan);

}  // namespace pptrain
