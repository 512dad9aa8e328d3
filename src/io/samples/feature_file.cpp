#include "io/samples/feature_file.hpp"

#include <fmt/format.h>

namespace pptrain {
namespace {

constexpr std::int64_t most_feature_bytes = std::int64_t{1} << 50;  // read block by block
constexpr std::int64_t most_label_bytes = std::int64_t{1} << 36;    // kept in memory

}  // namespace

FeatureFile::FeatureFile(const std::string& path, const FeatureFileOptions& options)
    : file_(path, options.source), options_(options) {
  file_.open({"/features and /labels", "both datasets", "correct [model] input_size or the file"},
             [this] {
               open();
               check_features();
             });
}

void FeatureFile::open() {
  const Hdf5Source source = open_to_read(file_.path());
  features_.emplace(
      Hdf5Array::Place::dataset, source.file, "features",
      Hdf5Expected{
          Hdf5Expected::Kind::real, {Hdf5Expected::any, options_.inputs}, most_feature_bytes});
  read_labels(source.file);
}

void FeatureFile::read_labels(const Hdf5Handle& file) {
  const std::int64_t rows = features_->shape()[0];
  const Hdf5Array labels(Hdf5Array::Place::dataset, file, "labels",
                         {Hdf5Expected::Kind::integer, {rows}, most_label_bytes});
  if (rows < options_.min_rows) {
    file_.refuse(fmt::format("{} rows are too few", rows),
                 fmt::format("one global batch takes {}", options_.min_rows),
                 "name more data, or lower global_batch_size");
  }
  const std::vector<std::int64_t> values = labels.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (0 <= values[i] && values[i] < options_.classes) continue;
    file_.refuse(fmt::format("row {} has label {}", i, values[i]),
                 fmt::format("the model has classes 0 to {}", options_.classes - 1),
                 "correct [model] classes or the file");
  }
  labels_.assign(values.begin(), values.end());
}

void FeatureFile::check_features() const {
  const auto bad =
      first_row_not_finite(num_rows(), options_.inputs,
                           [&](Interval rows, float* values) { features_->rows(rows, values); });
  if (!bad) return;
  file_.refuse(fmt::format("row {} of /features holds NaN or infinity", *bad),
               "nothing can be learned from it", "correct the file");
}

void FeatureFile::row(std::int64_t index, const SampleSlot& slot) const {
  if (slot.targets != nullptr) *slot.targets = labels_[static_cast<std::size_t>(index)];
  if (slot.features == nullptr) return;
  file_.read("row", index, [&] { features_->rows({index, index + 1}, slot.features); });
}

}  // namespace pptrain
