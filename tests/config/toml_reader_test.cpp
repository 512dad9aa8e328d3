#include "config/toml_reader.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

TEST_CASE("values of every type are read", "[toml]") {
  const TomlTable root = parse_toml(R"(
text = "a"
flag = true
count = 3
rate = 1e-3
whole = 2
memory = "16 GiB"
plain = 1024
wait = "5 us"
degree = "auto"
fixed = 4
list = ["x", "y"]
single = "z"
numbers = [0, 12]
kind = "b"
link = { bandwidth = "170 Gbit/s" }
[[node]]
name = "n0"
[[node]]
name = "n1"
)",
                                    "c.toml");
  CHECK(root.string("text") == "a");
  CHECK(root.boolean("flag"));
  CHECK(root.integer("count") == 3);
  CHECK(root.number("rate") == 1e-3);
  CHECK(root.number("whole") == 2.0);
  CHECK(root.quantity("memory", Quantity::bytes) == 16.0 * 1024 * 1024 * 1024);
  CHECK(root.quantity("plain", Quantity::bytes) == 1024.0);
  CHECK(root.quantity("wait", Quantity::seconds) == Approx(5e-6));
  CHECK(root.integer_or_auto("degree", 1) == std::nullopt);
  CHECK(root.integer_or_auto("fixed", 1) == 4);
  CHECK(root.integer_or_auto("absent", 1) == 1);
  CHECK(root.strings("list") == std::vector<std::string>{"x", "y"});
  CHECK(root.strings("single") == std::vector<std::string>{"z"});
  CHECK(root.integers("numbers") == std::vector<std::int64_t>{0, 12});
  CHECK(root.name("kind", {"a", "b"}) == "b");
  CHECK(root.table("link")->quantity("bandwidth", Quantity::bandwidth) == Approx(170e9 / 8));
  REQUIRE(root.tables("node").size() == 2);
  CHECK(root.tables("node")[1].string("name") == "n1");
  CHECK(root.tables("node")[1].where() == "c.toml:19");
  CHECK(root.string("absent", "fallback") == "fallback");
  CHECK_FALSE(root.table("absent").has_value());
  root.finish();
}

TEST_CASE("zero has no sign", "[toml]") {
  const TomlTable root = parse_toml("a = -0.0\nb = \"-0 s\"\n", "c.toml");
  CHECK_FALSE(std::signbit(root.number("a")));
  CHECK_FALSE(std::signbit(root.quantity("b", Quantity::seconds)));
}

TEST_CASE("integers that no double has are numbers all the same", "[toml]") {
  for (const std::int64_t whole :
       {std::int64_t{9007199254740993}, std::int64_t{1} << 62, std::int64_t{0x7fffffffffffffff},
        -(std::int64_t{1} << 62) - 1}) {
    const TomlTable root = parse_toml(fmt::format("a = {}\n", whole), "c.toml");
    CHECK(root.number("a") == static_cast<double>(whole));
    CHECK(root.quantity("a", Quantity::bytes) == static_cast<double>(whole));
  }
}

TEST_CASE("a table outlives the root it came from", "[toml]") {
  const TomlTable inner = *parse_toml("[a]\nb = 1\n", "c.toml").table("a");
  CHECK(inner.integer("b") == 1);
}

TEST_CASE("syntax errors and duplicate keys name line and column", "[toml]") {
  CHECK(complaint_of([] { parse_toml("a = 1\nb = = 2\n", "c.toml"); }).starts_with("c.toml:2:5: "));
  const std::string twice = complaint_of([] { parse_toml("[s]\na = 1\na = 2\n", "c.toml"); });
  CHECK(twice.starts_with("c.toml:3:"));
  CHECK(twice.find("redefine") != std::string::npos);
  CHECK(complaint_of([] {
          read_toml("no/such.toml");
        }).starts_with("no/such.toml: the file does not exist"));
  CHECK(complaint_of([] { read_toml(test_data("")); }).find("directory") != std::string::npos);
}

TEST_CASE("wrong types name place, key and what is wanted", "[toml]") {
  const TomlTable table = *parse_toml(
                               "[s]\ntext = 5\ncount = 1.5\nflag = \"yes\"\nrate = \"fast\"\n"
                               "list = [1, \"a\"]\nbad = inf\n",
                               "c.toml")
                               .table("s");
  CHECK(complaint_of([&] { table.string("text"); }) ==
        "c.toml:2: s.text is an integer (it has to be a string); put it in quotes");
  CHECK(complaint_of([&] { table.integer("count"); }).starts_with("c.toml:3: s.count is a float"));
  CHECK(complaint_of([&] { table.boolean("flag"); }).starts_with("c.toml:4: s.flag is a string"));
  CHECK(complaint_of([&] { table.number("rate"); }).starts_with("c.toml:5: s.rate is a string"));
  CHECK(complaint_of([&] {
          table.integer_or_auto("rate", 1);
        }).starts_with("c.toml:5: s.rate is \"fast\""));
  CHECK(complaint_of([&] {
          table.strings("list");
        }).starts_with("c.toml:6: s.list[0] is an integer"));
  CHECK(
      complaint_of([&] { table.integers("list"); }).starts_with("c.toml:6: s.list[1] is a string"));
  CHECK(complaint_of([&] { table.number("bad"); }).find("finite") != std::string::npos);
  CHECK(complaint_of([&] { table.table("text"); }).find("write [s.text]") != std::string::npos);
  CHECK(complaint_of([&] { table.tables("text"); }).find("write [[s.text]]") != std::string::npos);
  CHECK(complaint_of([&] { table.string("gone"); }).starts_with("c.toml:1: s.gone is missing"));
}

