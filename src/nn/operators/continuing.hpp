#pragma once

#include "nn/operator_module.hpp"

namespace pptrain {

/// The place in their text that the rows of a forward pass have.
struct TextPlace {
  std::size_t first = 0;     ///< place of the first row: as many tokens have gone before
  std::size_t capacity = 0;  ///< tokens that a text may have
};

/// The module of an operator whose rows continue one text: it reads keys, values and angles by
/// `where`, which outlives it and is set before each pass, and has a forward pass alone.
std::unique_ptr<OperatorModule> make_continuing(OperatorPlace place, const TextPlace& where);

}  // namespace pptrain
