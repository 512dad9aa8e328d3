#include "report/page.hpp"

#include "base/error.hpp"
#include "report/page_files.hpp"

namespace pptrain {
namespace {

void replace(std::string& text, const std::string& place, const std::string& content) {
  const std::size_t at = text.find(place);
  PPTRAIN_ASSERT(at != std::string::npos, "the page has no {}", place);
  text.replace(at, place.size(), content);
}

/// For the text of an element.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

/// JSON in which nothing ends the script element that it stands in.
std::string embedded(const nlohmann::json& document) {
  std::string text = document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;)
    text.replace(at, 1, "\\u003c");
  return text;
}

/// The page with a title, scripts behind the library of charts, and a document for them.
std::string filled_page(const std::string& title, std::initializer_list<const char*> scripts,
                        const nlohmann::json& document) {
  std::string page = page_files::page_html;
  replace(page, "@TITLE@", escaped(title));
  replace(page, "@STYLE@", page_files::page_css);
  replace(page, "@LIBRARY@", page_files::d3_js);
  std::string script;
  for (const char* file : scripts) script += file;
  replace(page, "@SCRIPT@", script);
  replace(page, "@DATA@", embedded(document));
  return page;
}

}  // namespace

std::string report_page(const nlohmann::json& document) {
  return filled_page(document.at("job").at("name").get<std::string>(),
                     {page_files::charts_js, page_files::sections_js, page_files::plan_js,
                      page_files::pipeline_js, page_files::page_js},
                     document);
}

std::string sweep_page(const nlohmann::json& document) {
  return filled_page("What if", {page_files::charts_js, page_files::sweep_js}, document);
}

}  // namespace pptrain
