#include "config/keys.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pptrain {
namespace {

// Larger counts are typing errors, and products of two of them still fit 64 bits.
constexpr double max_count = 2147483647.0;

Range at_least(double least, const std::string& reason = "") { return {least, max_count, false, false, reason}; }
Range between(double least, double most, const std::string& reason = "") { return {least, most, false, false, reason}; }
Range positive(const std::string& reason = "") { return {.least = 0.0, .least_open = true, .reason = reason}; }
Range not_negative(const std::string& reason = "") { return {.least = 0.0, .reason = reason}; }
Range above_one(const std::string& reason) { return {.least = 1.0, .least_open = true, .reason = reason}; }
Range below_one(const std::string& reason) { return {0.0, 1.0, false, true, reason}; }

void visit(KeyVisitor& v, JobConfig& job) {
  v.text("name", job.name);
  v.text("output", job.output);
  v.integer("seed", job.seed, {.least = 0, .most = 9007199254740992.0});
  v.seconds("timeout", job.timeout, positive("a peer needs some time to answer"));
  v.seconds("time_limit", job.time_limit, not_negative());
  v.name("device", job.device, {"auto", "host", "gpu"});
  v.name("gpu_transport", job.gpu_transport, {"auto", "nccl", "mpi"});
  v.flag("cuda_graphs", job.cuda_graphs);
}

void visit(KeyVisitor& v, Annotation& annotation) {
  v.interval("layers", annotation.layers);
  v.name("primitive", annotation.primitive, {"replicate", "split"});
  v.integer("devices", annotation.devices, at_least(0));
}

void visit(KeyVisitor& v, ModelConfig& model) {
  v.text("name", model.name);
  v.integer("layers", model.layers, at_least(1));
  v.integer("hidden_size", model.hidden_size, at_least(1));
  if (model.is_classifier()) {
    v.integer("input_size", model.input_size, between(1, 1048576));
    v.integer("classes", model.classes, between(2, 100000));
  } else {
    v.integer("heads", model.heads, at_least(1));
    v.integer("vocabulary_size", model.vocabulary_size, between(1, 65536, "tokens are stored in 16 bits"));
    v.flag("tied", model.tied);
  }
  v.input_path("initial_parameters", model.initial_parameters, "");
  model.annotate.resize(v.elements("annotate", model.annotate.size()));
  for (std::size_t i = 0; i < model.annotate.size(); ++i) {
    v.begin_element("annotate", i);
    visit(v, model.annotate[i]);
    v.end_element();
  }
}

void visit(KeyVisitor& v, DataConfig& data, const ModelConfig& model) {
  const std::string keyword = model.is_classifier() ? synthetic_data : "";
  v.input_paths("train", data.train, keyword);
  v.input_paths("validation", data.validation, keyword);
  v.flag("shuffle", data.shuffle);
}

Precision precision_of(const std::string& name) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    if (name == to_string(precision)) return precision;
  }
  return Precision::fp32;
}

void visit(KeyVisitor& v, TrainingConfig& training, const ModelConfig& model) {
  v.integer("steps", training.steps, at_least(1));
  if (!model.is_classifier()) v.integer("sequence_length", training.sequence_length, at_least(1));
  v.integer("global_batch_size", training.global_batch_size, at_least(1));
  v.integer_or_auto("micro_batch_size", training.micro_batch_size, at_least(1));
  std::string precision = to_string(training.precision);
  v.name("precision", precision, {"fp32", "bf16", "fp16"});
  training.precision = precision_of(precision);
  v.number_or("loss_scale", training.loss_scale, "dynamic", between(1.0, 16777216.0));
  std::string gradients = to_string(training.gradient_precision);
  v.name("gradient_precision", gradients, {"fp32", "bf16"});
  training.gradient_precision = gradients == "bf16" ? GradientPrecision::bf16 : GradientPrecision::fp32;
}

void visit(KeyVisitor& v, OptimizerConfig& optimizer) {
  v.name("name", optimizer.name, {"adamw", "sgd"});
  v.number("learning_rate", optimizer.learning_rate, positive("nothing is learned otherwise"));
  v.number("beta1", optimizer.beta1, below_one("it is the weight of the past in a running mean"));
  v.number("beta2", optimizer.beta2, below_one("it is the weight of the past in a running mean"));
  v.number("epsilon", optimizer.epsilon, positive("it keeps a division finite"));
  v.number("weight_decay", optimizer.weight_decay, not_negative());
  v.number("gradient_clip", optimizer.gradient_clip, not_negative("it is a norm, 0 for no clipping"));
}

