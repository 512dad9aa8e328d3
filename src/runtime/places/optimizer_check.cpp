#include "runtime/places/optimizer_check.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/names.hpp"
#include "model/optimizers/update_rule.hpp"

namespace pptrain {

void check_optimizer(const Config& config, const RankDevice& device) {
  ParameterSpec matrix;
  matrix.shape = {1, 1};
  matrix.hidden = true;
  const auto needs_host = [&matrix](const OptimizerConfig& optimizer) {
    return is_whole_update(update_rule(optimizer, matrix));
  };
  if (device.names().empty() || !needs_host(config.optimizer)) return;
  std::vector<std::string> others;
  for (const std::string& name : optimizer_names().names()) {
    OptimizerConfig other;
    other.kind = *optimizer_names().find(name);
    if (!needs_host(other)) others.push_back(name);
  }
  throw_bad_input(
      {config.where("optimizer.name"),
       fmt::format("name = \"{}\" where ranks compute with GPUs", config.optimizer.name()),
       "its steps are computed on the host alone",
       "use [job] device = \"host\", or one of " + join(others)});
}

}  // namespace pptrain
