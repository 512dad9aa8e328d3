#pragma once

#include "planners/ask/restrictions.hpp"

namespace pptrain::test {

/// What a configuration says that sets no key of [parallelism].
inline Restrictions everything_free() {
  Restrictions free;
  free.recompute.reset();
  free.zero_stage.reset();
  free.virtual_stages.reset();
  free.zero_group.reset();
  free.offload.reset();
  free.offload_activations.reset();
  free.experts = Experts::chosen;
  return free;
}

}  // namespace pptrain::test
