#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/interval.hpp"

namespace pptrain {

enum class Precision { fp32, bf16, fp16 };
enum class GradientPrecision { fp32, bf16 };  ///< in which gradients go from replica to replica
enum class BalanceOver { layer, model };      ///< of what the balance of experts is computed as one
enum class Recompute { none, selective, full };
enum class ZeroGroup { replicas, node };  ///< who divides what ZeRO divides: all replicas, or those of a node

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
  double timeout = 120.0;              ///< seconds; longest wait for a peer
  double time_limit = 0.0;             ///< seconds; 0: none
  std::string device = "auto";         ///< what a rank computes with: "gpu", "host", or the first where there is one
  std::string gpu_transport = "auto";  ///< of groups of GPUs: "nccl", "mpi", or the first where it can be
  bool cuda_graphs = false;            ///< calls to a GPU that come again run as CUDA graphs
};

/// One of Whale's primitives for an interval of layers.
struct Annotation {
  Interval layers;
  std::string primitive = "replicate";  ///< or "split"
  std::int64_t devices = 0;             ///< 0: the planner chooses
};

/// Equal layers of a network that the user writes down: an embedding, blocks, or the output layer.
struct LayerConfig {
  /// A network of texts has "embedding", "block", "output"; one of images "images", "convolution", "residual", "dense",
  /// "classes"; one that draws images "latent", "block", "enlarge", "pixels".
  std::string kind = "block";
  std::int64_t repeat = 1;  ///< how many such layers follow one another
  // An embedding has:
  std::int64_t columns = 64;  ///< hidden width, of the whole chain; of a dense or latent layer its own
  bool positions = false;     ///< each place has a row of a second table; of a latent and an enlarging layer too
  // Only a block has:
  std::int64_t heads = 4;
  std::int64_t key_heads = 0;     ///< 0: as many as heads
  std::int64_t head_size = 0;     ///< 0: columns / heads
  std::int64_t feed_forward = 0;  ///< 0: four times the hidden width
  std::string activation = "gelu_tanh";
  bool gated = false;
  double rotary_theta = 0.0;  ///< 0: heads do not turn
  double rotary_share = 1.0;  ///< part of a head's columns that turns
  bool query_bias = false;    ///< of queries, keys and values
  bool output_bias = false;   ///< of attention
  bool feed_forward_bias = false;
  bool head_norms = false;
  std::int64_t experts = 0;  ///< feed-forward parts, of which each position goes to some; 0: one part for all
  std::int64_t experts_per_token = 2;
  bool experts_sum_to_one = true;  ///< weights of the chosen ones
  double expert_capacity = 0.0;    ///< rows of a sample that each takes, in even shares of them; 0: all
  std::int64_t shared_expert = 0;  ///< columns of a part that all positions go to as well; 0: there is none
  bool parallel = false;           ///< both parts of the block read its input
  std::int64_t window = 0;  ///< positions that are seen, 0: all earlier ones; of images pixels of a square's side
  std::int64_t experts_every = 1;  ///< one in so many of `repeat` has experts, the last of them
  // A block and the output layer have:
  std::string norm = "layer";  ///< or "rms"
  double epsilon = 1e-5;
  // Only the output layer has:
  bool tied = false;  ///< it shares the token embedding
  // Images have, and what draws them:
  std::int64_t image_size = 224;  ///< pixels of a side; of a latent layer those of its map
  std::int64_t colours = 3;       ///< channels of an image
  // Only a latent layer has:
  std::int64_t inputs = 64;  ///< numbers of a sample
  // Only an enlarging layer has:
  std::string method = "bicubic";  ///< or "shuffle"
  // A convolution and a residual block have:
  std::int64_t channels = 64;      ///< of the result
  std::int64_t stride = 1;         ///< of the first of `repeat`
  std::string rectifier = "relu";  ///< `activation`, of a dense layer too; a convolution may have "none"
  std::string pool = "none";       ///< behind the last of `repeat`: or "max", "average"
  std::int64_t pool_size = 2;      ///< pixels of a side; 0: the whole map
  std::int64_t pool_stride = 0;    ///< 0: as `pool_size`
  std::int64_t pool_padding = 0;
  // Only a convolution has:
  std::int64_t kernel = 3;  ///< pixels of a side
  AutoInt padding;          ///< nothing: half the kernel
  bool batch_norm = false;  ///< in place of a bias
  // Only a residual block has:
  std::int64_t inner = 0;  ///< channels within a bottleneck; 0: two convolutions of 3 x 3
  std::int64_t wide = 0;   ///< channels behind its 3 x 3; 0: `inner`
  // Only classes have:
  std::int64_t classes = 10;

