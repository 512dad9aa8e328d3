#include "io/feature_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"

namespace pptrain {

FeatureFile::FeatureFile(const std::string& path, const FeatureFileOptions& options) : path_(path), options_(options) {
  silence_hdf5();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    refuse("the file does not exist", "[data] names it", "check the path, or write \"synthetic\"");
  }
  try {
    open();
    read_labels();
    check_features();
  } catch (const Hdf5Failure& failure) {
    refuse("the file cannot be read as HDF5 with /features and /labels", failure.reason(),
           "write both datasets (docs/models.md)");
  }
}

void FeatureFile::refuse(const std::string& problem, const std::string& reason, const std::string& suggestion) const {
  throw_bad_input({options_.source, fmt::format("{}: {}", path_, problem), reason, suggestion});
}

void FeatureFile::open() {
  file_ = Hdf5Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "opening the file");
  features_ = Hdf5Handle(H5Dopen2(file_.get(), "features", H5P_DEFAULT), H5Dclose, "opening /features");
  const std::vector<std::int64_t> shape = shape_of(features_);
  if (shape.size() != 2 || shape[1] != options_.inputs) {
    refuse(fmt::format("/features has shape {}", shape_text(shape)),
           fmt::format("samples have input_size = {} numbers, so it is (n, {})", options_.inputs, options_.inputs),
           "correct [model] input_size or the file");
  }
  if (class_of(features_) != H5T_FLOAT) refuse("/features is not floating-point", "", "write it as float32");
}

void FeatureFile::read_labels() {
  const Hdf5Handle labels(H5Dopen2(file_.get(), "labels", H5P_DEFAULT), H5Dclose, "opening /labels");
  const std::int64_t rows = shape_of(features_)[0];
  const std::vector<std::int64_t> shape = shape_of(labels);
  if (shape != std::vector<std::int64_t>{rows}) {
    refuse(fmt::format("/labels has shape {}", shape_text(shape)),
           fmt::format("/features has {} rows and each has one label", rows), "correct the file");
  }
  if (class_of(labels) != H5T_INTEGER) refuse("/labels are not integers", "", "write them as int32");
  if (rows < options_.min_rows) {
    refuse(fmt::format("{} rows are too few", rows), fmt::format("one global batch takes {}", options_.min_rows),
           "name more data, or lower global_batch_size");
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows));
  check_hdf5(H5Dread(labels.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "reading /labels");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (0 <= values[i] && values[i] < options_.classes) continue;
    refuse(fmt::format("row {} has label {}", i, values[i]),
           fmt::format("the model has classes 0 to {}", options_.classes - 1), "correct [model] classes or the file");
  }
  labels_.assign(values.begin(), values.end());
}

/// In blocks, so that a large file is never in memory whole.
void FeatureFile::check_features() const {
  const std::int64_t block = std::max<std::int64_t>(1, (1 << 20) / options_.inputs);
  std::vector<float> values;
  for (std::int64_t first = 0; first < num_rows(); first += block) {
    const std::int64_t count = std::min(block, num_rows() - first);
    values.resize(static_cast<std::size_t>(count * options_.inputs));
    read_rows(first, count, values.data());
    const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) continue;
    refuse(fmt::format("row {} of /features holds NaN or infinity", first + (bad - values.begin()) / options_.inputs),
           "nothing can be learned from it", "correct the file");
  }
}

void FeatureFile::read_rows(std::int64_t first, std::int64_t count, float* out) const {
  const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
  const hsize_t extent[2] = {static_cast<hsize_t>(count), static_cast<hsize_t>(options_.inputs)};
  const Hdf5Handle there(H5Dget_space(features_.get()), H5Sclose, "reading /features");
  check_hdf5(H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, start, nullptr, extent, nullptr), "reading /features");
  const Hdf5Handle here(H5Screate_simple(2, extent, nullptr), H5Sclose, "reading /features");
  check_hdf5(H5Dread(features_.get(), H5T_NATIVE_FLOAT, here.get(), there.get(), H5P_DEFAULT, out),
             "reading /features");
}

void FeatureFile::row(std::int64_t index, const SampleSlot& slot) const {
  if (slot.targets != nullptr) *slot.targets = labels_[static_cast<std::size_t>(index)];
  if (slot.features == nullptr) return;
  try {
    read_rows(index, 1, slot.features);
  } catch (const Hdf5Failure& failure) {
    throw_runtime_failure({path_, fmt::format("row {} can no longer be read", index), failure.reason(),
                           "leave the file as it is while the job runs"});
  }
}

}  // namespace pptrain
