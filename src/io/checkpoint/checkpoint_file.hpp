#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/interval.hpp"
#include "io/checkpoint/checkpoint_state.hpp"

namespace pptrain {

/// A checkpoint is one HDF5 file: /parameters/NAME and /optimizer/NAME/QUANTITY, fp32 in logical
/// shape, and /state. Each dataset lies in one piece, so that every rank can write its part where
/// HDF5 has made room for it. A dataset is divided into blocks of 4 MiB; its attribute `xxh3_64`
/// holds XXH3 (64 bits) of the bytes of each.
constexpr std::int64_t checkpoint_block_elements = 1 << 20;

/// One dataset of a checkpoint.
struct CheckpointDataset {
  std::string path;                 ///< "/parameters/wte.weight"
  std::vector<std::int64_t> shape;  ///< logical
  std::int64_t offset = 0;          ///< of the first byte in the file
  std::vector<std::uint64_t> digests;

  /// Product of the extents; 1 of a scalar.
  std::int64_t num_elements() const;
  /// Blocks of `checkpoint_block_elements` elements; the last one may have fewer.
  int num_blocks() const;
  /// Elements of the flattened dataset.
  Interval block(int index) const;
  /// Byte of the file at which a block begins.
  std::int64_t block_offset(int index) const;
};

/// XXH3 of a block.
std::uint64_t block_digest(const float* values, std::size_t count);

/// Creates the file with room for the datasets and fills in their offsets; the values are written
/// by others. Throws `Error` (exit code 4).
void lay_out_checkpoint(const std::string& path, std::vector<CheckpointDataset>& datasets);

/// After all values: writes digests and state, looks that they can be read, and brings the file to
/// the disk. Throws `Error` (exit code 4).
void seal_checkpoint(const std::string& path, const std::vector<CheckpointDataset>& datasets,
                     const CheckpointState& state);

/// The datasets and the state of a checkpoint. Their values are not read.
struct CheckpointHead {
  CheckpointState state;
  std::vector<CheckpointDataset> datasets;  ///< parameters first, in alphabetical order
};

/// A file that is missing, foreign or torn throws `Error` (exit code 2) with what is wrong.
CheckpointHead read_checkpoint_head(const std::string& path);

/// Whether all are numbers: neither NaN nor infinite.
bool all_finite(const float* values, std::size_t count);

/// Throws `Error` (exit code 2) that names the dataset where the values of a block are not those
/// that were written, or where some are no numbers: nothing can go on from them.
void check_block(const std::string& path, const CheckpointDataset& dataset, int block,
                 const float* values);

/// Throws `Error` (exit code 2) that names the dataset where its `values` are not those that were
/// written, or where some are no numbers. A dataset without digests is taken as it is. `name` is
/// the dataset's for the message.
void check_values(const std::string& path, const Hdf5Handle& dataset, const std::string& name,
                  const std::vector<float>& values);

/// A text that is equal for checkpoints with equal values, bit for bit.
std::string values_digest(const CheckpointHead& head);

/// A text that is equal for checkpoints with equal values and equal state, bit for bit.
std::string head_digest(const CheckpointHead& head);

/// Reads and checks blocks `first`, `first` + `stride`, ... of all datasets.
void check_blocks(const std::string& path, const CheckpointHead& head, int first = 0,
                  int stride = 1);

}  // namespace pptrain
