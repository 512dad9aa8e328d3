#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/interval.hpp"
#include "base/name_table.hpp"
#include "config/layer_config.hpp"
#include "config/optimizers.hpp"

namespace pptrain {

enum class Precision { fp32, bf16, fp16 };
enum class GradientPrecision { fp32, bf16 };  ///< in which gradients go from replica to replica
enum class BalanceOver { layer, model };      ///< of what the balance of experts is computed as one
enum class Recompute { none, selective, full };
enum class ZeroGroup {
  replicas,
  node
};  ///< who divides what ZeRO divides: all replicas, or those of a node
enum class DeviceChoice {
  any,
  host,
  gpu
};  ///< what a rank computes with; any: a GPU where there is one
enum class GpuTransport {
  any,
  nccl,
  mpi
};  ///< what carries sums of GPUs; any: NCCL where it can be
enum class Primitive { replicate, split };  ///< Whale's
enum class InitialWeights {
  folder,
  random
};  ///< what the training of a folder's model starts from
enum class LrSchedule { constant, linear, cosine, wsd, step };  ///< how the learning rate falls
enum class Effort { quick, normal, thorough };                  ///< how much work a search may do
enum class ObjectiveKind { time, cost, time_cost };             ///< what a plan is to make small
enum class ReplanWhen { never, on_drift };                      ///< when a job is planned anew
/// How attention of a computed profile runs; as_runtime: as that runtime has it.
enum class AttentionRun { as_runtime, fused, stored, stored_dropout };

/// Who has which part of the experts of a layer.
enum class Experts {
  chosen,   ///< columns of each expert in a tensor-parallel group, or replicas that send rows where
            ///< `auto` finds that faster
  columns,  ///< of each expert, for the members of a tensor-parallel group
  whole,    ///< whole ones, where their number can be divided evenly
  sent,     ///< whole ones, which replicas may divide too, and send rows to one another
};

const NameTable<Precision>& precision_names();
const NameTable<GradientPrecision>& gradient_precision_names();
const NameTable<Recompute>& recompute_names();
const NameTable<LrSchedule>& lr_schedule_names();
const NameTable<Experts>& experts_names();
const NameTable<ObjectiveKind>& objective_names();

std::string to_string(Precision precision);
std::string to_string(GradientPrecision precision);
std::string to_string(Recompute recompute);

/// A number the user fixed, or nothing: `"auto"`, to be chosen by the planner.
using AutoInt = std::optional<std::int64_t>;
/// What the user allowed or forbade, or nothing: `"auto"`.
using AutoFlag = std::optional<bool>;

struct JobConfig {
  std::string name = "job";
  std::string output = "outputs";  ///< run directories go below it
  std::int64_t seed = 1234;
  double timeout = 120.0;   ///< seconds; longest wait for a peer
  double time_limit = 0.0;  ///< seconds; 0: none
  DeviceChoice device = DeviceChoice::any;
  GpuTransport gpu_transport = GpuTransport::any;
  bool cuda_graphs = false;  ///< calls to a GPU that come again run as CUDA graphs
};

/// One of Whale's primitives for an interval of layers.
struct Annotation {
  Interval layers;
  Primitive primitive = Primitive::replicate;
  std::int64_t devices = 0;  ///< 0: the planner chooses
};

/// Names of the models that this version trains.
const std::vector<std::string>& trainable_models();

struct ModelConfig {
  std::string name = "gpt2";
  std::string from;  ///< a folder with config.json, as Hugging Face's libraries write it; "":
                     ///< `name` says it
  InitialWeights initial = InitialWeights::folder;  ///< with `from`
  std::int64_t image_size = 0;  ///< with `from`: pixels of an image's side; 0: what the folder says
  std::string description;  ///< text of the folder's config.json, once it has been read, or of a
                            ///< published model's
  bool published = false;  ///< `name` is that of a published model (`published_models`), which says
                           ///< the rest
  std::int64_t layers = 4;  ///< blocks, or dense layers of a classifier's features
  std::int64_t hidden_size = 64;
  std::int64_t heads = 4;
  std::int64_t vocabulary_size = 257;
  bool tied = false;               ///< output layer shares the token embedding
  std::string initial_parameters;  ///< an HDF5 file with /parameters; "": random
  std::int64_t input_size = 64;    ///< numbers in a sample of mlp-classifier
  std::int64_t classes = 10;       ///< of mlp-classifier
  std::vector<LayerConfig> layer;  ///< the chain, where the user writes it down
  std::vector<Annotation> annotate;

