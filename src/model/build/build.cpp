#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "model/build/dropout.hpp"
#include "model/families/families.hpp"
#include "model/written/trainable.hpp"

namespace pptrain {
namespace {

/// The model that a config.json describes, from its text where that is at hand.
Model build_described(const ModelConfig& model, const TrainingConfig& training) {
  const ConfigJson config =
      model.description.empty()
          ? ConfigJson::read(model.from)
          : ConfigJson::parse(model.description,
                              model.published ? model.name : model.from + "/config.json");
  return build_family(config, {training.sequence_length, element_bytes(training.precision),
                               training.source_length.value_or(0), model.image_size});
}

Model build(const ModelConfig& model, const TrainingConfig& training, const std::string& source) {
  if (model.is_described()) return build_described(model, training);
  if (!model.layer.empty()) return build_own_network(model, training);
  if (model.is_classifier()) return build_mlp_classifier(model, training);
  if (model.name == "gpt2") return build_gpt2(model, training, source);
  throw_bad_input({source, fmt::format("[model] name = \"{}\" cannot be trained", model.name),
                   "this version trains " + join(trainable_models()),
                   "name its PROFILE.json in [profile] file to plan it"});
}

/// Every layer takes what the one before gives.
void check_boundaries(const Model& model) {
  PPTRAIN_ASSERT(!model.layers.front().input && !model.layers.back().output, "{} is no chain",
                 model.name);
  for (std::size_t l = 1; l < model.layers.size(); ++l) {
    PPTRAIN_ASSERT(model.layers[l].input && model.layers[l].input == model.layers[l - 1].output,
                   "{} takes other ports than {} gives", model.layers[l].name,
                   model.layers[l - 1].name);
  }
}

bool has(const Layer& layer, const std::string& name) {
  return std::any_of(layer.parameters.begin(), layer.parameters.end(),
                     [&](const ParameterSpec& parameter) { return parameter.name == name; });
}

/// Whether rows of a parameter are looked up.
bool is_table(const Layer& layer, std::size_t parameter) {
  const auto& operators = layer.operators.operators;
  return std::any_of(operators.begin(), operators.end(), [&](const Operator& op) {
    const bool looks_up =
        op.as<op::Embedding>() != nullptr || op.as<op::SelfAttention>() != nullptr;
    return looks_up &&
           std::find(op.parameters.begin(), op.parameters.end(), parameter) != op.parameters.end();
  });
}

/// Says of each parameter whether layers between the first and the last multiply by it, and no
/// others.
void mark_hidden(Model& model) {
  for (Layer& layer : model.layers) {
    for (std::size_t p = 0; p < layer.parameters.size(); ++p) {
      ParameterSpec& parameter = layer.parameters[p];
      parameter.hidden = !has(model.layers.front(), parameter.name) &&
                         !has(model.layers.back(), parameter.name) && !is_table(layer, p);
    }
  }
}

}  // namespace

Model build_model(const ModelConfig& config, const TrainingConfig& training,
                  const std::string& source) {
  Model model = build(config, training, source);
  if (config.published) model.name = config.name;
  if (training.dropout > 0.0)
    add_dropout(model, training.dropout, element_bytes(training.precision), source);
  check_boundaries(model);
  mark_hidden(model);
  return model;
}

}  // namespace pptrain
