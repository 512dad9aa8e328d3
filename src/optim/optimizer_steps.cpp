#include "optim/optimizer_steps.hpp"

#include "base/error.hpp"

namespace pptrain {

OptimizerSteps steps_of(OptimizerKind optimizer) {
  switch (optimizer) {
#define PPTRAIN_CASE(name) \
  case OptimizerKind::name: return optimizer_steps::name();
    PPTRAIN_FOR_EACH_OPTIMIZER(PPTRAIN_CASE)
#undef PPTRAIN_CASE
  }
  PPTRAIN_ASSERT(false, "no steps of optimizer {}", static_cast<int>(optimizer));
}

}  // namespace pptrain