  /// Whether it is pptrain's own classifier, whose samples are numbers with a class in place of
  /// tokens.
  bool is_classifier() const { return names_dimensions() && name == "mlp-classifier"; }
  /// Whether `name` is a kind of model and `layers`, `hidden_size` and so on are its dimensions.
  bool names_dimensions() const { return from.empty() && layer.empty() && !published; }
  /// Whether a config.json describes it.
  bool is_described() const { return !from.empty() || (published && layer.empty()); }
  /// Layers of the chain, and what they are for a message.
  std::int64_t num_layers() const { return is_classifier() ? layers + 1 : layers + 2; }
  /// How many layers the chain has and which, for a message: "it has 6 (embedding, 4 blocks,
  /// output)".
  std::string layers_text() const;
};

/// Data of a classifier, images, masked text or pairs of texts that are made as they are needed.
inline const std::string synthetic_data = "synthetic";

/// One of several sources that samples are mixed from.
struct MixPart {
  std::vector<std::string> path;  ///< as `train`
  double weight = 1.0;            ///< share of the samples, in units of the sum of all weights
};

struct DataConfig {
  std::vector<std::string> train;  ///< token or text files (bytes), one path or a list; for a
                                   ///< classifier, images, masked text and pairs an HDF5 file, or
                                   ///< "synthetic"
  std::vector<std::string> validation;
  bool shuffle = true;
  AutoInt end_of_document;  ///< the token that ends a document; nothing: what indexes (.idx) say
  bool attend_across_documents = true;  ///< whether attention reaches from a document into those
                                        ///< before it
  AutoInt mask_token;  ///< stands where a token is hidden; nothing: an HDF5 file has masked text
  double mask_probability = 0.15;             ///< that a position has a label
  std::vector<std::int64_t> unmasked_tokens;  ///< that are never hidden
  std::int64_t crop_padding = 0;  ///< pixels by which images of the training are moved at most
  bool flip = false;              ///< whether half of them are mirrored
  std::vector<MixPart> mix;       ///< in place of `train`

  /// Whether anything is named to train on; a job that is only planned needs none.
  bool has_training_data() const { return !train.empty() || !mix.empty(); }
};

struct TrainingConfig {
  std::int64_t steps = 20;
  std::int64_t sequence_length = 32;
  AutoInt source_length;  ///< tokens of a source, where models have one; nothing: sequence_length
  std::int64_t global_batch_size = 8;  ///< samples per step, over all replicas
  AutoInt micro_batch_size;            ///< samples that enter the pipeline together
  Precision precision = Precision::fp32;
  std::optional<double> loss_scale;  ///< of fp16; nothing: "dynamic"
  GradientPrecision gradient_precision = GradientPrecision::fp32;
  double z_loss = 0.0;           ///< 0: none
  double label_smoothing = 0.0;  ///< 0: none
  double dropout = 0.0;          ///< 0: none
  double router_aux_loss = 0.0;  ///< 0: none
  BalanceOver router_aux_loss_over = BalanceOver::layer;

  /// Whether the balance of experts is in the loss, and over all layers of the model together.
  bool balances_model() const {
    return router_aux_loss > 0.0 && router_aux_loss_over == BalanceOver::model;
  }
};

struct LrSchedulerConfig {
  LrSchedule kind = LrSchedule::constant;
  std::int64_t warmup_steps = 0;
  double minimum = 0.0;
  std::int64_t decay_steps = 0;    ///< of wsd
  std::int64_t step_interval = 0;  ///< of step
  double step_factor = 0.1;        ///< of step
};

struct ParallelismConfig {
  AutoInt data;
  AutoInt pipeline;
  AutoInt tensor;
  std::int64_t context = 1;  ///< replicas that divide the positions of each sample, where another
                             ///< trainer runs
  std::string schedule = "auto";
  AutoInt virtual_stages;
  std::int64_t unit = 0;               ///< ZeroPP scheduling unit; 0: chosen
  std::optional<Recompute> recompute;  ///< nothing: chosen
  AutoInt zero_stage;
  std::optional<ZeroGroup> zero_group;  ///< nothing: chosen
  AutoFlag offload;              ///< whether optimizer state may be kept in the host's memory
  AutoFlag offload_activations;  ///< whether stored activations may be
  Experts experts = Experts::chosen;
  AutoInt expert;    ///< replicas that divide experts between them by all-to-all; nothing: chosen
  std::string plan;  ///< a PLAN.json to run as it is
  std::string like = "pptrain";  ///< the trainer whose plans are wanted (`TrainerKind`)
};

struct ClusterConfig {
  std::string file = "discover";  ///< "discover" or a CLUSTER.toml

