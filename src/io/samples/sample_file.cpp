#include "io/samples/sample_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "data/dataset.hpp"

namespace pptrain {

void SampleFile::open(const Wording& wording, const std::function<void()>& open) const {
  silence_hdf5();
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) {
    refuse("the file does not exist", "[data] names it", "check the path, or write \"synthetic\"");
  }
  try {
    open();
  } catch (const Hdf5Mismatch& mismatch) {
    refuse(fmt::format("/{} is not what the model takes", mismatch.name()), mismatch.reason(),
           fmt::format("{} (docs/models.md)", wording.correction));
  } catch (const Hdf5Failure& failure) {
    refuse(fmt::format("the file cannot be read as HDF5 with {}", wording.names), failure.what(),
           fmt::format("write {} (docs/models.md)", wording.all));
  }
}

void SampleFile::read(const char* what, std::int64_t index,
                      const std::function<void()>& read) const {
  try {
    read();
  } catch (const Hdf5Failure& failure) {
    throw_runtime_failure({path_, fmt::format("{} {} can no longer be read", what, index),
                           failure.reason(), "leave the file as it is while the job runs"});
  }
  stamp_.check_unchanged();
}

void SampleFile::check_still_below(std::int64_t end, bool is_target, std::int64_t index,
                                   const std::vector<std::int64_t>& numbers) const {
  for (const std::int64_t number : numbers) {
    if ((0 <= number && number < end) || (is_target && number == no_target)) continue;
    throw_runtime_failure(
        {path_, fmt::format("sample {} has {} now", index, number),
         fmt::format("all numbers there were from 0 to {} when the job began", end - 1),
         "leave the file as it is while the job runs"});
  }
}

void SampleFile::refuse(const std::string& problem, const std::string& reason,
                        const std::string& suggestion) const {
  throw_bad_input({source_, fmt::format("{}: {}", path_, problem), reason, suggestion});
}

std::uint64_t read_tokenizer(const Hdf5Source& source) {
  constexpr std::int64_t most_bytes = 64;
  if (check_hdf5(H5Aexists(source.file.get(), tokenizer_attribute), "looking for an attribute") ==
      0)
    return 0;
  return digest_of_text(
      read_text(Hdf5Array::Place::attribute, source.file, tokenizer_attribute, most_bytes));
}

std::optional<std::int64_t> first_row_not_finite(
    std::int64_t rows, std::int64_t columns, const std::function<void(Interval, float*)>& read) {
  const std::int64_t block = std::max<std::int64_t>(1, (1 << 20) / columns);
  std::vector<float> values;
  for (std::int64_t first = 0; first < rows; first += block) {
    const Interval some = {first, std::min(first + block, rows)};
    values.resize(static_cast<std::size_t>(some.size() * columns));
    read(some, values.data());
    const auto bad =
        std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (bad != values.end()) return first + (bad - values.begin()) / columns;
  }
  return {};
}

}  // namespace pptrain
