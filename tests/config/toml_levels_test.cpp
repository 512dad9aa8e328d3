#include "config/toml_levels.hpp"

#include "config/toml_reader.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("names and brackets of many levels are found by their line", "[toml]") {
  const std::string name = repeated("a.", 50000) + "a";
  CHECK(find_toml_beyond(name + " = 1") == 1);
  CHECK(find_toml_beyond("x = 1\n[" + name + "]") == 2);
  CHECK(find_toml_beyond("[[" + name + "]]") == 1);
  CHECK(find_toml_beyond("\n\nx = { " + name + " = 1 }") == 3);
  CHECK(find_toml_beyond(repeated("\"a\" . 'b'.\t", 50000) + "c = 1") == 1);
  CHECK(find_toml_beyond("x = " + repeated("[", 50000)) == 1);
  CHECK(find_toml_beyond("x = " + repeated("{a=", 50000)) == 1);
  CHECK(find_toml_beyond(repeated("a.", 31) + "a = 1") == std::nullopt);
  CHECK(find_toml_beyond(repeated("a.", 32) + "a = 1") == 1);
  CHECK(find_toml_beyond("x = " + repeated("[", 32)) == std::nullopt);
  CHECK(find_toml_beyond("x = " + repeated("[", 33)) == 1);
}

TEST_CASE("strings, comments and numbers have no levels", "[toml]") {
  const std::string dots = repeated("a.", 100) + repeated("[", 100);
  for (const std::string& text :
       {"# " + dots, "x = \"" + dots + "\\\"" + dots + "\"", "x = '" + dots + "\\'",
        "x = '''\n" + dots + "'\n''''' # '", "x = \"\"\"\n" + dots + "\\\"\"\"" + dots + "\"\"\"",
        "x = [" + repeated("1.5, ", 100) + "2.0]", repeated("a.b.c = 1.0\n", 100),
        repeated("[a.b]\nx = [[1.0], [2.0]]\n", 100)})
    CHECK(find_toml_beyond(text) == std::nullopt);
  // What stands behind a string counts.
  for (const std::string string :
       {"\"\"", "''", "\"a\\\\\"", "'\\'", "\"\"\"a\"\"\"\"", "'''a'''''", "\"\"\"\"\"\""})
    CHECK(find_toml_beyond("x = { a = " + string + ", " + repeated("a.", 100) + "b = 1 }") == 1);
}

TEST_CASE("TOML that is nested too deeply is refused before it is read", "[toml]") {
  const std::string message =
      complaint_of([] { parse_toml("a = 1\n[" + repeated("b.", 50000) + "b]\n", "c.toml"); });
  CHECK(message.starts_with("c.toml:2: a name has more than 32 parts"));
  // All levels that are let through together.
  std::string deep = "1";
  for (int i = 0; i < 32; ++i) deep = "{ " + repeated("a.", 31) + "a = " + deep + " }";
  CHECK(parse_toml("[" + repeated("b.", 31) + "b]\n" + repeated("c.", 31) + "c = " + deep, "c.toml")
            .has("b"));
  const TomlTable set =
      parse_toml("[a]\nb = 1\n", "c.toml", {"a.b={" + repeated("c.", 50000) + "c=1}"});
  CHECK(complaint_of([&] { set.table("a")->integer("b"); }).find("a.b is a string") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
