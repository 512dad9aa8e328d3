#include "runtime/places/offload_check.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& key, const std::string& who) {
  throw_bad_input(
      {place, fmt::format("{} = true, but {} on the host", key, who),
       "the memory of such a device is the host's already, so there is nothing to offload to",
       fmt::format("use {} = false, or [job] device = \"gpu\" where there are GPUs", key)});
}

const char* offload_key(const Stage& stage) {
  return stage.offload ? "offload" : "offload_activations";
}

}  // namespace

void check_offload(const Config& config, const Machine& machine, const RankDevice& device) {
  if (machine.cluster.emulate != Emulate::no || !device.names().empty()) return;
  const ParallelismConfig& asked = config.parallelism;
  if (asked.offload.value_or(false))
    refuse(config.where("parallelism.offload"), "offload", "all ranks compute");
  if (asked.offload_activations.value_or(false)) {
    refuse(config.where("parallelism.offload_activations"), "offload_activations",
           "all ranks compute");
  }
}

Config with_offload_decided(Config config, const Machine& machine, const RankDevice& device) {
  if (machine.cluster.emulate != Emulate::no) return config;
  bool any_host = false;
  for (int rank = 0; rank < machine.cluster.num_devices(); ++rank)
    any_host = any_host || device.is_host(RankId(rank));
  if (!any_host) return config;
  AutoFlag& states = config.parallelism.offload;
  AutoFlag& activations = config.parallelism.offload_activations;
  states = states.value_or(false);
  activations = activations.value_or(false);
  return config;
}

void check_offload(const Plan& plan, const std::string& source, const Machine& machine,
                   const RankDevice& device) {
  if (machine.cluster.emulate != Emulate::no) return;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    if (!stage.offloads()) continue;
    const std::string place = fmt::format("{}: stages[{}].{}", source, s, offload_key(stage));
    for (const auto& row : stage.devices) {
      for (const DeviceId id : row) {
        const RankId rank = machine.map.rank_of(id);
        if (device.is_host(rank))
          refuse(place, offload_key(stage), fmt::format("rank {} computes", rank.value));
      }
    }
  }
}

}  // namespace pptrain
