#include "io/feature_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"

namespace pptrain {
namespace {

constexpr std::int64_t most_feature_bytes = std::int64_t{1} << 50;  // read block by block
constexpr std::int64_t most_label_bytes = std::int64_t{1} << 36;    // kept in memory

}  // namespace

FeatureFile::FeatureFile(const std::string& path, const FeatureFileOptions& options) : path_(path), options_(options) {
  silence_hdf5();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    refuse("the file does not exist", "[data] names it", "check the path, or write \"synthetic\"");
  }
  try {
    open();
    check_features();
  } catch (const Hdf5Mismatch& mismatch) {
    refuse(fmt::format("/{} is not what the model takes", mismatch.name()), mismatch.reason(),
           "correct [model] input_size or the file (docs/models.md)");
  } catch (const Hdf5Failure& failure) {
    refuse("the file cannot be read as HDF5 with /features and /labels", failure.what(),
           "write both datasets (docs/models.md)");
  }
}

void FeatureFile::refuse(const std::string& problem, const std::string& reason, const std::string& suggestion) const {
  throw_bad_input({options_.source, fmt::format("{}: {}", path_, problem), reason, suggestion});
}

void FeatureFile::open() {
  const Hdf5Source source = open_to_read(path_);
  features_.emplace(Hdf5Array::Place::dataset, source.file, "features",
                    Hdf5Expected{Hdf5Expected::Kind::real, {Hdf5Expected::any, options_.inputs}, most_feature_bytes});
  read_labels(source.file);
}

void FeatureFile::read_labels(const Hdf5Handle& file) {
  const std::int64_t rows = features_->shape()[0];
  const Hdf5Array labels(Hdf5Array::Place::dataset, file, "labels",
                         {Hdf5Expected::Kind::integer, {rows}, most_label_bytes});
  if (rows < options_.min_rows) {
    refuse(fmt::format("{} rows are too few", rows), fmt::format("one global batch takes {}", options_.min_rows),
           "name more data, or lower global_batch_size");
  }
  const std::vector<std::int64_t> values = labels.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (0 <= values[i] && values[i] < options_.classes) continue;
    refuse(fmt::format("row {} has label {}", i, values[i]),
           fmt::format("the model has classes 0 to {}", options_.classes - 1), "correct [model] classes or the file");
  }
  labels_.assign(values.begin(), values.end());
}

/// Reads in blocks, so that a large file is never in memory whole.
void FeatureFile::check_features() const {
  const std::int64_t block = std::max<std::int64_t>(1, (1 << 20) / options_.inputs);
  std::vector<float> values;
  for (std::int64_t first = 0; first < num_rows(); first += block) {
    const std::int64_t count = std::min(block, num_rows() - first);
    values.resize(static_cast<std::size_t>(count * options_.inputs));
    features_->rows({first, first + count}, values.data());
    const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) continue;
    refuse(fmt::format("row {} of /features holds NaN or infinity", first + (bad - values.begin()) / options_.inputs),
           "nothing can be learned from it", "correct the file");
  }
}

void FeatureFile::row(std::int64_t index, const SampleSlot& slot) const {
  if (slot.targets != nullptr) *slot.targets = labels_[static_cast<std::size_t>(index)];
  if (slot.features == nullptr) return;
  try {
    features_->rows({index, index + 1}, slot.features);
  } catch (const Hdf5Failure& failure) {
    throw_runtime_failure({path_, fmt::format("row {} can no longer be read", index), failure.reason(),
                           "leave the file as it is while the job runs"});
  }
}

}  // namespace pptrain
