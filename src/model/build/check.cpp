#include "model/build/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "config/check.hpp"
#include "model/build/check_samples.hpp"

namespace pptrain {
namespace {

std::string layers_text(const Model& model) {
  return fmt::format("{} has {}, embedding and output included", model.name, model.num_layers());
}

void check_degrees(const Config& config, const Model& model) {
  const AutoInt stages = config.parallelism.pipeline;
  if (stages && *stages > model.num_layers()) {
    throw_bad_input({config.where("parallelism.pipeline"),
                     fmt::format("pipeline = {} is more stages than the model has layers", *stages),
                     layers_text(model),
                     fmt::format("use at most {} or \"auto\"", model.num_layers())});
  }
  const AutoInt shards = config.parallelism.tensor;
  const std::int64_t most = model.most_members();
  if (shards && *shards > most) {
    throw_bad_input(
        {config.where("parallelism.tensor"),
         fmt::format("tensor = {} is more shards than each layer of {} can be divided into",
                     *shards, model.name),
         fmt::format("its heads (where it has none columns or classes) are divided over a "
                     "tensor-parallel group, where "
                     "blocks differ in groups that all have: {}",
                     most),
         fmt::format("use at most {} or \"auto\"", most)});
  }
}

void check_context(const Config& config, const Model& model) {
  const std::int64_t replicas = config.parallelism.context;
  if (replicas == 1) return;
  if (!model.sample.tokens()) {
    throw_bad_input(
        {config.where("parallelism.context"),
         fmt::format("context = {}, but the samples of {} are no tokens", replicas, model.name),
         "context parallelism divides the positions of texts", "leave the key out"});
  }
  // Each replica has two pieces, one from the front and one from the back, so that causal attention
  // costs all the same.
  const std::int64_t positions = config.training.sequence_length;
  if (positions % (2 * replicas) == 0) return;
  throw_bad_input({config.where("parallelism.context"),
                   fmt::format("context = {} with sequence_length = {}", replicas, positions),
                   fmt::format("each replica has two equal pieces of a sample, and {} positions "
                               "are not divisible by {}",
                               positions, 2 * replicas),
                   "use another number of replicas, or a sequence_length that is divisible"});
}

void check_expert(const Config& config, const Model& model) {
  const AutoInt members = config.parallelism.expert;
  const std::int64_t experts =
      model.axes.contains(ShardAxis::experts) ? model.axis_size(ShardAxis::experts) : 0;
  if (!members || *members <= experts) return;
  throw_bad_input(
      {config.where("parallelism.expert"),
       fmt::format(
           "expert = {}, but {} has {}", *members, model.name,
           experts == 0 ? "no experts" : fmt::format("{} experts in each such layer", experts)),
       "each of the replicas that divide them has one at least",
       experts < 2 ? "leave the key out" : fmt::format("use at most {} or \"auto\"", experts)});
}

/// Pixels of the smallest map that is normalised over a micro-batch; nothing: none is.
std::optional<std::int64_t> fewest_rows(const Model& model) {
  std::optional<std::int64_t> fewest;
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators.operators) {
      if (op.as<op::BatchNorm>() == nullptr) continue;
      const std::int64_t rows = layer.operators.values[op.inputs.front()].rows;
      fewest = std::min(fewest.value_or(rows), rows);
    }
  }
  return fewest;
}

/// Why losses depend on the size of a micro-batch; "": they do not.
std::string why_batches_count(const Config& config, const Model& model) {
  if (fewest_rows(model))
    return fmt::format("the batch norms of the {} normalise over a micro-batch", model.name);
  return config.training.router_aux_loss > 0.0
             ? "router_aux_loss balances experts over a micro-batch"
             : "";
}

/// Refuses a size of micro-batches that the planner would choose, where losses depend on it: the
/// user chooses it then.
void check_micro_batches(const Config& config, const Model& model) {
  const std::string why = why_batches_count(config, model);
  if (why.empty()) return;
  const AutoInt micro = config.training.micro_batch_size;
  const std::string place = config.where("training.micro_batch_size");
  if (!micro && !config.data.has_training_data())
    return;  // nothing is trained: any size may be planned
  if (!micro) {
    throw_bad_input(
        {place, fmt::format("micro_batch_size = \"auto\" for a {}", model.name),
         why + ", whose size therefore changes every loss",
         fmt::format(
             "set it to a number of samples: {} for the global batch, or a divisor of it for a "
             "pipeline",
             config.training.global_batch_size)});
  }
  const std::optional<std::int64_t> rows = fewest_rows(model);
  if (!rows || *rows * *micro > 1) return;
  throw_bad_input({place, fmt::format("micro_batch_size = {} for a {}", *micro, model.name),
                   "one of its batch norms then has one value in each channel, whose variance is 0",
                   "use a micro_batch_size of 2 or more, or larger images"});
}

void check_router_loss(const Config& config, const Model& model) {
  if (config.training.router_aux_loss == 0.0 || model.routes()) return;
  throw_bad_input(
      {config.where("training.router_aux_loss"),
       fmt::format("router_aux_loss = {} for a {}", config.training.router_aux_loss, model.name),
       "it is of models with experts", "leave the key out"});
}

/// Refuses a balance over all layers together where these differ in their experts: there is no mean
/// of their shares.
void check_model_balance(const Config& config, const Model& model) {
  if (!config.training.balances_model()) return;
  std::optional<ExpertForm> first;
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators.operators) {
      const auto* balance = op.as<op::ExpertBalance>();
      if (balance == nullptr) continue;
      const ExpertForm form = balance->form;
      if (!first) first = form;
      if (form.experts == first->experts && form.chosen == first->chosen) continue;
      throw_bad_input({config.where("training.router_aux_loss_over"),
                       fmt::format("router_aux_loss_over = \"model\" for a {}", model.name),
                       fmt::format("rows go to {} of {} experts in one of its layers and to {} of "
                                   "{} in another, of which "
                                   "no mean can be taken",
                                   first->chosen, first->experts, form.chosen, form.experts),
                       "use router_aux_loss_over = \"layer\""});
    }
  }
}

}  // namespace

bool sums_over_micro_batches(const Config& config, const Model& model) {
  return !why_batches_count(config, model).empty();
}

void check_plan_batches(const Config& config, const Model& model, std::int64_t micro_batch_size,
                        const std::string& source) {
  const std::string why = why_batches_count(config, model);
  const AutoInt micro = config.training.micro_batch_size;
  if (why.empty() || micro == micro_batch_size) return;
  throw_bad_input({source, fmt::format("micro_batch_size = {}", micro_batch_size),
                   fmt::format("{}, and the configuration has {}", why,
                               micro ? fmt::format("one of {}", *micro) : "none"),
                   "make both equal"});
}

void check_fits(const Config& config, const Model& model) {
  check_router_loss(config, model);
  check_model_balance(config, model);
  check_micro_batches(config, model);
  check_expert(config, model);
  check_context(config, model);
  if (config.model.names_dimensions()) return;
  check_degrees(config, model);
  check_annotations(config, model.num_layers(), layers_text(model));
  check_samples(config, model);
}

Model build_model_of(const Config& config) {
  Model model = build_model(config.model, config.training, config.source);
  check_fits(config, model);
  return model;
}

}  // namespace pptrain
