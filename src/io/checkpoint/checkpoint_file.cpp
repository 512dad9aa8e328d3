#include "io/checkpoint/checkpoint_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "io/checkpoint/data_file.hpp"
#include "io/hdf5/hdf5_output.hpp"
#include "io/hdf5/hdf5_read.hpp"

namespace pptrain {
namespace {

const std::string schema = "pptrain.checkpoint/1";
constexpr std::int64_t element_bytes_in_file = sizeof(float);
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;  // of a dataset, whose values are read
                                                            // block by block
constexpr std::int64_t most_schema_bytes = 256;
constexpr hsize_t page_bytes = 4096;
constexpr hsize_t metadata_bytes = 1 << 16;  // allocated at a time, so that it lies together

std::int64_t bytes_of(const CheckpointDataset& dataset) {
  return dataset.num_elements() * element_bytes_in_file;
}

/// Everything but the values has checksums of HDF5 from format 1.8 on. Datasets that are large
/// begin on a page.
Hdf5Handle access_properties() {
  Hdf5Handle properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "making access properties");
  check_hdf5(H5Pset_libver_bounds(properties.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST),
             "setting the file format");
  check_hdf5(H5Pset_alignment(properties.get(), page_bytes, page_bytes), "setting the alignment");
  check_hdf5(H5Pset_meta_block_size(properties.get(), metadata_bytes),
             "setting the size of metadata");
  return properties;
}

/// A layout in one piece, with room at once and never filled: who writes the values writes all of
/// them.
Hdf5Handle contiguous() {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "making creation properties");
  check_hdf5(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "setting the layout");
  check_hdf5(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY),
             "setting the time of allocation");
  check_hdf5(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER),
             "setting the time of filling");
  check_hdf5(H5Pset_obj_track_times(properties.get(), false), "leaving times out");
  return properties;
}

Hdf5Handle with_parents() {
  Hdf5Handle properties(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "making link properties");
  check_hdf5(H5Pset_create_intermediate_group(properties.get(), 1), "asking for groups");
  return properties;
}

std::int64_t offset_of(const Hdf5Handle& dataset, const std::string& name) {
  const haddr_t offset = H5Dget_offset(dataset.get());
  if (offset == HADDR_UNDEF)
    throw Hdf5Failure("finding " + name + " in the file", "it does not lie there in one piece");
  return static_cast<std::int64_t>(offset);
}

void create_dataset(const Hdf5Handle& file, CheckpointDataset& dataset) {
  const std::vector<hsize_t> extents(dataset.shape.begin(), dataset.shape.end());
  const Hdf5Handle space(
      H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
      "making a data space");
  const Hdf5Handle links = with_parents();
  const Hdf5Handle properties = contiguous();
  const Hdf5Handle made(H5Dcreate2(file.get(), dataset.path.c_str(), H5T_IEEE_F32LE, space.get(),
                                   links.get(), properties.get(), H5P_DEFAULT),
                        H5Dclose, "creating " + dataset.path);
  dataset.offset = offset_of(made, dataset.path);
}