TEST_CASE("a wrong unit lists the right ones", "[toml]") {
  const TomlTable root = parse_toml("memory = \"16 GHz\"\n", "c.toml");
  const std::string message = complaint_of([&] { root.quantity("memory", Quantity::bytes); });
  CHECK(message.starts_with("c.toml:1: memory = \"16 GHz\" is not understood"));
  CHECK(message.find("GiB") != std::string::npos);
}

TEST_CASE("a quantity in quotes without a fitting number and unit is refused with what to write",
          "[toml]") {
  const auto complaint = [](const std::string& text, Quantity quantity) {
    const TomlTable root = parse_toml("key = \"" + text + "\"\n", "c.toml");
    return complaint_of([&] { root.quantity("key", quantity); });
  };
  const auto says = [&](const std::string& text, Quantity quantity, const std::string& part) {
    INFO(complaint(text, quantity));
    CHECK(complaint(text, quantity)
              .starts_with("c.toml:1: key = \"" + text + "\" is not understood"));
    CHECK(complaint(text, quantity).find(part) != std::string::npos);
  };
  says("16", Quantity::bytes, "it has no unit");
  says("16", Quantity::bytes, "write for instance \"16 GB\"; 16 without quotes is in B");
  says("1.5e2 ", Quantity::bandwidth, "\"1.5e2 GB/s\"; 1.5e2 without quotes is in B/s");
  says("30", Quantity::seconds, "\"30 s\"");
  says("125", Quantity::flop_rate, "\"125 TFLOP/s\"");
  says("16 gb", Quantity::bytes, "did you mean \"16 GB\"?");
  says("16KIB", Quantity::bytes, "did you mean \"16 KiB\"?");
  says("16 GHz", Quantity::bytes, "\"GHz\" is no unit of this key");
  says("1e400 GB", Quantity::bytes, "not finite, or too large");
  says("1e308 GB", Quantity::bytes, "it is too large");
  says("nan s", Quantity::seconds, "not finite");
  says("-inf s", Quantity::seconds, "not finite");
  says("much", Quantity::bytes, "it does not begin with a number");
  says("", Quantity::bytes, "it does not begin with a number");
  CHECK(parse_toml("key = \"16GiB\"\n", "c.toml").quantity("key", Quantity::bytes) ==
        16.0 * 1024 * 1024 * 1024);
  CHECK(parse_toml("key = \"-3 GB\"\n", "c.toml").quantity("key", Quantity::bytes) ==
        -3e9);  // limits are the caller's
}

TEST_CASE("unknown keys and names come with the nearest one", "[toml]") {
  const TomlTable root = parse_toml("steps = 1\n\nstepz = 2\nkind = \"adamv\"\n", "c.toml");
  root.integer("steps");
  CHECK(
      complaint_of([&] {
        root.name("kind", {"adamw", "sgd"});
      }) ==
      "c.toml:4: kind = \"adamv\" is not known (it is one of adamw, sgd); did you mean \"adamw\"?");
  CHECK(complaint_of([&] { root.finish(); }) ==
        "c.toml:3: stepz is not known; did you mean steps?");
}

TEST_CASE("overrides replace and add values and are named in messages", "[toml]") {
  const TomlTable root =
      parse_toml("[s]\na = 1\n", "c.toml", {"s.a=7", "s.b=plain text", "t.c=[1, 2]", "s.d=x=y"});
  const TomlTable s = *root.table("s");
  CHECK(s.integer("a") == 7);
  CHECK(s.where("a") == "--set s.a");
  CHECK(s.string("b") == "plain text");
  CHECK(s.string("d") == "x=y");
  CHECK(root.table("t")->integers("c") == std::vector<std::int64_t>{1, 2});
  CHECK(complaint_of([&] { s.integer("b"); }).starts_with("--set s.b: s.b is a string"));
}

TEST_CASE("an override cannot smuggle in other keys", "[toml]") {
  const TomlTable root = parse_toml("", "c.toml", {"s.a=1\nb = 2"});
  CHECK(root.table("s")->string("a") == "1\nb = 2");
}

TEST_CASE("overrides that are none are refused", "[toml]") {
  CHECK(complaint_of([] { parse_toml("", "c.toml", {"steps"}); }).find("no assignment") !=
        std::string::npos);
  CHECK(complaint_of([] { parse_toml("", "c.toml", {".a=1"}); }).find("no assignment") !=
        std::string::npos);
  CHECK(complaint_of([] { parse_toml("s = 1", "c.toml", {"s.a=1"}); }).find("not a section") !=
        std::string::npos);
  const TomlTable root = parse_toml("", "c.toml", {"nosuch.key=1"});
  CHECK(complaint_of([&] { root.finish(); }).starts_with("--set nosuch.key: nosuch is not known"));
}

TEST_CASE("quoted text reads back", "[toml]") {
  const std::string text = "a \"b\" \\ \n\t\x01\x7f é";
  CHECK(parse_toml("v = " + quote_toml(text), "c.toml").string("v") == text);
}

}  // namespace
}  // namespace pptrain
