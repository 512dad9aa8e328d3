#include "config/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "config/check_chain.hpp"
#include "config/published_models.hpp"

namespace pptrain {
namespace {

/// The divisors of `number` next to `wanted`, as a suggestion: `use 4 or 8`.
std::string nearest_divisors(std::int64_t number, std::int64_t wanted) {
  std::int64_t below = 1;
  std::int64_t above = number;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    for (const std::int64_t divisor : {d, number / d}) {
      if (divisor <= wanted) below = std::max(below, divisor);
      if (divisor >= wanted) above = std::min(above, divisor);
    }
  }
  return below == above || wanted > number ? fmt::format("use {}", below)
                                           : fmt::format("use {} or {}", below, above);
}

void check_job(const Config& config) {
  const std::string& name = config.job.name;
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of("/\n") != std::string::npos) {
    throw_bad_input(
        {config.where("job.name"), fmt::format("job.name = \"{}\" cannot name a folder", name),
         "run directories are OUTPUT/NAME/START-TIME", "use letters, digits and hyphens"});
  }
  if (config.job.output.empty()) {
    throw_bad_input({config.where("job.output"), "job.output is empty",
                     "run directories go below it", "write output = \"outputs\""});
  }
}

void check_model(const Config& config) {
  const ModelConfig& model = config.model;
  if (model.published) return;
  if (!model.layer.empty()) return check_chain(config);
  if (!model.from.empty()) return;
  if (!model.is_classifier() && model.hidden_size % model.heads != 0) {
    throw_bad_input(
        {config.where("model.heads"),
         fmt::format("heads = {} does not divide hidden_size = {}", model.heads, model.hidden_size),
         "every head gets hidden_size / heads columns",
         nearest_divisors(model.hidden_size, model.heads) + " heads"});
  }
}

void check_model_name(const Config& config) {
  if (config.can_train_model()) return;
  const std::string& name = config.model.name;
  std::vector<std::string> known = trainable_models();
  for (const PublishedModel& model : published_models()) known.push_back(model.name);
  const std::string command =
      fmt::format("`pptrain plan {} --cluster CLUSTER.toml`", config.source);
  if (!config.profile.file.empty()) {
    throw_bad_input({config.where("model.name"),
                     fmt::format("name = \"{}\" cannot be trained", name),
                     "nothing but the profile describes it, so that this is a planning job",
                     "plan it: " + command});
  }
  throw_bad_input(
      {config.where("model.name"), fmt::format("model.name = \"{}\" is not known", name),
       "known are " + join(known) + "; other models are planned from a profile",
       did_you_mean(name, known, "use one of these, or name a PROFILE.json in [profile] file")});
}

void check_batches(const Config& config) {
  const std::int64_t global = config.training.global_batch_size;
  const AutoInt micro = config.training.micro_batch_size;
  if (micro && global % *micro != 0) {
    throw_bad_input({config.where("training.micro_batch_size"),
                     fmt::format("micro_batch_size = {} does not divide global_batch_size = {}",
                                 *micro, global),
                     "a step is a whole number of micro-batches",
                     nearest_divisors(global, *micro) + ", or \"auto\""});
  }
  const std::int64_t samples = micro.value_or(global);
  const AutoInt replicas = config.parallelism.data;
  if (replicas && *replicas > samples) {
    throw_bad_input({config.where("parallelism.data"),
                     fmt::format("data = {} replicas share {} = {} samples", *replicas,
                                 micro ? "micro_batch_size" : "global_batch_size", samples),
                     "every replica computes at least one sample of each micro-batch",
                     fmt::format("use at most {} replicas or a larger batch", samples)});
  }
}

