// Colours of the page against WCAG 2.1: text 4.5 to 1 (success criterion 1.4.3), what is drawn 3 to
// 1 (1.4.11).
#include <cmath>
#include <map>
#include <regex>

#include "report/page_files.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

using Colours = std::map<std::string, std::string>;

/// The properties that are set from `begin` to the next brace.
Colours colours_from(const std::string& css, const std::string& begin) {
  const std::size_t at = css.find(begin);
  REQUIRE(at != std::string::npos);
  const std::string block = css.substr(at, css.find('}', at) - at);
  static const std::regex pattern("--([a-z0-9-]+): (#[0-9a-f]{6});");
  Colours colours;
  for (std::sregex_iterator match(block.begin(), block.end(), pattern), end; match != end;
       ++match) {
    colours[(*match)[1]] = (*match)[2];
  }
  return colours;
}

/// WCAG's relative luminance.
double luminance(const std::string& colour) {
  const double weights[] = {0.2126, 0.7152, 0.0722};
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const double brighter = std::max(luminance(a), luminance(b));
  return (brighter + 0.05) / (std::min(luminance(a), luminance(b)) + 0.05);
}

void check_contrasts(const Colours& colours) {
  const auto check = [&](const std::string& front, const std::string& back, double least) {
    INFO(front << " on " << back);
    CHECK(contrast(colours.at(front), colours.at(back)) >= least);
  };
  for (const char* back : {"card", "page"}) {
    for (const char* text : {"ink", "soft", "accent"}) check(text, back, 4.5);
  }
  for (int stage = 0; stage < 8; ++stage) check("ink", "stage" + std::to_string(stage), 4.5);
  check("violet", "card", 4.5);  // the name of an event
  check("on-dark", "blue", 4.5);
  check("on-light", "orange", 4.5);
  check("on-light", "green", 4.5);
  for (const char* drawn : {"blue", "orange", "green", "violet", "grey", "bad"}) {
    check(drawn, "card", 3.0);
    check(drawn, "grid", 3.0);  // where nothing is done
  }
  check("outline", "card", 3.0);
}

TEST_CASE("the page's colours have contrast, light and dark", "[report]") {
  const std::string css = page_files::page_css;
  const Colours light = colours_from(css, ":root {");
  const Colours dark = colours_from(css, ":root[data-theme=dark] {");
  check_contrasts(light);
  check_contrasts(dark);
  CHECK(light.size() == dark.size());
  CHECK(colours_from(css, ":root:not([data-theme=light]) {") == dark);
}

}  // namespace
}  // namespace pptrain
