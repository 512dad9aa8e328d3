#pragma once

#include <map>
#include <string>

namespace pptrain {

/// Numbers of the model of kernels that no data sheet has, by name; docs/profiles.md says what each
/// means and to which measurements they were fitted.
using KernelConstants = std::map<std::string, double>;

/// The constants that `./bootstrap.sh bench published --fit` found.
const KernelConstants& fitted_constants();

/// The constant of an architecture, "products.ampere", or of a runtime; of one that has none of its
/// own, that of "other".
double constant_of(const KernelConstants& constants, const std::string& name,
                   const std::string& of);

}  // namespace pptrain