void check_grid(const Config& config) {
  const ModelConfig& model = config.model;
  if (!model.names_dimensions())
    return;  // check_fits compares them with the model that has been made
  const AutoInt stages = config.parallelism.pipeline;
  if (stages && *stages > model.num_layers()) {
    throw_bad_input({config.where("parallelism.pipeline"),
                     fmt::format("pipeline = {} is more stages than the model has layers", *stages),
                     model.layers_text(),
                     fmt::format("use at most {} or \"auto\"", model.num_layers())});
  }
  const AutoInt shards = config.parallelism.tensor;
  if (shards && model.is_classifier() && *shards > std::min(model.hidden_size, model.input_size)) {
    throw_bad_input(
        {config.where("parallelism.tensor"),
         fmt::format("tensor = {} is more shards than the model has columns", *shards),
         "hidden_size and input_size are divided over a tensor-parallel group",
         fmt::format("use at most {} or \"auto\"", std::min(model.hidden_size, model.input_size))});
  }
  if (shards && !model.is_classifier() && *shards > model.heads) {
    throw_bad_input(
        {config.where("parallelism.tensor"),
         fmt::format("tensor = {} is more shards than the model has heads", *shards),
         fmt::format("heads = {} are divided over a tensor-parallel group", model.heads),
         fmt::format("use at most {} or \"auto\"", model.heads)});
  }
}

void check_zero(const Config& config) {
  const ParallelismConfig& parallelism = config.parallelism;
  if (parallelism.zero_group != ZeroGroup::node || parallelism.zero_stage != AutoInt(0)) return;
  throw_bad_input({config.where("parallelism.zero_group"),
                   "zero_group = \"node\" with zero_stage = 0", "stage 0 divides nothing",
                   "use zero_stage = 1, 2, 3 or \"auto\", or leave zero_group"});
}

void check_context(const Config& config) {
  const ParallelismConfig& parallelism = config.parallelism;
  if (parallelism.context == 1 || parallelism.like != ParallelismConfig().like) return;
  throw_bad_input(
      {config.where("parallelism.context"), fmt::format("context = {}", parallelism.context),
       "pptrain does not divide the positions of a sample between replicas; other trainers do",
       "plan for one of them: --like megatron or torchtitan"});
}

void check_loss_scale(const Config& config) {
  const TrainingConfig& training = config.training;
  if (training.precision == Precision::fp16 || training.loss_scale.value_or(1.0) == 1.0) return;
  throw_bad_input({config.where("training.loss_scale"),
                   fmt::format("loss_scale = {} with precision = \"{}\"", *training.loss_scale,
                               to_string(training.precision)),
                   "only fp16 loses small gradients, so only there the loss is scaled",
                   "leave loss_scale out, or use precision = \"fp16\""});
}

void check_mix(const Config& config) {
  const DataConfig& data = config.data;
  if (data.mix.empty()) return;
  const std::string place = config.where("data.mix[0]");
  if (config.model.is_classifier()) {
    throw_bad_input({place, "data.mix is for transformers",
                     "the samples of a classifier are in one file", "name it in [data] train"});
  }
  if (!data.train.empty()) {
    throw_bad_input({place, "data.mix contradicts data.train", "samples come from one of them",
                     "make the files of train an element of mix, or leave one of them out"});
  }
  for (std::size_t i = 0; i < data.mix.size(); ++i) {
    if (!data.mix[i].path.empty()) continue;
    throw_bad_input({config.where(fmt::format("data.mix[{}]", i)),
                     fmt::format("element {} of data.mix names no file", i),
                     "samples are taken from there", "write path = \"FILE\""});
  }
}

void check_documents(const Config& config) {
  const AutoInt end = config.data.end_of_document;
  if (config.model.is_classifier() || !end || *end < config.model.vocabulary_size) return;
  if (config.model.is_described())
    return;  // check_fits does this when the folder has said how many tokens there are
  throw_bad_input({config.where("data.end_of_document"),
                   fmt::format("end_of_document = {} is no token", *end),
                   fmt::format("vocabulary_size = {} admits 0 to {}", config.model.vocabulary_size,
                               config.model.vocabulary_size - 1),
                   "give the token that the tokenizer puts behind a document"});
}

void check_schedule(const Config& config) {
  const LrSchedulerConfig& scheduler = config.lr_scheduler;
  if (scheduler.kind == LrSchedule::step && scheduler.step_interval == 0) {
    throw_bad_input({config.where("lr_scheduler.step_interval"),
                     "name = \"step\" without step_interval",
                     "it says how often the learning rate is lowered",
                     "set step_interval to a number of steps"});
  }
  if (scheduler.kind != LrSchedule::wsd) return;
  if (scheduler.decay_steps == 0) {
    throw_bad_input(
        {config.where("lr_scheduler.decay_steps"), "name = \"wsd\" without decay_steps",
         "it says when the learning rate begins to fall",
         fmt::format("set decay_steps to some of the {} steps", config.training.steps)});
  }
  const std::int64_t room = config.training.steps - scheduler.warmup_steps;
  if (scheduler.decay_steps > room) {
    throw_bad_input({config.where("lr_scheduler.decay_steps"),
                     fmt::format("decay_steps = {} is longer than what the warm-up leaves",
                                 scheduler.decay_steps),
                     fmt::format("steps = {} with warmup_steps = {} leave {}",
                                 config.training.steps, scheduler.warmup_steps, room),
                     "lower decay_steps or warmup_steps, or raise [training] steps"});
  }
}

