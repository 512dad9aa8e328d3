#include <algorithm>
#include <cstring>

#include "data/token_dataset.hpp"
#include "fuzz.hpp"
#include "fuzz_folder.hpp"

using namespace pptrain;

namespace {

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// An index of few sequences that is right but for what the input changes: single entries, or any
/// bytes.
std::string some_index(FuzzedDataProvider& input, std::int64_t width, std::int64_t& num_tokens) {
  const auto num_sequences = input.ConsumeIntegralInRange<std::size_t>(0, 8);
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> documents = {0};
  for (std::size_t s = 0; s < num_sequences; ++s) {
    lengths.push_back(input.ConsumeIntegralInRange(0, 20));
    offsets.push_back(num_tokens * width);
    num_tokens += lengths.back();
    if (input.ConsumeBool()) documents.push_back(static_cast<std::int64_t>(s));
  }
  documents.push_back(static_cast<std::int64_t>(num_sequences));
  const auto code = input.ConsumeBool() ? input.ConsumeIntegral<std::uint8_t>()
                                        : static_cast<std::uint8_t>(width == 2 ? 8 : 4);
  std::string index("MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17);
  index += static_cast<char>(code);
  index += raw_bytes(std::vector<std::uint64_t>{lengths.size(), documents.size()});
  index += raw_bytes(lengths) + raw_bytes(offsets) + raw_bytes(documents);
  for (int change = input.ConsumeIntegralInRange(0, 3); change > 0; --change) {
    index[input.ConsumeIntegralInRange<std::size_t>(0, index.size() - 1)] =
        input.ConsumeIntegral<char>();
  }
  if (input.ConsumeIntegralInRange(0, 7) == 1) {
    index.resize(input.ConsumeIntegralInRange<std::size_t>(0, index.size()));
  }
  return index;
}

void check_sample(const TokenDataset& data, const DatasetOptions& options, std::int64_t step) {
  const auto length = static_cast<std::size_t>(options.sequence_length);
  std::vector<std::uint32_t> tokens(length);
  std::vector<std::int32_t> targets(length);
  std::vector<std::int32_t> begins(length);
  SampleSlot slot;
  slot.tokens = tokens.data();
  slot.targets = targets.data();
  slot.document_begin = begins.data();
  data.sample(step, 0, slot);
  for (std::size_t t = 0; t < length; ++t) {
    PPTRAIN_ASSERT(tokens[t] < options.vocabulary_size, "token {}", tokens[t]);
    PPTRAIN_ASSERT(t == 0 || static_cast<std::int64_t>(tokens[t]) == targets[t - 1],
                   "token {} is no target", t);
    const bool begins_here = begins[t] == static_cast<std::int32_t>(t);
    PPTRAIN_ASSERT(begins_here || (t > 0 && begins[t] == begins[t - 1]), "position {} begins at {}",
                   t, begins[t]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  FuzzedDataProvider input(data, size);
  DatasetOptions options;
  options.vocabulary_size = input.ConsumeIntegralInRange<std::int64_t>(1, 2147483647);
  options.sequence_length = input.ConsumeIntegralInRange<std::int64_t>(1, 64);
  options.shuffle = input.ConsumeBool();
  options.source = "fuzzed";
  options.needs_documents = input.ConsumeBool();
  if (input.ConsumeBool())
    options.end_of_document = input.ConsumeIntegralInRange<std::int64_t>(0, 300);
  const auto step = input.ConsumeIntegralInRange<std::int64_t>(0, std::int64_t{1} << 48);
  const std::int64_t width = input.ConsumeBool() ? 2 : 4;
  std::int64_t num_tokens = 0;
  write_bytes(folder.path("x.idx"), some_index(input, width, num_tokens));
  std::string tokens = input.ConsumeRemainingBytesAsString();
  // Sizes that do not agree are refused at once, so that most inputs get the size that is promised.
  if (tokens.empty() || tokens.front() % 8 != 0)
    tokens.resize(static_cast<std::size_t>(num_tokens * width));
  write_bytes(folder.path("x.bin"), tokens);
  try {
    check_sample(TokenDataset({folder.path(size % 2 == 0 ? "x" : "x.bin")}, options), options,
                 step);
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
  return 0;
}
