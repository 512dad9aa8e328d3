#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "model/description.hpp"
#include "model/model.hpp"

namespace pptrain {

/// The models that can be planned and not trained: their names in `[model] name`.
std::vector<std::string> zoo_names();

/// A model of the zoo; its name must be one of `zoo_names`.
ModelDescription zoo_model(const std::string& name, Precision precision);

/// A model that pptrain trains, with its names, parameters, FLOP and bytes.
ModelDescription describe(const Model& model, Precision precision);

/// The model of a configuration, trainable or not. Refuses (`Error`, exit code 2) dimensions that
/// are given for a model of the zoo, which has its own.
ModelDescription describe_model(const Config& config);

}  // namespace pptrain