void check_training(const Config& config) {
  check_loss_scale(config);
  const double rate = config.optimizer.learning_rate;
  if (config.lr_scheduler.kind != LrSchedule::constant && config.lr_scheduler.minimum > rate) {
    throw_bad_input(
        {config.where("lr_scheduler.minimum"),
         fmt::format("minimum = {} is above learning_rate = {}", config.lr_scheduler.minimum, rate),
         "the schedule falls from learning_rate to minimum", "lower minimum"});
  }
  check_schedule(config);
  if (config.optimizer.nesterov && config.optimizer.momentum == 0.0) {
    throw_bad_input({config.where("optimizer.nesterov"), "nesterov = true without momentum",
                     "Nesterov's step goes on by the momentum",
                     "set momentum = 0.9, or leave nesterov"});
  }
  if (config.metrics.evaluation_interval > 0 && config.data.validation.empty()) {
    throw_bad_input({config.where("metrics.evaluation_interval"),
                     "evaluation is asked for without held-back data", "data.validation is empty",
                     "name a file there, or set evaluation_interval = 0"});
  }
}

/// Replicas that send rows have a device each, and groups of so many of them divide those of a
/// stage.
void check_expert_groups(const Config& config) {
  const ParallelismConfig& parallelism = config.parallelism;
  const std::int64_t expert = *parallelism.expert;
  if (parallelism.tensor.value_or(1) > 1) {
    throw_bad_input(
        {config.where("parallelism.expert"),
         fmt::format("expert = {} with tensor = {}", expert, *parallelism.tensor),
         "replicas that send rows to one another have one device each",
         "use tensor = 1, or leave the key out and divide the experts within a group by experts = "
         "\"whole\""});
  }
  if (!parallelism.data || *parallelism.data % expert == 0) return;
  throw_bad_input({config.where("parallelism.expert"),
                   fmt::format("expert = {} does not divide data = {}", expert, *parallelism.data),
                   "groups of so many replicas divide the experts",
                   nearest_divisors(*parallelism.data, expert)});
}

void check_expert(const Config& config) {
  const ParallelismConfig& parallelism = config.parallelism;
  if (!parallelism.expert) return;
  if (parallelism.experts == Experts::sent || parallelism.experts == Experts::chosen)
    return check_expert_groups(config);
  throw_bad_input({config.where("parallelism.expert"),
                   fmt::format("expert = {} with experts = \"{}\"", *parallelism.expert,
                               experts_names().name_of(parallelism.experts)),
                   "replicas divide experts where they send rows to one another",
                   "add experts = \"all-to-all\""});
}

}  // namespace

void check_annotations(const Config& config, std::int64_t num_layers,
                       const std::string& layers_text) {
  for (const Annotation& annotation : config.model.annotate) {
    const Interval layers = annotation.layers;
    if (0 <= layers.begin && layers.begin < layers.end && layers.end <= num_layers) continue;
    throw_bad_input(
        {config.where("model.annotate"),
         fmt::format("layers = [{}, {}] are not layers of the model", layers.begin, layers.end),
         layers_text, "give the first layer and the one behind the last"});
  }
}

void check_trainable(const Config& config) {
  const ModelConfig& model = config.model;
  check_model_name(config);
  if (model.names_dimensions()) check_annotations(config, model.num_layers(), model.layers_text());
  check_grid(config);
}

void check_config(const Config& config) {
  check_job(config);
  check_model(config);
  check_batches(config);
  if (config.profile.file.empty()) check_trainable(config);
  check_zero(config);
  check_context(config);
  check_mix(config);
  check_documents(config);
  check_training(config);
  check_expert(config);
}

}  // namespace pptrain
