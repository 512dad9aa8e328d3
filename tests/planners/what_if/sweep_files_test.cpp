#include "planners/what_if/sweep_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planners/what_if/priced_sweep.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("files of a sweep have a row for each point and the described keys",
          "[planners][what_if]") {
  const Sweep sweep = swept();
  const nlohmann::json json = nlohmann::json::parse(sweep_json(sweep));
  CHECK(json.at("schema") == "pptrain.sweep/1");
  CHECK(json.at("planned") == 3);
  CHECK(json.at("points").size() == 6);
  for (const auto& [key, value] : json.items()) {
    const Texts names = sweep_keys::root.names();
    CHECK(std::find(names.begin(), names.end(), key) != names.end());
  }
  for (const auto& point : json.at("points")) {
    for (const auto& [key, value] : point.items()) {
      INFO(key);
      const Texts names = sweep_keys::point.names();
      CHECK(std::find(names.begin(), names.end(), key) != names.end());
    }
  }
  const std::string csv = sweep_csv(sweep);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  CHECK(csv.starts_with("node,node price,iteration_seconds,"));
  std::istringstream text(sweep_text(sweep));
  for (std::string line; std::getline(text, line);) CHECK(line.size() <= 80);
}

}  // namespace
}  // namespace pptrain
