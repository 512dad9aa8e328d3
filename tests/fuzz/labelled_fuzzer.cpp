// Files of masked text, of images with labels and of pairs of texts.
#include <cstring>

#include "fuzz.hpp"
#include "io/samples/image_file.hpp"
#include "io/samples/masked_text_file.hpp"
#include "io/samples/pair_file.hpp"
#include "strange_hdf5.hpp"

using namespace pptrain;

namespace {

constexpr hsize_t num_rows = 6;
constexpr std::int64_t length = 4;
constexpr std::int64_t num_tokens = 9;
constexpr std::int64_t num_classes = 5;
constexpr ImageShape image = {1, 4, 4, 2};

/// How a sound file is written: in HDF5's newest format, in chunks that are deflated, pixels as
/// fp32.
struct Form {
  bool latest = false;
  bool chunked = false;
  bool real = false;
};

void put(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& extents,
         const Form& form, double value) {
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
  std::vector<hsize_t> chunk = extents;
  chunk[0] = 2;
  if (form.chunked) H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
  if (form.chunked) H5Pset_deflate(properties.get(), 6);
  const Hdf5Handle space(
      H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
      "space");
  const Hdf5Handle dataset(
      H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, name);
  hsize_t elements = 1;
  for (const hsize_t extent : extents) elements *= extent;
  const std::vector<double> values(elements, value);
  check_hdf5(
      H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
      name);
}

template <class Put>
std::string sound(const std::string& path, const Form& form, const Put& put_all) {
  {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "access");
    if (form.latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                          H5Fclose, "file");
    put_all(file.get());
  }
  return bytes_of(path);
}

std::string sound_text(const std::string& path, const Form& form) {
  return sound(path, form, [&](hid_t file) {
    for (const char* name : {"input_ids", "token_type_ids", "labels"}) {
      put(file, name, H5T_STD_I32LE, {num_rows, static_cast<hsize_t>(length)}, form, 1);
    }
  });
}

std::string sound_images(const std::string& path, const Form& form) {
  return sound(path, form, [&](hid_t file) {
    put(file, "images", form.real ? H5T_IEEE_F32LE : H5T_STD_U8LE, {num_rows, 1, 4, 4}, form, 1);
    put(file, "labels", H5T_STD_I32LE, {num_rows}, form, 3);
  });
}

std::string sound_pairs(const std::string& path, const Form& form) {
  return sound(path, form, [&](hid_t file) {
    put(file, "source", H5T_STD_I32LE, {num_rows, static_cast<hsize_t>(length + 1)}, form, 2);
    put(file, "target", H5T_STD_I32LE, {num_rows, static_cast<hsize_t>(length)}, form, 1);
  });
}

void read_text(const std::string& path) {
  const MaskedTextFile file(path, {length, num_tokens, 2, 1, "fuzzed"});
  std::vector<std::uint32_t> tokens(length), types(length);
  std::vector<std::int32_t> targets(length);
  for (const std::int64_t row : {std::int64_t{0}, file.num_rows() - 1}) {
    SampleSlot slot;
    slot.tokens = tokens.data();
    slot.token_types = types.data();
    slot.targets = targets.data();
    file.row(row, slot);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      PPTRAIN_ASSERT(tokens[i] < num_tokens && types[i] < 2, "token {} of type {}", tokens[i],
                     types[i]);
      PPTRAIN_ASSERT(targets[i] == -100 || (0 <= targets[i] && targets[i] < num_tokens), "label {}",
                     targets[i]);
    }
  }
}

void read_pairs(const std::string& path) {
  const PairFile file(path, {{length + 1, 0, 0}, length, num_tokens, 1, "fuzzed"});
  std::vector<std::uint32_t> tokens(length + 1), decoder(length);
  std::vector<std::int32_t> targets(length);
  std::int32_t end = -1;
  for (const std::int64_t row : {std::int64_t{0}, file.num_rows() - 1}) {
    SampleSlot slot;
    slot.tokens = tokens.data();
    slot.decoder_tokens = decoder.data();
    slot.targets = targets.data();
    slot.input_length = &end;
    file.row(row, slot);
    PPTRAIN_ASSERT(0 < end && end <= length + 1, "a source of {} tokens", end);
    for (const std::uint32_t token : tokens) PPTRAIN_ASSERT(token < num_tokens, "token {}", token);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      PPTRAIN_ASSERT(decoder[i] < num_tokens, "token {} of the decoder", decoder[i]);
      PPTRAIN_ASSERT(targets[i] == -100 || (0 <= targets[i] && targets[i] < num_tokens),
                     "target {}", targets[i]);
    }
  }
}

bool is_outside(float value) {
  const unsigned char outside[sizeof value] = {outside_byte, outside_byte, outside_byte,
                                               outside_byte};
  return std::memcmp(&value, outside, sizeof value) == 0;
}

void read_images(const std::string& path) {
  const ImageFile file(path, {image, num_classes, 1, "fuzzed"});
  std::vector<float> pixels(16);
  std::int32_t label = -1;
  for (const std::int64_t row : {std::int64_t{0}, file.num_rows() - 1}) {
    file.row(row, {nullptr, &label, pixels.data()});
    PPTRAIN_ASSERT(0 <= label && label < num_classes, "label {}", label);
    for (const float pixel : pixels) {
      PPTRAIN_ASSERT(std::isfinite(pixel) && !is_outside(pixel), "a pixel of {}", pixel);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const std::string path = folder.path("samples.h5");
  static const std::vector<std::string> texts = {sound_text(path, {}),
                                                 sound_text(path, {true, true})};
  static const std::vector<std::string> images = {sound_images(path, {}),
                                                  sound_images(path, {true, false, true}),
                                                  sound_images(path, {false, true, true})};
  static const std::vector<std::string> pairs = {sound_pairs(path, {}),
                                                 sound_pairs(path, {true, true})};
  struct Reader {
    const std::vector<std::string>& files;
    StrangeHdf5 strange;
    void (*read)(const std::string& path);
  };
  static const Reader readers[] = {
      {texts, StrangeHdf5(folder, {"/input_ids", "/token_type_ids", "/labels"}, {"a"}), read_text},
      {images, StrangeHdf5(folder, {"/images", "/labels"}, {"a"}), read_images},
      {pairs, StrangeHdf5(folder, {"/source", "/target"}, {"a"}), read_pairs}};
  FuzzedDataProvider input(data, size);
  const Reader& reader =
      readers[input.ConsumeIntegralInRange<std::size_t>(0, std::size(readers) - 1)];
  write_bytes(path,
              reader.files[input.ConsumeIntegralInRange<std::size_t>(0, reader.files.size() - 1)]);
  reader.strange.change(path, input, input.ConsumeBool());
  try {
    reader.read(path);
  } catch (const Error&) {
  }
  return 0;
}