void write_digests(const Hdf5Handle& file, const CheckpointDataset& dataset) {
  const Hdf5Handle there(H5Dopen2(file.get(), dataset.path.c_str(), H5P_DEFAULT), H5Dclose,
                         "opening " + dataset.path);
  const hsize_t count = dataset.digests.size();
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, "making a data space");
  const Hdf5Handle attribute(H5Acreate2(there.get(), checkpoint_digest_name, H5T_STD_U64LE,
                                        space.get(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose, "creating a digest");
  check_hdf5(H5Awrite(attribute.get(), H5T_NATIVE_UINT64, dataset.digests.data()),
             "writing a digest");
}

void read_digests(const Hdf5Handle& dataset, CheckpointDataset& read) {
  const std::int64_t blocks = read.num_blocks();
  const auto bytes = static_cast<std::int64_t>(blocks * sizeof(std::uint64_t));
  read.digests = Hdf5Array(Hdf5Array::Place::attribute, dataset, checkpoint_digest_name,
                           {Hdf5Expected::Kind::integer, {blocks}, bytes})
                     .values<std::uint64_t>();
}

/// Paths of what is in a group, in alphabetical order; nothing where there is none.
std::vector<std::string> children_of(const Hdf5Handle& file, const std::string& group) {
  if (!has_link(file, group)) return {};
  const Hdf5Handle opened = open_group(file, group);
  std::vector<std::string> names = names_in(opened, group);
  for (std::string& name : names) name = group + "/" + name;
  return names;
}

CheckpointDataset read_dataset(const Hdf5Handle& file, const std::string& name) {
  const Hdf5Array array(Hdf5Array::Place::dataset, file, name,
                        {Hdf5Expected::Kind::fp32, {}, most_bytes, true});
  CheckpointDataset read;
  read.path = name;
  read.shape = array.shape();
  read.offset = offset_of(array.handle(), name);
  read_digests(array.handle(), read);
  return read;
}

void check_schema(const Hdf5Handle& file, const std::string& path) {
  std::string found;
  try {
    if (H5Aexists(file.get(), "schema") > 0) {
      found = read_text(Hdf5Array::Place::attribute, file, "schema", most_schema_bytes);
    }
  } catch (const Hdf5Failure&) {
    found = "another kind of text";  // as other programs write it
  }
  if (found == schema) return;
  throw_bad_input(
      {path, "this is no checkpoint",
       found.empty() ? "it has no attribute schema" : fmt::format("its schema is \"{}\"", found),
       "name a file checkpoints/step-N.h5 of a run"});
}

/// Reads the head of a checkpoint. What is damaged throws `Hdf5Failure`, another schema `Error`
/// (exit code 2).
CheckpointHead read_head(const std::string& path) {
  const Hdf5Handle file = open_to_read(path).file;
  check_schema(file, path);
  CheckpointHead head;
  head.state = read_checkpoint_state(file, path);
  for (const std::string& name : children_of(file, "/parameters"))
    head.datasets.push_back(read_dataset(file, name));
  for (const std::string& parameter : children_of(file, "/optimizer")) {
    for (const std::string& name : children_of(file, parameter))
      head.datasets.push_back(read_dataset(file, name));
  }
  return head;
}

[[noreturn]] void throw_not_written(const std::string& path, const std::string& reason) {
  throw_runtime_failure({path, "the checkpoint cannot be written", reason, "is the disk full?"});
}

/// Refuses a file of another kind, such as one of a model's folder.
void check_is_hdf5(const std::string& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  std::string begin(signature.size(), ' ');
  std::ifstream file(path, std::ios::binary);
  // What cannot be read is told where it is opened.
  if (!file ||
      (file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == signature))
    return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  const bool is_of_model = std::filesystem::exists(folder / "config.json", ignored);
  throw_bad_input({path, "this is no checkpoint", "it does not begin as an HDF5 file does",
                   is_of_model ? fmt::format("name the model's folder, {}",
                                             folder.empty() ? "." : folder.string())
                               : "name a file checkpoints/step-N.h5 of a run"});
}

}  // namespace

std::int64_t CheckpointDataset::num_elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

int CheckpointDataset::num_blocks() const {
  return static_cast<int>((num_elements() + checkpoint_block_elements - 1) /
                          checkpoint_block_elements);
}

Interval CheckpointDataset::block(int index) const {
  const std::int64_t begin = index * checkpoint_block_elements;
  return {begin, std::min(begin + checkpoint_block_elements, num_elements())};
}

std::int64_t CheckpointDataset::block_offset(int index) const {
  return offset + index * checkpoint_block_elements * element_bytes_in_file;
}

std::uint64_t block_digest(const float* values, std::size_t count) {
  return XXH3_64bits(values, count * static_cast<std::size_t>(element_bytes_in_file));
}

/// A loop without branches, which compilers make as fast as memory.
bool all_finite(const float* values, std::size_t count) {
  constexpr std::uint32_t infinity = 0x7f800000;
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffU);
  }
  return largest < infinity;
}

void lay_out_checkpoint(const std::string& path, std::vector<CheckpointDataset>& datasets) {
  silence_hdf5();
  try {
    Hdf5Output file;
    file.open(path, H5F_ACC_TRUNC, access_properties());
    write_attribute(file.get(), "schema", schema);
    for (CheckpointDataset& dataset : datasets) create_dataset(file.handle(), dataset);
    file.close();
  } catch (const Hdf5Failure& failure) {
    throw_not_written(path, failure.reason());
  }
}

