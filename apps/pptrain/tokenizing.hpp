#pragma once

#include "options.hpp"

namespace pptrain {

/// `pptrain tokenize`: writes the files and prints how many tokens they have, and what vocabulary a
/// model needs.
void run_tokenize(const Options& options);

}  // namespace pptrain
