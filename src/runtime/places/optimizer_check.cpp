#include "runtime/places/optimizer_check.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "model/optimizers/update_rule.hpp"

namespace pptrain {

void check_optimizer(const Config& config, const RankDevice& device) {
  ParameterSpec matrix;
  matrix.shape = {1, 1};
  matrix.hidden = true;
  if (device.names().empty() || !is_whole_update(update_rule(config.optimizer, matrix))) return;
  throw_bad_input({config.where("optimizer.name"),
                   fmt::format("name = \"{}\" where ranks compute with GPUs", config.optimizer.name()),
                   "its steps are computed on the host alone",
                   "use [job] device = \"host\", or one of adamw, sgd and lion"});
}

}  // namespace pptrain
