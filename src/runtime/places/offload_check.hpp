#pragma once

#include <string>

#include "config/config.hpp"
#include "plan/plan.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/places/rank_device.hpp"

namespace pptrain {

/// Refuses (`Error`, exit code 2) to offload where there is nothing to offload to, a rank that
/// computes on the host: its memory is the host's already. The device of an emulated cluster has
/// memory of its own. All ranks decide alike.
///
/// The key, where no rank has another memory.
void check_offload(const Config& config, const Machine& machine, const RankDevice& device);
/// The configuration, where "auto" of its keys to offload is false if a rank computes on the host.
Config with_offload_decided(Config config, const Machine& machine, const RankDevice& device);
/// A plan; `source` is the place of its stages.
void check_offload(const Plan& plan, const std::string& source, const Machine& machine,
                   const RankDevice& device);

}  // namespace pptrain
