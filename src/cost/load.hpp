#pragma once

#include <cstdint>
#include <vector>

namespace pptrain {

/// A device that takes a share of a TaskGraph's load (Whale 3.3.1): samples of a micro-batch under
/// `replicate`, heads or columns under `split`. It needs fixed_bytes + units * bytes_per_unit.
struct LoadDevice {
  double flop_per_second = 1.0;  ///< DF_i; only the ratios count, so any measure of speed will do
  double memory = 0.0;           ///< DM_i in bytes
  double fixed_bytes = 0.0;      ///< whatever its share: the weights of a replica, the workspace
  double bytes_per_unit = 0.0;   ///< of TG_mem, per unit of load

  double need(std::int64_t units) const { return fixed_bytes + static_cast<double>(units) * bytes_per_unit; }
};

/// L_i of Whale's Eq. 1 without the memory bound: DF_i / sum DF, the load that keeps all equally busy.
std::vector<double> whale_load_ratios(const std::vector<LoadDevice>& devices);

/// The waste that Eq. 1 minimises: sum |L_i - DF_i / sum DF| with L_i = units_i / sum of units.
double whale_load_waste(const std::vector<LoadDevice>& devices, const std::vector<std::int64_t>& units);

/// How a load is divided.
struct LoadShares {
  std::vector<std::int64_t> units;  ///< of each device; they add up to the load
  bool fits = true;                 ///< false: some device needs more than it has, whatever is shifted
};

/// Whale's Algorithm 1 in whole units, each device at least `minimum` of them (units >= devices x
/// minimum): shares by FLOP that minimise Eq. 1, then unit after unit from the overloaded device with
/// the highest memory utilisation to the free one with the least FLOP utilisation (then the least
/// memory utilisation), until no device is overloaded or none is free. A device stays overloaded
/// until it fits (the paper's listing takes it off the list after one shift).
LoadShares whale_load_shares(const std::vector<LoadDevice>& devices, std::int64_t units, std::int64_t minimum = 1);

}  // namespace pptrain
