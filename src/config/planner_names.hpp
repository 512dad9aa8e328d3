#pragma once

#include <string>
#include <vector>

/// Writes `one(IDENTIFIER, "name")` for each planner that searches a space of its own, in the order
/// of messages. A new one is a line here, and a file below src/planners/published that defines
/// `make_IDENTIFIER_planner` (planners/published/published.hpp). Planner `auto` asks it too, unless
/// its `is_asked_by_auto` says no.
#define PPTRAIN_FOR_EACH_PLANNER(one)                                                       \
  one(amp, "amp") one(annealing, "amp-sa") one(megatron, "megatron")                        \
      one(data_parallel, "data-parallel") one(dapple, "dapple") one(pipedream, "pipedream") \
          one(whale, "whale") one(alpa, "alpa") one(uniform_layers, "amp-uniform-layers")   \
              one(uniform_parameters, "amp-uniform-parameters") one(random, "random")       \
                  one(exhaustive, "exhaustive")

namespace pptrain {

/// What `[planner] name` may be: "auto", "uniform", the planners above, "all".
const std::vector<std::string>& planner_names();

}  // namespace pptrain
