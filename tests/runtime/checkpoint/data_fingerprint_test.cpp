#include "runtime/checkpoint/data_fingerprint.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <vector>

#include "data/files.hpp"
#include "data/token_dataset.hpp"
#include "runtime/small_gpt2.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

std::string fingerprint_of(const std::string& path, std::int64_t vocabulary, std::int64_t length) {
  DatasetOptions options;
  options.vocabulary_size = vocabulary;
  options.sequence_length = length;
  Model model;
  model.sample.rows = length;
  return data_fingerprint(TokenDataset({path}, options), model);
}

TEST_CASE("16-bit data have the fingerprint that checkpoints of all versions name",
          "[checkpoint]") {
  // Written down before tokens had 32 bits in memory.
  CHECK(fingerprint_of(test_data("gpt2-reference/untied/tokens.bin"), 65536, 32) ==
        "160 samples, xxh3 1bbba3235bf56ba2");
}

TEST_CASE("a fingerprint tells tokens apart, not how wide they are stored", "[checkpoint]") {
  const TestFolder folder("fingerprint");
  const std::string narrow =
      fingerprint_of(folder.write_tokens("n.bin", {1, 2, 3, 4, 65535}), 70000, 2);
  CHECK(fingerprint_of(folder.write_wide_tokens("w.bin", {1, 2, 3, 4, 65535}), 70000, 2) == narrow);
  const std::string wide =
      fingerprint_of(folder.write_wide_tokens("v.bin", {1, 2, 3, 4, 65536}), 70000, 2);
  CHECK(wide != narrow);
  // 65537 has the lower half of 1, and a token that comes twice the same one.
  CHECK(fingerprint_of(folder.write_wide_tokens("u.bin", {65537, 2, 3, 4, 65535}), 70000, 2) !=
        narrow);
}

}  // namespace
}  // namespace pptrain
