#include "profile/kernel_constants.hpp"

namespace pptrain {

const KernelConstants& fitted_constants() {
  static const KernelConstants constants = {
#include "profile/fitted_constants.inc"
  };
  return constants;
}

double constant_of(const KernelConstants& constants, const std::string& name,
                   const std::string& of) {
  const auto own = constants.find(name + "." + of);
  return own != constants.end() ? own->second : constants.at(name + ".other");
}

}  // namespace pptrain
