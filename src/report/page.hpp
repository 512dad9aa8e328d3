#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pptrain {

/// The report as one HTML file that needs nothing else: style, charts and figures are in it.
std::string report_page(const nlohmann::json& document);

/// The page of a sweep, of the document that `sweep_json` writes.
std::string sweep_page(const nlohmann::json& document);

}  // namespace pptrain
