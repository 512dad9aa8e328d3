#include "converting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "cluster/device_catalogue.hpp"
#include "config/read.hpp"
#include "model/model.hpp"
#include "model_job.hpp"
#include "output.hpp"
#include "planning.hpp"
#include "profile/foreign/convert.hpp"

namespace pptrain {
namespace {

constexpr const char* from_option = "command line: --from";
constexpr const char* device_option = "command line: --device";

void check_options(const Options& options) {
  if (options.analytic || !options.cluster.empty()) {
    throw_bad_input(
        {from_option,
         fmt::format("{} is given beside it", options.analytic ? "--analytic" : "--cluster"),
         "the times are those of the files, whatever cluster is planned for",
         "leave one of them out"});
  }
  if (options.from.second.empty()) {
    throw_bad_input({from_option, "it names no path", "", "write --from PLANNER PATH"});
  }
  check_delivery(options.output);
}

/// The name that a device has in clusters: that of the catalogue where it is known there.
std::string usual_kind(const std::string& device) {
  const CatalogueDevice* known = catalogue_device(device);
  return known == nullptr ? plain_name(device) : known->name;
}

/// Takes one `--device`: `THEIRS=NAME`, or `NAME` where there is one device.
void take_kind(const std::string& asked, const std::vector<std::string>& devices,
               ForeignKinds& kinds) {
  const std::size_t sign = asked.find('=');
  if (sign == std::string::npos && devices.size() > 1) {
    throw_bad_input({device_option,
                     fmt::format("which device is called \"{}\" is not said", shown(asked)),
                     "the files have " + join(devices),
                     fmt::format("write {}={}", devices.front(), shown(asked))});
  }
  const std::string device = sign == std::string::npos ? devices.front() : asked.substr(0, sign);
  const std::string name = sign == std::string::npos ? asked : asked.substr(sign + 1);
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
    throw_bad_input({device_option, fmt::format("no device \"{}\"", shown(device)),
                     "the files have " + join(devices), "write one of these before the ="});
  }
  if (name.empty()) {
    throw_bad_input({device_option, fmt::format("\"{}\" names no kind of device", shown(asked)),
                     "it is empty",
                     fmt::format("write {}=NAME, with the name of the cluster", device)});
  }
  kinds[device] = name;
}

ForeignKinds kinds_of(const ForeignProfile& from, const std::vector<std::string>& asked) {
  const std::vector<std::string> devices = from.devices();
  ForeignKinds kinds;
  for (const std::string& device : devices) kinds[device] = usual_kind(device);
  for (const std::string& each : asked) take_kind(each, devices, kinds);
  std::map<std::string, std::string> named;
  for (const auto& [device, kind] : kinds) {
    const auto [other, is_new] = named.emplace(kind, device);
    if (is_new) continue;
    throw_bad_input({device_option,
                     fmt::format("{} and {} are both \"{}\"", other->second, device, kind),
                     "a profile has one time of a layer for each kind of device",
                     fmt::format("name one of them otherwise: --device {}=NAME", device)});
  }
  return kinds;
}

std::string listed(const std::set<int>& numbers) {
  std::vector<std::string> texts;
  for (const int number : numbers) texts.push_back(std::to_string(number));
  return join(texts);
}

/// Degrees and numbers of samples of one device.
std::string rows_of(const ForeignProfile& from, const std::string& device) {
  std::set<int> degrees, samples;
  for (const ForeignTimes& times : from.times) {
    if (times.device != device) continue;
    degrees.insert(times.tensor_parallel);
    samples.insert(static_cast<int>(times.samples));
  }
  return fmt::format("tensor-parallel degrees {}; micro-batches of {}", listed(degrees),
                     listed(samples));
}

void tell_kinds(const ForeignProfile& from, const ForeignKinds& kinds) {
  for (const auto& [device, kind] : kinds) {
    log_info("{}: {}", kind == device ? kind : fmt::format("{} as \"{}\"", device, kind),
             rows_of(from, device));
    const bool is_whole =
        std::any_of(from.times.begin(), from.times.end(), [&](const ForeignTimes& times) {
          return times.device == device && times.tensor_parallel == 1;
        });
    if (!is_whole)
      log_warning("{} has no times of degree 1, which plans for such devices need", device);
    if (catalogue_device(kind) != nullptr) continue;
    const std::vector<std::string> similar = similar_names(kind, catalogue_device_names());
    if (similar.empty()) continue;
    log_info("The catalogue has no \"{}\" but {}; --device {}=NAME calls it as a cluster does",
             kind, join(similar), device);
  }
}

void tell(const ForeignProfile& from, const ForeignKinds& kinds,
          const std::vector<std::string>& taken) {
  log_info("Read profiles of {}: model {}, {} layers", from.planner,
           from.model.empty() ? "without name" : from.model, from.num_layers());
  tell_kinds(from, kinds);
  log_info("Not said, so taken: {}", join(taken, "; "));
  for (const std::string& part : from.left_out) log_info("Left out: {}", part);
}

Profile profile_without_model(const Options& options, const ForeignProfile& from,
                              const ForeignKinds& kinds) {
  if (!from.is_whole()) {
    throw_bad_input(
        {from_option, "no model is named",
         fmt::format("the files of {} do not say what its layers send and store", from.planner),
         "add --model DIR|config.json, or a CONFIG.toml"});
  }
  if (options.sequence_length) {
    throw_bad_input({"command line: --sequence-length", "no model is named",
                     "sizes are those of the files then",
                     "add --model DIR|config.json, or leave it out"});
  }
  std::vector<std::string> overrides = options.overrides;
  const std::vector<std::string> settings = short_settings(options);
  overrides.insert(overrides.end(), settings.begin(), settings.end());
  Config config = parse_config("", "command line", "", overrides);
  std::vector<std::string> taken = take_execution(from, config);
  taken.emplace_back("8 bytes of optimizer state a parameter, as Adam has");
  tell(from, kinds, taken);
  return converted_profile(from, kinds, config);
}

Profile profile_of_model(const Options& options, const ForeignProfile& from,
                         const ForeignKinds& kinds) {
  std::vector<std::string> taken;
  Config config =
      options.model.empty() ? planning_config(options) : model_without_cluster(options, taken);
  const std::vector<std::string> execution = take_execution(from, config);
  taken.insert(taken.end(), execution.begin(), execution.end());
  const Model model = build_model(config.model, config.training, config.source);
  check_foreign_model(from, model);
  tell(from, kinds, taken);
  return converted_profile(from, kinds, config, model);
}

}  // namespace

void run_conversion(const Options& options) {
  check_options(options);
  const ForeignProfile from = read_foreign_profile(options.from.first, options.from.second);
  const ForeignKinds kinds = kinds_of(from, options.devices);
  const bool names_model = !options.model.empty() || !options.input.empty();
  const Profile profile = names_model ? profile_of_model(options, from, kinds)
                                      : profile_without_model(options, from, kinds);
  deliver(write_profile(profile), options.output);
}

}  // namespace pptrain
