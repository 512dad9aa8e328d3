#include "io/hdf5/filtered_chunks.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cstddef>

namespace pptrain {
namespace {

constexpr std::size_t fletcher32_bytes = 4;
constexpr unsigned most_filters = 8;

using Bytes = std::vector<unsigned char>;

class FilteredChunks {
 public:
  FilteredChunks(const Hdf5Handle& dataset, std::string name, std::size_t chunk_bytes,
                 std::size_t file_bytes)
      : dataset_(dataset),
        name_(std::move(name)),
        chunk_bytes_(chunk_bytes),
        file_bytes_(file_bytes) {
    const Hdf5Handle properties(H5Dget_create_plist(dataset.get()), H5Pclose,
                                "reading the layout of " + name_);
    const int count =
        check_hdf5(H5Pget_nfilters(properties.get()), "reading the filters of " + name_);
    if (count > static_cast<int>(most_filters)) refuse(fmt::format("it has {} filters", count));
    for (int i = 0; i < count; ++i) {
      unsigned flags = 0;
      std::size_t num_values = 0;
      filters_.push_back(H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags,
                                        &num_values, nullptr, 0, nullptr, nullptr));
    }
    check_order();
  }

  void check(const std::vector<hsize_t>& offset) const {
    hsize_t stored = 0;
    check_hdf5(H5Dget_chunk_storage_size(dataset_.get(), offset.data(), &stored),
               "reading a chunk of " + name_);
    if (stored == 0 || stored > file_bytes_) refuse("its values are not all there");
    Bytes bytes(stored);
    std::uint32_t left_out = 0;
    check_hdf5(H5Dread_chunk(dataset_.get(), H5P_DEFAULT, offset.data(), &left_out, bytes.data()),
               "reading a chunk of " + name_);
    for (std::size_t i = filters_.size(); i-- > 0;) {
      if ((left_out >> i & 1) != 0) continue;
      if (filters_[i] == H5Z_FILTER_FLETCHER32) {
        if (bytes.size() < fletcher32_bytes) refuse("a chunk has no room for its checksum");
        bytes.resize(bytes.size() - fletcher32_bytes);
      }
      if (filters_[i] == H5Z_FILTER_DEFLATE) bytes = inflated(bytes);
    }
    if (bytes.size() != chunk_bytes_)
      refuse(fmt::format("a chunk has {} of {} bytes", bytes.size(), chunk_bytes_));
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw Hdf5Failure("reading " + name_, reason);
  }

  void check_order() const {
    bool deflated = false;
    for (const H5Z_filter_t filter : filters_) {
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
          filter != H5Z_FILTER_FLETCHER32) {
        refuse(fmt::format("its filter {} is none of deflate, shuffle and fletcher32", filter));
      }
      if (deflated && filter != H5Z_FILTER_FLETCHER32)
        refuse("deflate is not the last of its filters");
      deflated = deflated || filter == H5Z_FILTER_DEFLATE;
    }
  }

  /// The unpacked bytes: at most a chunk with the checksums that may be in it, and a byte more
  /// where it is longer.
  Bytes inflated(Bytes& bytes) const {
    Bytes out(chunk_bytes_ + most_filters * fletcher32_bytes + 1);
    z_stream stream = {};
    if (::inflateInit(&stream) != Z_OK) refuse("there is no memory to unpack it");
    stream.next_in = bytes.data();
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = ::inflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    ::inflateEnd(&stream);
    if (result != Z_STREAM_END) refuse("a chunk is not deflated, or longer than it may be");
    return out;
  }

  const Hdf5Handle& dataset_;
  std::string name_;
  std::size_t chunk_bytes_;
  std::size_t file_bytes_;
  std::vector<H5Z_filter_t> filters_;
};

}  // namespace

void check_filtered_chunks(const Hdf5Handle& dataset, const std::string& name,
                           const std::vector<std::int64_t>& chunk, std::int64_t element_bytes,
                           std::int64_t file_bytes) {
  std::int64_t chunk_bytes = element_bytes;
  for (const std::int64_t extent : chunk) chunk_bytes *= extent;
  const FilteredChunks chunks(dataset, name, static_cast<std::size_t>(chunk_bytes),
                              static_cast<std::size_t>(file_bytes));
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose, "reading the shape of " + name);
  const std::vector<std::int64_t> shape = shape_of(space);
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  // Counts through the grid of chunks, the last dimension fastest.
  std::vector<hsize_t> offset(shape.size(), 0);
  for (std::size_t d = shape.size(); d > 0;) {
    chunks.check(offset);
    for (d = shape.size(); d > 0; --d) {
      offset[d - 1] += static_cast<hsize_t>(chunk[d - 1]);
      if (offset[d - 1] < static_cast<hsize_t>(shape[d - 1])) break;
      offset[d - 1] = 0;
    }
  }
}

}  // namespace pptrain