  /// Whether a cluster of this name is the machine itself.
  static bool is_discovered(const std::string& file) { return file == ClusterConfig().file; }
};

struct PlannerConfig {
  std::string name = "auto";
  double time_limit = 30.0;  ///< seconds
  Effort effort = Effort::normal;
  ObjectiveKind objective = ObjectiveKind::time;
  std::optional<double> max_cost;  ///< money; of `--tokens`, else of 10^9 tokens; nothing: no limit
  std::optional<double> min_tokens_per_second;  ///< nothing: no limit
  std::optional<double> checkpoint_time;        ///< seconds to write one; nothing: bytes over
                                                ///< storage_bandwidth
  std::optional<double> restart_time;  ///< seconds after a failure; nothing: those to read a
                                       ///< checkpoint
  std::int64_t trials = 0;
  std::int64_t trial_steps = 5;
  double drift_factor = 1.3;       ///< a rank that computes this many times as long as expected has
                                   ///< fallen behind
  std::int64_t drift_window = 20;  ///< steps over which that is measured
  ReplanWhen replan = ReplanWhen::never;
};

struct ProfileConfig {
  std::string file;  ///< a PROFILE.json instead of measuring; "": none
  bool cache = true;
  bool analytic = false;
  std::string like = "pptrain";  ///< the runtime that an analytic profile is of
  AttentionRun attention = AttentionRun::as_runtime;
  bool sequence_parallel = false;  ///< whether members divide what they do not divide otherwise by
                                   ///< positions
};

struct CheckpointConfig {
  std::int64_t interval = 0;  ///< steps; 0: only at a stop, and at the end
  std::int64_t keep = 3;
  bool at_end = true;  ///< whether one is written behind the last step, whatever the interval
};

struct MetricsConfig {
  std::int64_t interval = 1;
  std::int64_t evaluation_batches = 0;  ///< that an evaluation takes at most; 0: all
  std::int64_t evaluation_interval = 0;
  bool trace = false;
  std::vector<std::string> sample_prompts;  ///< texts that evaluations continue
};

/// A training job as the user described it, every default filled in.
struct Config {
  JobConfig job;
  ModelConfig model;
  DataConfig data;
  TrainingConfig training;
  OptimizerConfig optimizer;
  LrSchedulerConfig lr_scheduler;
  ParallelismConfig parallelism;
  ClusterConfig cluster;
  PlannerConfig planner;
  ProfileConfig profile;
  CheckpointConfig checkpoint;
  MetricsConfig metrics;

  // Not keys: where it came from, for messages.
  std::string source;                         ///< path of the file
  std::map<std::string, std::string> places;  ///< `section.key` to `file:line` or `--set
                                              ///< section.key`

  /// Whether this version can train the model of this name. One that it cannot train may still be
  /// planned from
  /// `[profile] file`, whose `model` it then has to be.
  bool can_train_model() const;
  /// Tokens of a sample; 1 of a classifier, by which samples are counted in place of tokens.
  std::int64_t rows_per_sample() const {
    return model.is_classifier() ? 1
                                 : training.sequence_length + training.source_length.value_or(0);
  }
  /// The global batch as plans count it: each replica that divides the positions of a sample has a
  /// share of it, and a share is what a plan calls a sample.
  std::int64_t planned_batch_size() const {
    return training.global_batch_size * parallelism.context;
  }
  /// The place of a key for messages; the file alone when the key was not written.
  std::string where(const std::string& key) const;
};

}  // namespace pptrain
