#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "profile/foreign/foreign_profile.hpp"
#include "profile/json.hpp"

/// The readers of single planners, and what they have in common.
namespace pptrain::foreign {

/// Metis (ATC 2024): a folder with files `DeviceType.NAME_tpN_bsN.json`, or one of them.
ForeignProfile read_metis(const std::string& path);

/// Sailor (SOSP 2025): the folder of a model with a folder for each device that holds profile.json,
/// one of these folders, or that file; with the sizes of llm_info.json, where the folder of the
/// model or one of the three above it has that file, as in Sailor's repository.
ForeignProfile read_sailor(const std::string& path);

/// A whole number of at least 1 without a sign; 0 for any other text.
int positive_number(std::string_view text);

/// What a folder has, sorted by name. One that cannot be read throws `Error` (exit code 2).
std::vector<std::filesystem::path> entries_of(const std::string& folder);

/// Parses a file of another planner, which says of what is no JSON what such a file is. Throws as
/// `parse_json` does.
Json parse_foreign(const std::string& file);

/// Sorts times by device, degree and samples, and refuses (`Error`, exit code 2) two that are of
/// the same, layers that are not as many as the others', and a micro-batch that takes no time at
/// all.
void hold_together(ForeignProfile& profile);

}  // namespace pptrain::foreign
