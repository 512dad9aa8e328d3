#include <fmt/format.h>

#include "base/error.hpp"
#include "base/names.hpp"
#include "model/description.hpp"
#include "model/families/families.hpp"
#include "model/trainable.hpp"

namespace pptrain {
namespace {

/// The model that a folder describes, from the text of its config.json where that is at hand.
Model build_from_folder(const ModelConfig& model, const TrainingConfig& training) {
  const ConfigJson config = model.description.empty()
                                ? ConfigJson::read(model.from)
                                : ConfigJson::parse(model.description, model.from + "/config.json");
  return build_family(config, {training.sequence_length, element_bytes(training.precision), model.image_size});
}

Model build(const ModelConfig& model, const TrainingConfig& training, const std::string& source) {
  if (!model.from.empty()) return build_from_folder(model, training);
  if (!model.layer.empty()) return build_own_network(model, training);
  if (model.is_classifier()) return build_mlp_classifier(model, training);
  if (model.name == "gpt2") return build_gpt2(model, training, source);
  throw_bad_input({source, fmt::format("[model] name = \"{}\" cannot be trained", model.name),
                   "this version trains " + join(trainable_models()), "plan it with `pptrain plan --analytic`"});
}

/// Every layer takes what the one before gives.
void check_boundaries(const Model& model) {
  PPTRAIN_ASSERT(!model.layers.front().input && !model.layers.back().output, "{} is no chain", model.name);
  for (std::size_t l = 1; l < model.layers.size(); ++l) {
    PPTRAIN_ASSERT(model.layers[l].input && model.layers[l].input == model.layers[l - 1].output,
                   "{} takes other ports than {} gives", model.layers[l].name, model.layers[l - 1].name);
  }
}

/// Says of each parameter whether its layer is between the first and the last.
void mark_hidden(Model& model) {
  for (Layer& layer : model.layers) {
    const bool hidden = &layer != &model.layers.front() && &layer != &model.layers.back();
    for (ParameterSpec& parameter : layer.parameters) parameter.hidden = hidden;
  }
}

}  // namespace

Model build_model(const ModelConfig& config, const TrainingConfig& training, const std::string& source) {
  Model model = build(config, training, source);
  check_boundaries(model);
  mark_hidden(model);
  return model;
}

}  // namespace pptrain