void visit(KeyVisitor& v, LrSchedulerConfig& scheduler) {
  v.name("name", scheduler.name, {"constant", "cosine", "linear"});
  v.integer("warmup_steps", scheduler.warmup_steps, at_least(0));
  v.number("minimum", scheduler.minimum, not_negative());
}

void visit(KeyVisitor& v, ParallelismConfig& parallelism) {
  v.integer_or_auto("data", parallelism.data, at_least(1));
  v.integer_or_auto("pipeline", parallelism.pipeline, at_least(1));
  v.integer_or_auto("tensor", parallelism.tensor, at_least(1));
  v.name(
      "schedule", parallelism.schedule,
      {"auto", "gpipe", "1f1b", "dapple-b", "interleaved-1f1b", "breadth-first", "zb-h1", "zb-h2", "zb-v", "zeropp"});
  v.integer_or_auto("virtual_stages", parallelism.virtual_stages, at_least(1));
  v.integer("unit", parallelism.unit, at_least(0));
  v.name("recompute", parallelism.recompute, {"none", "selective", "full", "auto"});
  v.integer_or_auto("zero_stage", parallelism.zero_stage, between(0, 3));
  v.name("zero_group", parallelism.zero_group, {"replicas", "node"});
  v.flag("offload", parallelism.offload);
  v.input_path("plan", parallelism.plan, "");
}

void visit(KeyVisitor& v, PlannerConfig& planner) {
  v.name("name", planner.name,
         {"auto", "amp", "amp-sa", "megatron", "data-parallel", "dapple", "pipedream", "whale", "alpa",
          "amp-uniform-layers", "amp-uniform-parameters", "random", "exhaustive", "all"});
  v.seconds("time_limit", planner.time_limit, positive("a search needs some time"));
  v.integer("trials", planner.trials, at_least(0));
  v.integer("trial_steps", planner.trial_steps, at_least(1));
  v.number("drift_factor", planner.drift_factor, above_one("it is a slowdown"));
  v.integer("drift_window", planner.drift_window, at_least(1));
  v.name("replan", planner.replan, {"never", "on-drift"});
}

void visit(KeyVisitor& v, ClusterConfig& cluster) { v.input_path("file", cluster.file, "discover"); }

void visit(KeyVisitor& v, ProfileConfig& profile) {
  v.input_path("file", profile.file, "");
  v.flag("cache", profile.cache);
  v.flag("analytic", profile.analytic);
}

void visit(KeyVisitor& v, CheckpointConfig& checkpoint) {
  v.integer("interval", checkpoint.interval, at_least(0));
  v.integer("keep", checkpoint.keep, at_least(1));
}

void visit(KeyVisitor& v, MetricsConfig& metrics) {
  v.integer("interval", metrics.interval, at_least(1));
  v.integer("evaluation_interval", metrics.evaluation_interval, at_least(0));
  v.flag("trace", metrics.trace);
}

template <class Section, class... More>
void visit_section(KeyVisitor& v, const std::string& name, Section& section, const More&... more) {
  v.begin_section(name);
  visit(v, section, more...);
  v.end_section();
}

}  // namespace

bool Range::contains(double value) const {
  const bool low = least_open ? value <= least : value < least;
  const bool high = most_open ? value >= most : value > most;
  return std::isfinite(value) && !low && !high;
}

std::string Range::describe() const {
  const std::string low = fmt::format("{} {:.16g}", least_open ? "more than" : "at least", least);
  const std::string high = fmt::format("{} {:.16g}", most_open ? "less than" : "at most", most);
  if (!std::isfinite(most) || most >= max_count) return low;
  return std::isfinite(least) ? low + " and " + high : high;
}

void visit_keys(KeyVisitor& visitor, Config& config) {
  visit_section(visitor, "job", config.job);
  visit_section(visitor, "model", config.model);
  visit_section(visitor, "data", config.data, config.model);
  visit_section(visitor, "training", config.training, config.model);
  visit_section(visitor, "optimizer", config.optimizer);
  visit_section(visitor, "lr_scheduler", config.lr_scheduler);
  visit_section(visitor, "parallelism", config.parallelism);
  visit_section(visitor, "cluster", config.cluster);
  visit_section(visitor, "planner", config.planner);
  visit_section(visitor, "profile", config.profile);
  visit_section(visitor, "checkpoint", config.checkpoint);
  visit_section(visitor, "metrics", config.metrics);
}

}  // namespace pptrain
