#pragma once

#include <string>

#include "data/dataset.hpp"
#include "model/model.hpp"

namespace pptrain {

/// What tells data apart, cheaply: how many samples there are, and XXH3 of some of them, the last
/// one included.
std::string data_fingerprint(const Dataset& data, const Model& model);

}  // namespace pptrain
