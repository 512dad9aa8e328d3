#include "runtime/router_check.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {

void check_routers(const Config& config, const Model& model, const RankDevice& device) {
  if (device.names().empty() || !model.routes()) return;
  throw_bad_input({config.where("model.from"), fmt::format("a {} where ranks compute with GPUs", model.name),
                   "rows go to experts on the host alone", "use [job] device = \"host\""});
}

}  // namespace pptrain