  std::int64_t num_key_heads() const { return key_heads > 0 ? key_heads : heads; }
  std::int64_t head_columns(std::int64_t hidden) const { return head_size > 0 ? head_size : hidden / heads; }
  /// Columns of a head that turn.
  std::int64_t rotated_columns(std::int64_t hidden) const;
  /// Whether it is the first of a network that reads images.
  bool reads_images() const { return kind == "images"; }
  /// ... of one that draws images.
  bool reads_latents() const { return kind == "latent"; }
  std::int64_t padded_by() const { return padding.value_or(kernel / 2); }
  /// Side and stride of the pooling's window over a map of `side` x `side` pixels.
  std::int64_t pool_side(std::int64_t side) const { return pool_size > 0 ? pool_size : side; }
  std::int64_t pool_step(std::int64_t side) const { return pool_stride > 0 ? pool_stride : pool_side(side); }
};

/// Names of the models that this version trains.
const std::vector<std::string>& trainable_models();

struct ModelConfig {
  std::string name = "gpt2";
  std::string from;  ///< a folder with config.json, as Hugging Face's libraries write it; "": `name` says it
  std::string initial = "weights";  ///< with `from`: the folder's weights, or "random"
  std::int64_t image_size = 0;      ///< with `from`: pixels of an image's side; 0: what the folder says
  std::string description;  ///< text of the folder's config.json, once it has been read, or of a published model's
  bool published = false;   ///< `name` is that of a published model (`published_models`), which says the rest
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

  bool is_classifier() const { return names_dimensions() && name == "mlp-classifier"; }
  /// Whether `name` is a kind of model and `layers`, `hidden_size` and so on are its dimensions.
  bool names_dimensions() const { return from.empty() && layer.empty() && !published; }
  /// Whether a config.json describes it.
  bool is_described() const { return !from.empty() || (published && layer.empty()); }
  /// Layers of the chain, and what they are for a message.
  std::int64_t num_layers() const { return is_classifier() ? layers + 1 : layers + 2; }
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
  std::vector<std::string> train;  ///< token or text files (bytes), one path or a list; for a classifier, images,
                                   ///< masked text and pairs an HDF5 file, or "synthetic"
  std::vector<std::string> validation;
  bool shuffle = true;
  AutoInt end_of_document;                    ///< the token that ends a document; nothing: what indexes (.idx) say
  bool attend_across_documents = true;        ///< whether attention reaches from a document into those before it
  AutoInt mask_token;                         ///< stands where a token is hidden; nothing: an HDF5 file has masked text
  double mask_probability = 0.15;             ///< that a position has a label
  std::vector<std::int64_t> unmasked_tokens;  ///< that are never hidden
  std::int64_t crop_padding = 0;              ///< pixels by which images of the training are moved at most
  bool flip = false;                          ///< whether half of them are mirrored
  std::vector<MixPart> mix;                   ///< in place of `train`

  bool has_training_data() const { return !train.empty() || !mix.empty(); }
};

struct TrainingConfig {
  std::int64_t steps = 20;
  std::int64_t sequence_length = 32;
  AutoInt source_length;               ///< tokens of a source, where models have one; nothing: sequence_length
  std::int64_t global_batch_size = 8;  ///< samples per step, over all replicas
  AutoInt micro_batch_size;            ///< samples that enter the pipeline together
  Precision precision = Precision::fp32;
  std::optional<double> loss_scale;  ///< of fp16; nothing: "dynamic"
  GradientPrecision gradient_precision = GradientPrecision::fp32;
  double z_loss = 0.0;           ///< 0: none
  double label_smoothing = 0.0;  ///< 0: none
  double dropout = 0.0;          ///< 0: none
  double router_aux_loss = 0.0;  ///< likewise
  BalanceOver router_aux_loss_over = BalanceOver::layer;

  /// Whether the balance of experts is in the loss, and over all layers of the model together.
  bool balances_model() const { return router_aux_loss > 0.0 && router_aux_loss_over == BalanceOver::model; }
};

