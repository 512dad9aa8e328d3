#pragma once

#include "model/model.hpp"
#include "program/ties.hpp"

namespace pptrain {

/// The tied parameters of a model; a number of a gradient takes `gradient_bytes`.
std::vector<Tie> ties_of(const Model& model, double gradient_bytes);

}  // namespace pptrain
