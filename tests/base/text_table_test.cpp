#include "base/text_table.hpp"

#include <cstdlib>
#include <sstream>

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// The columns of the screen as long as this lives, whatever the terminal of the tests has.
struct Columns {
  explicit Columns(const char* columns) { ::setenv("COLUMNS", columns, 1); }
  ~Columns() { ::unsetenv("COLUMNS"); }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a long last cell goes on below itself", "[base]") {
  const Columns screen("80");
  const std::string words =
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
  const std::string text =
      align({{"planner", "time", "why"}, {"data-parallel", "-", words}, {"x", "1 s", ""}});
  CHECK(text ==
        "  planner        time  why\n"
        "  data-parallel  -     one two three four five six seven eight nine ten eleven\n"
        "                       twelve thirteen fourteen fifteen\n"
        "  x              1 s\n");
  const std::string path(100, 'x');
  CHECK(align({{"a", path + " b"}}) == "  a  " + path + "\n     b\n");  // a word is not cut
}

TEST_CASE("cells of several lines stand side by side", "[base]") {
  const Columns screen("80");
  CHECK(align({{"a\nlonger", "1", "x"}, {"b", "2\n22", "y\nz"}}) ==
        "  a       1   x\n"
        "  longer\n"
        "  b       2   y\n"
        "          22  z\n");
}

TEST_CASE("a row without cells is an empty line", "[base]") {
  const Columns screen("80");
  CHECK(align({{"a", "1"}, {}, {"longer", "2"}}) == "  a       1\n\n  longer  2\n");
  CHECK(align({{}}) == "\n");
}

TEST_CASE("columns are as wide as their characters, however many bytes these take", "[base]") {
  const Columns screen("80");
  CHECK(align({{"\u00e9\u00e9", "1"}, {"abc", "2"}}) == "  \u00e9\u00e9   1\n  abc  2\n");
}

TEST_CASE("a table that is too wide loses the columns that may go, then breaks its widest",
          "[base]") {
  const Columns screen("80");
  const std::string wide(30, '#');
  const Rows rows = {{"a", wide, "many words that can be broken where they are too many",
                      "the last cell of a row"}};
  CHECK(has(align(rows, {1}), "many words"));
  CHECK_FALSE(has(align(rows, {1}), "#"));
  CHECK(has(align(rows), wide));
  std::istringstream lines(align(rows));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("numbers of devices are told as patterns", "[base]") {
  CHECK(ranges({3, 1, 2, 0, 8}) == "0-3, 8");
  CHECK(ranges({0, 4, 8, 12}) == "every 4th of 0-12");
  CHECK(ranges({1, 5, 9, 13, 16, 20, 24, 28}) == "every 4th of 1-13, 16-28");
  CHECK(ranges({2, 3, 6, 7, 10, 11, 14, 15, 18, 19}) == "2-3, 6-7, ..., 18-19");
  CHECK(ranges({2, 3, 6, 7, 10, 11, 14, 15}) == "2-3, 6-7, 10-11, 14-15");
  CHECK(ranges({1, 5, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29, 40}) ==
        "every 4th of 1-9, all of 12-13, 16-17, ..., 28-29, 40");
  CHECK(ranges({0, 2, 4, 7, 8, 9}) == "every 2nd of 0-4, all of 7-9");
  CHECK(ranges({0, 21, 42}) == "every 21st of 0-42");
  CHECK(ranges({0, 8}) == "0, 8");
  CHECK(ranges({5}) == "5");
}

TEST_CASE("columns go in the order that is asked for, by the numbers they had, until the rest fits",
          "[base]") {
  const Columns screen("80");
  const std::string a(30, 'a'), b(30, 'b'), c(30, 'c');
  CHECK(align({{"1", a, b, c, "end"}}, {2, 1}) == "  1  " + a + "  " + c + "  end\n");
  CHECK(align({{"1", a, b, c, "end"}}, {1, 2}) == "  1  " + b + "  " + c + "  end\n");
  CHECK(align({{"1", a + a, b + b, c, "end"}}, {1, 2, 3}) == "  1  " + c + "  end\n");
  CHECK(align({{"1", a, "end"}}, {1}) == "  1  " + a + "  end\n");
}

TEST_CASE("a bar is filled by its part", "[base]") {
  CHECK(bar(0.0, 4) == "[....]");
  CHECK(bar(0.25, 4) == "[#...]");
  CHECK(bar(0.7, 4) == "[###.]");  // 2.8, to the nearest
  CHECK(bar(1.0, 4) == "[####]");
}

}  // namespace
}  // namespace pptrain
