#include "model/check.hpp"

#include <fmt/format.h>

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
         fmt::format("its heads are divided over a tensor-parallel group, where blocks differ in groups that "
                     "all have: {}",
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

void check_source_length(const Config& config, const Model& model) {
  if (!config.training.source_length || model.sample.has_source()) return;
  throw_bad_input({config.where("training.source_length"),
                   fmt::format("source_length = {} without a source", *config.training.source_length),
                   fmt::format("a {} has no encoder beside a decoder", model.name), "leave the key out"});
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

}  // namespace

void check_fits(const Config& config, const Model& model) {
  if (config.model.names_dimensions()) return;
  check_degrees(config, model);
  check_annotations(config, model.num_layers(), layers_text(model));
  check_end_of_document(config, model);
  check_text_keys(config, model);
  check_source_length(config, model);
}

Model build_model_of(const Config& config) {
  Model model = build_model(config.model, config.training, config.source);
  check_fits(config, model);
  return model;
}

}  // namespace pptrain
