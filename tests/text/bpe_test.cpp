#include "text/bpe.hpp"

#include <map>
#include <random>

#include "support/catch.hpp"

namespace pptrain {
namespace {

using Tokens = std::vector<std::uint32_t>;

/// A vocabulary of some letters and drawn merges of what is there.
struct DrawnBpe {
  std::vector<std::string> texts;
  std::vector<ListedMerge> merges;

  DrawnBpe(std::mt19937& random, const std::vector<std::string>& letters, int num_merges)
      : texts(letters) {
    std::set<std::string> known(letters.begin(), letters.end());
    for (int i = 0; i < num_merges; ++i) {
      const auto draw = [&] { return static_cast<std::uint32_t>(random() % texts.size()); };
      const std::uint32_t left = draw();
      const std::uint32_t right = draw();
      const std::string merged = texts[left] + texts[right];
      if (merged.size() > 12 || !known.insert(merged).second) continue;
      merges.push_back({left, right, static_cast<std::uint32_t>(texts.size())});
      texts.push_back(merged);
    }
  }

  TokenTable table() const {
    TokenTable table;
    for (std::size_t i = 0; i < texts.size(); ++i)
      REQUIRE(table.add(texts[i], static_cast<std::uint32_t>(i)));
    return table;
  }
};

/// Byte-pair encoding word for word as it is defined: looks at all pairs again for every merge.
Tokens plainly_merged(Tokens tokens, const std::vector<ListedMerge>& merges) {
  while (true) {
    std::size_t best = merges.size();
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].left != tokens[i] || merges[rank].right != tokens[i + 1]) continue;
        best = rank;
        place = i;
      }
    }
    if (best == merges.size()) return tokens;
    tokens[place] = merges[best].result;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

Tokens encoded(const BpeModel& model, const std::string& word) {
  BpeScratch scratch;
  Tokens tokens;
  model.append(word, scratch, tokens);
  return tokens;
}

TEST_CASE("words are merged as byte-pair encoding is defined, short and long", "[bpe]") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const bool wide = trial % 2 == 1;  // letters beyond the table of near pairs
    const std::vector<std::string> letters =
        wide ? std::vector<std::string>{"a", "\u2581", "\u4e00", "b"}
             : std::vector<std::string>{"a", "b", "c", "d"};
    const DrawnBpe drawn(random, letters, 4 + trial);
    const BpeModel model(drawn.table(), drawn.merges, {});
    BpeScratch kept;
    for (const std::size_t length : {1, 2, 3, 7, 20, 100, 400}) {
      std::string word;
      Tokens symbols;
      for (std::size_t i = 0; i < length; ++i) {
        symbols.push_back(static_cast<std::uint32_t>(random() % letters.size()));
        word += letters[symbols.back()];
      }
      const Tokens plain = plainly_merged(symbols, drawn.merges);
      CHECK(encoded(model, word) == plain);
      Tokens again;
      for (int i = 0; i < 2; ++i) model.append(word, kept, again);
      CHECK(again.size() == 2 * plain.size());
      CHECK(std::equal(plain.begin(), plain.end(),
                       again.begin() + static_cast<std::ptrdiff_t>(plain.size())));
    }
  }
}

TEST_CASE("characters without token", "[bpe]") {
  const auto model = [](bool fuse, bool fallback) {
    TokenTable table;
    table.add("<unk>", 0);
    table.add("a", 1);
    table.add("aa", 2);
    table.add("<0x21>", 3);  // "!"
    return BpeModel(std::move(table), {{1, 1, 2}},
                    {.unknown = 0U, .fuse_unknown = fuse, .byte_fallback = fallback});
  };
  CHECK(encoded(model(false, false), "a??a?") == Tokens{1, 0, 0, 1, 0});
  CHECK(encoded(model(true, false), "a??a?") == Tokens{1, 0, 1, 0});
  CHECK(encoded(model(true, true), "a!aa!") == Tokens{1, 3, 2, 3});
  CHECK(encoded(model(true, true), "?!a") == Tokens{3, 0, 1});  // as the library has it
  CHECK(encoded(model(true, false), std::string(100, '?') + "a") == Tokens{0, 1});
  TokenTable table;
  table.add("a", 5);
  CHECK(encoded(BpeModel(std::move(table), {}, {}), "?a?") == Tokens{5});
}

TEST_CASE(
    "what stands around a character that is left out is merged, in short words and in long ones",
    "[bpe]") {
  TokenTable table;
  for (const char* text : {"a", "b", "ab"})
    table.add(text, static_cast<std::uint32_t>(table.size()));
  const BpeModel model(std::move(table), {{0, 1, 2}}, {});
  const std::string many(100, 'a');
  for (const std::size_t length : std::vector<std::size_t>{1, 20, 100}) {
    Tokens expected(length, 0);
    expected.back() = 2;
    const std::string word = many.substr(0, length);
    CHECK(encoded(model, word + "??b") == expected);
    CHECK(encoded(model, "?" + word + "?b?") == expected);
  }
}

TEST_CASE("a word that is a token may stay one", "[bpe]") {
  const auto model = [](bool ignore) {
    TokenTable table;
    std::uint32_t id = 0;
    for (const char* text : {"a", "b", "c", "ab", "bc", "abc"}) table.add(text, id++);
    return BpeModel(std::move(table), {{1, 2, 4}, {0, 1, 3}}, {.ignore_merges = ignore});
  };
  CHECK(encoded(model(false), "abc") == Tokens{0, 4});
  CHECK(encoded(model(true), "abc") == Tokens{5});
  CHECK(encoded(model(true), "abcc") == Tokens{0, 4, 2});
}

}  // namespace
}  // namespace pptrain
