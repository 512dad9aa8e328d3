#include "profile/foreign/foreign_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/error.hpp"
#include "base/names.hpp"
#include "profile/foreign/readers.hpp"

namespace pptrain {
namespace foreign {

int positive_number(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > 6 || !std::all_of(text.begin(), text.end(), is_digit)) return 0;
  int number = 0;
  for (const char digit : text) number = 10 * number + (digit - '0');
  return number;
}

std::vector<std::filesystem::path> entries_of(const std::string& folder) {
  std::error_code failure;
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    entries.push_back(entry.path());
  if (failure)
    throw_bad_input(
        {folder, "cannot be read", failure.message(), "check the path and its permissions"});
  std::sort(entries.begin(), entries.end());
  return entries;
}

Json parse_foreign(const std::string& file) {
  return parse_json(read_text_file(file), file, "let the planner that it is from write it again");
}

namespace {

std::string described(const ForeignTimes& times) {
  return fmt::format("device \"{}\", tensor-parallel degree {}, {} samples", times.device,
                     times.tensor_parallel, times.samples);
}

auto key_of(const ForeignTimes& times) {
  return std::tie(times.device, times.tensor_parallel, times.samples);
}

void check_some_time(const ForeignTimes& times) {
  double whole = 0.0;
  for (const LayerSeconds& layer : times.layers) whole += layer.total();
  if (whole > 0.0) return;
  throw_bad_input({times.place, "all layers together take no time", "nothing computes in no time",
                   "measure this micro-batch again, or leave it out"});
}

}  // namespace

void hold_together(ForeignProfile& profile) {
  std::vector<ForeignTimes>& all = profile.times;
  for (const ForeignTimes& times : all) {
    check_some_time(times);
    if (times.layers.size() == all.front().layers.size()) continue;
    throw_bad_input({times.place,
                     fmt::format("it has {} layers, but {} has {}", times.layers.size(),
                                 all.front().place, all.front().layers.size()),
                     "they cannot be of one model", "move the files of the other model elsewhere"});
  }
  std::stable_sort(all.begin(), all.end(), [](const ForeignTimes& a, const ForeignTimes& b) {
    return key_of(a) < key_of(b);
  });
  const auto twice = std::adjacent_find(
      all.begin(), all.end(),
      [](const ForeignTimes& a, const ForeignTimes& b) { return key_of(a) == key_of(b); });
  if (twice == all.end()) return;
  throw_bad_input({std::next(twice)->place,
                   fmt::format("it has times of {}, as {} has", described(*twice), twice->place),
                   "a layer has one time for each of them", "remove one of them"});
}

}  // namespace foreign

bool ForeignProfile::is_whole() const {
  return !sizes.empty() &&
         std::all_of(sizes.begin(), sizes.end(), [this](const ForeignSizes& layer) {
           return (layer.output_bytes > 0.0 || &layer == &sizes.back()) &&
                  layer.stored_bytes.contains(1);
         });
}

std::vector<std::string> ForeignProfile::devices() const {
  std::vector<std::string> names;
  for (const ForeignTimes& each : times) {
    if (names.empty() || names.back() != each.device) names.push_back(each.device);
  }
  return names;
}

namespace {

struct Reader {
  const char* planner;
  ForeignProfile (*read)(const std::string& path);
};

constexpr Reader readers[] = {{"sailor", foreign::read_sailor}, {"metis", foreign::read_metis}};

}  // namespace

const std::vector<std::string>& foreign_planners() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Reader& reader : readers) all.emplace_back(reader.planner);
    return all;
  }();
  return names;
}

ForeignProfile read_foreign_profile(const std::string& planner, const std::string& path) {
  const auto* reader = std::find_if(std::begin(readers), std::end(readers),
                                    [&](const Reader& each) { return each.planner == planner; });
  if (reader == std::end(readers)) {
    throw_bad_input(
        {"command line: --from", fmt::format("unknown planner \"{}\"", shown(planner)), "",
         did_you_mean(planner, foreign_planners(), "known ones: " + join(foreign_planners()))});
  }
  ForeignProfile profile = reader->read(path);
  foreign::hold_together(profile);
  return profile;
}

}  // namespace pptrain
