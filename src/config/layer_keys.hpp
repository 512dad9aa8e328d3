#pragma once

#include "config/keys.hpp"

namespace pptrain {

/// Visits the keys of one `[[model.layer]]`: its kind, then those that a layer of this kind has.
void visit_layer(KeyVisitor& visitor, LayerConfig& layer);

}  // namespace pptrain
