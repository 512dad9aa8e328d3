#include <algorithm>
#include <filesystem>

#include "data/token_dataset.hpp"
#include "fuzz.hpp"
#include "fuzz_folder.hpp"

using namespace pptrain;

namespace {

/// A token file or a text: with a header that is right, nearly right or made up, or without.
std::string some_tokens(FuzzedDataProvider& input) {
  std::string tokens = input.ConsumeRandomLengthString(600);
  const int kind = input.ConsumeIntegralInRange(0, 3);
  if (kind == 0) return tokens;
  std::vector<std::int32_t> header(token_file_header_bytes / sizeof(std::int32_t), 0);
  const TokenFileFormat& format = input.ConsumeBool() ? wide_token_file : narrow_token_file;
  header[0] = format.magic;
  header[1] = kind == 1 ? input.ConsumeIntegral<std::int32_t>() : format.version;
  header[2] = kind == 2 ? input.ConsumeIntegral<std::int32_t>()
                        : static_cast<std::int32_t>(tokens.size() / bytes_of(format.type));
  std::string file(reinterpret_cast<const char*>(header.data()), token_file_header_bytes);
  file += tokens;
  if (input.ConsumeIntegralInRange(0, 7) == 1) {
    file.resize(input.ConsumeIntegralInRange<std::size_t>(0, file.size()));
  }
  return file;
}

void check_samples(const TokenDataset& data, const DatasetOptions& options, std::int64_t step) {
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(options.sequence_length));
  std::vector<std::uint32_t> targets(tokens.size());
  const auto check = [&] {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      PPTRAIN_ASSERT(tokens[i] < options.vocabulary_size && targets[i] < options.vocabulary_size,
                     "{} and {} of {}", tokens[i], targets[i], options.vocabulary_size);
      PPTRAIN_ASSERT(i == 0 || tokens[i] == targets[i - 1], "token {} is no target", i);
    }
  };
  for (std::int64_t index = 0; index < options.global_batch_size; ++index) {
    data.sample(step, index, tokens.data(), targets.data());
    check();
  }
  data.window(data.num_windows() - 1, tokens.data(), targets.data());
  check();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const std::vector<std::string> names = {folder.path("a.bin"), folder.path("b.txt"),
                                                 folder.path("c.bin")};
  FuzzedDataProvider input(data, size);
  DatasetOptions options;
  options.vocabulary_size = input.ConsumeIntegralInRange<std::int64_t>(1, 2147483647);
  options.sequence_length = input.ConsumeIntegralInRange<std::int64_t>(1, 64);
  options.global_batch_size = input.ConsumeIntegralInRange<std::int64_t>(1, 8);
  options.shuffle = input.ConsumeBool();
  options.seed = input.ConsumeIntegral<std::uint64_t>();
  options.source = "fuzzed";
  const auto step = input.ConsumeIntegralInRange<std::int64_t>(0, std::int64_t{1} << 48);
  std::vector<std::string> paths(names.begin(), names.begin() + input.ConsumeIntegralInRange(1, 3));
  for (const std::string& path : paths) write_bytes(path, some_tokens(input));
  try {
    check_samples(TokenDataset(paths, options), options, step);
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
  return 0;
}
