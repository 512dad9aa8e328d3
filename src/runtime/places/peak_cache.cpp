#include "runtime/places/peak_cache.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/places/user_cache.hpp"

namespace pptrain {
namespace {

constexpr const char* schema = "pptrain.peak_rates/2";
constexpr const char* earlier_schema = "pptrain.peak_rates/1";  // without memory

/// Nothing where the file is not there, is of an earlier version, or cannot be used, which a
/// warning says.
std::optional<PeakRates> read_rates(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    const nlohmann::json document = nlohmann::json::parse(file);
    if (document.at("schema") == earlier_schema) return std::nullopt;
    if (document.at("schema") != schema || document.at("processor") != key)
      throw std::runtime_error("of something else");
    PeakRates rates = {document.at("flop_per_second").get<std::map<std::string, double>>(),
                       document.at("bytes_per_second").get<double>()};
    for (const char* precision : {"fp32", "bf16", "fp16"}) {
      if (!(rates.flops.at(precision) > 0.0)) throw std::runtime_error("no rate");
    }
    if (!(rates.memory_bandwidth > 0.0)) throw std::runtime_error("no bandwidth");
    return rates;
  } catch (const std::exception&) {
    log_warning("{}: the peak rates kept there cannot be read; they are measured anew", path);
    return std::nullopt;
  }
}

}  // namespace

PeakRates kept_peak_rates(const std::string& path, const std::string& key,
                          const FindPeakRates& measure) {
  if (path.empty()) return measure();
  if (std::optional<PeakRates> kept = read_rates(path, key)) return *kept;
  const PeakRates rates = measure();
  const nlohmann::json document = {{"schema", schema},
                                   {"processor", key},
                                   {"flop_per_second", rates.flops},
                                   {"bytes_per_second", rates.memory_bandwidth}};
  write_cache(path, document.dump(1) + "\n");
  return rates;
}

PeakRates kept_peak_rates() {
  const std::string key = peak_rates_key();
  const std::string name = fmt::format("peak-rates-{:016x}.json", XXH64(key.data(), key.size(), 0));
  return kept_peak_rates((user_cache_folder() / name).string(), key, measure_peak_rates);
}

}  // namespace pptrain
