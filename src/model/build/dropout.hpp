#pragma once

#include "model/model.hpp"

namespace pptrain {

/// Drops elements of what each branch of a layer adds to the stream, and of the stream behind the
/// first layer (Srivastava et al., "Dropout", 2014; where transformers have it: Vaswani et al.,
/// 2017, section 5.4).
///
/// `rate`: probability in (0, 1) that an element is dropped. `compute_bytes`: of a number in
/// products. `source`: place for messages. A model without sums of branches throws `Error`, exit
/// code 2.
void add_dropout(Model& model, double rate, double compute_bytes, const std::string& source);

}  // namespace pptrain
