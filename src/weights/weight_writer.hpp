#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/interval.hpp"
#include "weights/weight_tensor.hpp"

namespace pptrain {

/// Longest file of weights, in bytes of elements, where none is asked for: what hubs and file
/// systems take well.
inline constexpr std::int64_t default_piece_bytes = 5'000'000'000;

/// Writes a folder of weights that `WeightFiles` and Hugging Face's libraries read:
/// `model.safetensors`, or where that would be too long `model-00001-of-00003.safetensors` and so
/// on with `model.safetensors.index.json`.
///
/// The files appear under their names when all of them are whole, the index last; until then, and
/// where writing fails, the folder holds none of them. One process writes a folder.
class WeightWriter {
 public:
  /// Lays the tensors out in this order, a new file wherever one would exceed `piece_bytes`; a
  /// longer tensor has a file of its own. Names differ and types are convertible (`is_convertible`)
  /// or count (`is_count`). The folder is made where it is missing; one that cannot be written, or
  /// that holds weights already, throws `Error` (exit code 2, or 4 on a full disk).
  WeightWriter(const std::string& folder, std::vector<WeightTensor> tensors,
               std::int64_t piece_bytes = default_piece_bytes);

  /// Writes elements from `begin` of the flattened tensor on, row-major, rounded to its type. Each
  /// element is written once, in slices of any order. A finite value that F16 cannot hold throws
  /// `Error` (exit code 2) with tensor and element. Failures of the disk are told by `commit`.
  void write(const std::string& name, std::int64_t begin, std::span<const float> values);

  /// Writes out what is buffered, after every element of every tensor was written, so that a full
  /// disk is found before any file is in its place: it throws `Error` with exit code 4.
  void flush();

  /// Puts the files in their places, after every element of every tensor was written. A full disk
  /// throws `Error` with exit code 4.
  void commit();

 private:
  /// A file of the folder.
  struct Piece {
    std::string name;
    std::vector<std::size_t> tensors;
    std::unique_ptr<AtomicFile> file;
  };
  struct Target {
    std::size_t tensor = 0;
    std::size_t piece = 0;
    std::int64_t begin = 0;  ///< byte of the file
    std::vector<Interval> written;
  };

  void divide_into_pieces(std::int64_t piece_bytes);
  void open_pieces();
  std::string header_of(const Piece& piece) const;
  void write_values(const Target& target, std::int64_t begin, std::span<const float> values);
  void check_complete();
  std::string index_text() const;

  std::string folder_;
  std::vector<WeightTensor> tensors_;
  std::vector<Piece> pieces_;
  std::unique_ptr<AtomicFile> index_;  ///< of several pieces
  std::map<std::string, Target> targets_;
};

}  // namespace pptrain