void seal_checkpoint(const std::string& path, const std::vector<CheckpointDataset>& datasets,
                     const CheckpointState& state) {
  try {
    Hdf5Output file;
    file.open(path, H5F_ACC_RDWR, access_properties());
    for (const CheckpointDataset& dataset : datasets) write_digests(file.handle(), dataset);
    write_checkpoint_state(file.handle(), state);
    file.close();
  } catch (const Hdf5Failure& failure) {
    throw_not_written(path, failure.reason());
  }
  sync_path(path);
  try {
    const CheckpointHead written = read_checkpoint_head(path);
    std::map<std::string, const CheckpointDataset*> by_path;
    for (const CheckpointDataset& dataset : written.datasets) by_path[dataset.path] = &dataset;
    for (const CheckpointDataset& dataset : datasets) {
      const auto found = by_path.find(dataset.path);
      if (found == by_path.end() || found->second->digests != dataset.digests)
        throw_not_written(path, dataset.path);
    }
  } catch (const Error& error) {
    throw_not_written(path, error.what());
  }
}

CheckpointHead read_checkpoint_head(const std::string& path) {
  silence_hdf5();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw_bad_input(
        {path, "the checkpoint does not exist", "", "check the path, or write --resume latest"});
  }
  if (std::filesystem::is_directory(path, ignored)) {
    throw_bad_input({path, "this is no checkpoint", "it is a directory",
                     "name a file checkpoints/step-N.h5 of a run"});
  }
  check_is_hdf5(path);
  try {
    CheckpointHead head = read_head(path);
    const DataFile file(path, DataFile::Mode::read);
    for (const CheckpointDataset& dataset : head.datasets) {
      if (dataset.offset + bytes_of(dataset) <= file.size()) continue;
      throw_bad_input(
          {path, dataset.path + " is torn", "the file ends before it", "name another checkpoint"});
    }
    return head;
  } catch (const Hdf5Failure& failure) {
    throw_bad_input({path, "the checkpoint cannot be read", failure.what(),
                     "it is torn or damaged; name another one"});
  }
}

void check_block(const std::string& path, const CheckpointDataset& dataset, int block,
                 const float* values) {
  const Interval elements = dataset.block(block);
  const auto count = static_cast<std::size_t>(elements.size());
  if (block_digest(values, count) != dataset.digests[block]) {
    throw_bad_input({path, dataset.path + " is damaged",
                     fmt::format("elements {} to {} are not those that were written",
                                 elements.begin, elements.end),
                     "name another checkpoint"});
  }
  if (all_finite(values, count)) return;
  throw_bad_input(
      {path, dataset.path + " holds NaN or infinity",
       fmt::format("among elements {} to {}: the training diverged", elements.begin, elements.end),
       "name an earlier checkpoint"});
}

std::string values_digest(const CheckpointHead& head) {
  std::uint64_t sum = 0;
  for (const CheckpointDataset& dataset : head.datasets) {
    sum = XXH3_64bits_withSeed(dataset.path.data(), dataset.path.size(), sum);
    sum = XXH3_64bits_withSeed(dataset.digests.data(),
                               dataset.digests.size() * sizeof(std::uint64_t), sum);
  }
  return fmt::format("{:016x}", sum);
}

std::string head_digest(const CheckpointHead& head) {
  return values_digest(head) + " " + state_digest(head.state);
}

void check_values(const std::string& path, const Hdf5Handle& dataset, const std::string& name,
                  const std::vector<float>& values) {
  if (H5Aexists(dataset.get(), checkpoint_digest_name) <= 0) return;
  CheckpointDataset read;
  read.path = name;
  read.shape = {static_cast<std::int64_t>(values.size())};
  read_digests(dataset, read);
  for (int block = 0; block < read.num_blocks(); ++block) {
    check_block(path, read, block, values.data() + read.block(block).begin);
  }
}

void check_blocks(const std::string& path, const CheckpointHead& head, int first, int stride) {
  const DataFile file(path, DataFile::Mode::read);
  std::vector<float> values;
  int number = 0;
  for (const CheckpointDataset& dataset : head.datasets) {
    for (int block = 0; block < dataset.num_blocks(); ++block) {
      if (number++ % stride != first) continue;
      values.resize(static_cast<std::size_t>(dataset.block(block).size()));
      file.read(dataset.block_offset(block), values.data(), values.size() * sizeof(float),
                dataset.path);
      check_block(path, dataset, block, values.data());
    }
  }
}

}  // namespace pptrain
