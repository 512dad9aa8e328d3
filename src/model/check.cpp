#include "model/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "config/check.hpp"

namespace pptrain {
namespace {

std::string layers_text(const Model& model) {
  return fmt::format("{} has {}, embedding and output included", model.name, model.num_layers());
}

void check_degrees(const Config& config, const Model& model) {
  const AutoInt stages = config.parallelism.pipeline;
  if (stages && *stages > model.num_layers()) {
    throw_bad_input({config.where("parallelism.pipeline"),
                     fmt::format("pipeline = {} is more stages than the model has layers", *stages), layers_text(model),
                     fmt::format("use at most {} or \"auto\"", model.num_layers())});
  }
  const AutoInt shards = config.parallelism.tensor;
  const std::int64_t most = model.divided_units();
  if (shards && *shards > most) {
    throw_bad_input(
        {config.where("parallelism.tensor"),
         fmt::format("tensor = {} is more shards than each layer of {} can be divided into", *shards, model.name),
         fmt::format("its heads (where it has none columns or classes) are divided over a tensor-parallel group, where "
                     "blocks differ in groups that all have: {}",
                     most),
         fmt::format("use at most {} or \"auto\"", most)});
  }
}

void check_end_of_document(const Config& config, const Model& model) {
  const AutoInt end = config.data.end_of_document;
  if (!end || *end < model.sample.classes) return;
  throw_bad_input({config.where("data.end_of_document"), fmt::format("end_of_document = {} is no token", *end),
                   fmt::format("the vocabulary of {} admits 0 to {}", model.name, model.sample.classes - 1),
                   "give the token that the tokenizer puts behind a document"});
}

/// What is about text of which every token predicts the next.
void check_text_keys(const Config& config, const Model& model) {
  if (model.sample.predicts_next()) return;
  const std::string samples = fmt::format("the samples of a {} are in one HDF5 file, each by itself", model.name);
  if (!config.data.mix.empty()) {
    throw_bad_input({config.where("data.mix[0]"), "data.mix is for texts in which tokens predict the next one", samples,
                     "name the file in [data] train"});
  }
  if (config.data.attend_across_documents) return;
  throw_bad_input({config.where("data.attend_across_documents"), "attend_across_documents = false without documents",
                   samples, "leave the key out"});
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

/// What batch norms compute depends on how many samples are normalised together: nobody but the user chooses that.
void check_micro_batches(const Config& config, const Model& model) {
  const std::optional<std::int64_t> rows = fewest_rows(model);
  if (!rows) return;
  const AutoInt micro = config.training.micro_batch_size;
  const std::string place = config.where("training.micro_batch_size");
  if (!micro) {
    throw_bad_input({place, fmt::format("micro_batch_size = \"auto\" for a {}", model.name),
                     "its batch norms normalise over a micro-batch, whose size therefore changes every loss",
                     fmt::format("set it to the number of samples to normalise together: {} for the global batch, or a "
                                 "divisor of it for a pipeline",
                                 config.training.global_batch_size)});
  }
  if (*rows * *micro > 1) return;
  throw_bad_input({place, fmt::format("micro_batch_size = {} for a {}", *micro, model.name),
                   "one of its batch norms then has one value in each channel, whose variance is 0",
                   "use a micro_batch_size of 2 or more, or larger images"});
}

}  // namespace

void check_plan_batches(const Config& config, const Model& model, std::int64_t micro_batch_size,
                        const std::string& source) {
  const AutoInt micro = config.training.micro_batch_size;
  if (!model.normalises_batches() || micro == micro_batch_size) return;
  throw_bad_input({source, fmt::format("micro_batch_size = {}", micro_batch_size),
                   fmt::format("the batch norms of the {} normalise over a micro-batch, and the configuration has {}",
                               model.name, micro ? fmt::format("one of {}", *micro) : "none"),
                   "make both equal"});
}

void check_fits(const Config& config, const Model& model) {
  if (config.model.names_dimensions()) return;
  check_degrees(config, model);
  check_annotations(config, model.num_layers(), layers_text(model));
  check_end_of_document(config, model);
  check_text_keys(config, model);
  check_micro_batches(config, model);
}

Model build_model_of(const Config& config) {
  Model model = build_model(config.model, config.training, config.source);
  check_fits(config, model);
  return model;
}

}  // namespace pptrain
