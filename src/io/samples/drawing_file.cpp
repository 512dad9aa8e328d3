#include "io/samples/drawing_file.hpp"

#include <fmt/format.h>

namespace pptrain {
namespace {

constexpr std::int64_t most_latent_bytes = std::int64_t{1} << 50;  // read block by block

}  // namespace

DrawingFile::DrawingFile(const std::string& path, const DrawingFileOptions& options)
    : file_(path, options.source), options_(options), images_(file_, options.image) {
  file_.open({"/latents and /images", "both datasets", "correct the layers of [model] or the file"},
             [this] {
               open();
               check_latents();
               images_.check();
             });
}

void DrawingFile::open() {
  const Hdf5Source source = open_to_read(file_.path());
  images_.open(source, options_.min_rows);
  latents_.emplace(
      Hdf5Array::Place::dataset, source.file, "latents",
      Hdf5Expected{
          Hdf5Expected::Kind::real, {images_.count(), options_.inputs}, most_latent_bytes});
}

void DrawingFile::check_latents() const {
  const auto bad =
      first_row_not_finite(num_rows(), options_.inputs,
                           [&](Interval rows, float* values) { latents_->rows(rows, values); });
  if (!bad) return;
  file_.refuse(fmt::format("row {} of /latents holds NaN or infinity", *bad),
               "nothing can be drawn from it", "correct the file");
}

void DrawingFile::row(std::int64_t index, const SampleSlot& slot) const {
  if (slot.features != nullptr) {
    file_.read("row", index, [&] { latents_->rows({index, index + 1}, slot.features); });
  }
  if (slot.drawing == nullptr) return;
  const std::vector<float> image = images_.image(index);
  const auto channels = static_cast<std::size_t>(options_.image.channels),
             pixels = image.size() / channels;
  for (std::size_t i = 0; i < image.size(); ++i)
    slot.drawing[i % pixels * channels + i / pixels] = image[i];
}

}  // namespace pptrain
