#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pptrain {

/// The report as one HTML file that needs nothing else: style, charts and figures are in it.
std::string report_page(const nlohmann::json& document);

}  // namespace pptrain