struct OptimizerConfig {
  std::string name = "adamw";  ///< or "sgd", "lion", "adafactor", "muon"
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  std::optional<double> weight_decay;  ///< nothing: 0.1, of sgd 0
  double gradient_clip = 1.0;          ///< global norm; 0: off
  // Only of sgd:
  double momentum = 0.0;  ///< 0: none
  bool nesterov = false;
  // Only of adafactor:
  double beta2_decay = -0.8;
  double epsilon2 = 1e-3;
  double clip_threshold = 1.0;
  // Only of muon:
  double muon_learning_rate = 0.02;
  double muon_momentum = 0.95;

  double decay() const { return weight_decay.value_or(name == "sgd" ? 0.0 : 0.1); }
};

struct LrSchedulerConfig {
  std::string name = "constant";  ///< or "cosine", "linear", "wsd", "step"
  std::int64_t warmup_steps = 0;
  double minimum = 0.0;
  std::int64_t decay_steps = 0;    ///< of wsd
  std::int64_t step_interval = 0;  ///< of step
  double step_factor = 0.1;        ///< likewise
};

struct ParallelismConfig {
  AutoInt data;
  AutoInt pipeline;
  AutoInt tensor;
  std::int64_t context = 1;  ///< replicas that divide the positions of each sample, where another trainer runs
  std::string schedule = "auto";
  AutoInt virtual_stages;
  std::int64_t unit = 0;           ///< ZeroPP scheduling unit; 0: chosen
  std::string recompute = "auto";  ///< none, selective, full, auto
  AutoInt zero_stage;
  std::string zero_group = "auto";  ///< or "replicas"; "node": divided within a node, whole on every node
  AutoFlag offload;                 ///< whether optimizer state may be kept in the host's memory
  AutoFlag offload_activations;     ///< whether stored activations may be
  std::string experts = "auto";     ///< who has which: "columns", "whole", "all-to-all"
  AutoInt expert;                   ///< replicas that divide experts between them by all-to-all; nothing: chosen
  std::string plan;                 ///< a PLAN.json to run as it is
  std::string like = "pptrain";     ///< the trainer whose plans are wanted (`TrainerKind`)
};

struct ClusterConfig {
  std::string file = "discover";  ///< or a CLUSTER.toml
};

struct PlannerConfig {
  std::string name = "auto";
  double time_limit = 30.0;                     ///< seconds
  std::string effort = "normal";                ///< quick, normal, thorough
  std::string objective = "time";               ///< what the plan is to make small: time, cost, time-cost
  std::optional<double> max_cost;               ///< money; of `--tokens`, else of 10^9 tokens; nothing: no limit
  std::optional<double> min_tokens_per_second;  ///< nothing: no limit
  std::optional<double> checkpoint_time;        ///< seconds to write one; nothing: bytes over storage_bandwidth
  std::optional<double> restart_time;           ///< seconds after a failure; nothing: those to read a checkpoint
  std::int64_t trials = 0;
  std::int64_t trial_steps = 5;
  double drift_factor = 1.3;       ///< a rank that computes this many times as long as expected has fallen behind
  std::int64_t drift_window = 20;  ///< steps over which that is measured
  std::string replan = "never";    ///< or "on-drift"
};

struct ProfileConfig {
  std::string file;  ///< a PROFILE.json instead of measuring; "": none
  bool cache = true;
  bool analytic = false;
  std::string like = "pptrain";    ///< the runtime that an analytic profile is of
  std::string attention = "auto";  ///< of it: fused, stored, or as that runtime has it
  bool sequence_parallel = false;  ///< whether members divide what they do not divide otherwise by positions
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
  std::map<std::string, std::string> places;  ///< `section.key` to `file:line` or `--set section.key`

  /// Whether this version can train the model of this name. One that it cannot train may still be planned from
  /// `[profile] file`, whose `model` it then has to be.
  bool can_train_model() const;
  /// Tokens of a sample; 1 of a classifier, by which samples are counted in place of tokens.
  std::int64_t rows_per_sample() const {
    return model.is_classifier() ? 1 : training.sequence_length + training.source_length.value_or(0);
  }
  /// The global batch as plans count it: each replica that divides the positions of a sample has a share of it, and a
  /// share is what a plan calls a sample.
  std::int64_t planned_batch_size() const { return training.global_batch_size * parallelism.context; }
  /// The place of a key for messages; the file alone when the key was not written.
  std::string where(const std::string& key) const;
};

}  // namespace pptrain
