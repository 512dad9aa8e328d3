#include "io/hdf5/series.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"

namespace pptrain {
namespace {

using Extents = std::array<hsize_t, 2>;

int rank_of(std::int64_t columns) { return columns == 0 ? 1 : 2; }

Extents extents(std::int64_t rows, std::int64_t columns) {
  return {static_cast<hsize_t>(rows), static_cast<hsize_t>(std::max<std::int64_t>(columns, 1))};
}

hid_t stored_type(Series::Type type) {
  switch (type) {
    case Series::Type::integer: return H5T_STD_I64LE;
    case Series::Type::real: return H5T_IEEE_F64LE;
    case Series::Type::token: return H5T_STD_I32LE;
    case Series::Type::flag: return H5T_STD_I8LE;
  }
  PPTRAIN_ASSERT(false, "no type of HDF5 for {}", static_cast<int>(type));
}

Hdf5Handle creation_properties(Series::Type type, std::int64_t columns,
                               std::int64_t chunk_elements) {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "making creation properties");
  const std::int64_t rows =
      std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(columns, 1));
  const Extents chunk = extents(rows, columns);
  check_hdf5(H5Pset_chunk(properties.get(), rank_of(columns), chunk.data()),
             "setting the chunk size");
  check_hdf5(type == Series::Type::real
                 ? H5Pset_fill_value(properties.get(), H5T_NATIVE_DOUBLE, &missing_real)
                 : H5Pset_fill_value(properties.get(), H5T_NATIVE_INT64, &missing_integer),
             "setting the fill value");
  return properties;
}

}  // namespace

Series::Series(hid_t group, const SeriesInfo& info, Type type, std::int64_t columns,
               std::int64_t chunk_elements)
    : name_(info.name), columns_(columns) {
  const Extents none = extents(0, columns);
  const Extents most = {H5S_UNLIMITED, none[1]};
  const Hdf5Handle space(H5Screate_simple(rank_of(columns), none.data(), most.data()), H5Sclose,
                         "making a data space");
  const Hdf5Handle properties = creation_properties(type, columns, chunk_elements);
  dataset_ = Hdf5Handle(H5Dcreate2(group, name_.c_str(), stored_type(type), space.get(),
                                   H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                        H5Dclose, "creating " + name_);
  write_attribute(dataset_.get(), "units", info.units);
  write_attribute(dataset_.get(), "description", info.description);
}

void Series::append(std::span<const std::int64_t> rows) {
  append_rows(rows.data(), rows.size(), H5T_NATIVE_INT64);
}

void Series::append(std::span<const double> rows) {
  append_rows(rows.data(), rows.size(), H5T_NATIVE_DOUBLE);
}

void Series::append_rows(const void* rows, std::size_t size, hid_t memory_type) {
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(columns_, 1));
  PPTRAIN_ASSERT(size % width == 0, "{} values for rows of {} in {}", size, width, name_);
  const auto added = static_cast<std::int64_t>(size / width);
  if (added == 0) return;
  const Extents count = extents(added, columns_);
  const Extents extended = extents(num_rows_ + added, columns_);
  check_hdf5(H5Dset_extent(dataset_.get(), extended.data()), "extending " + name_);
  const Hdf5Handle file_space(H5Dget_space(dataset_.get()), H5Sclose,
                              "reading the extent of " + name_);
  const Extents start = {static_cast<hsize_t>(num_rows_), 0};
  check_hdf5(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                 count.data(), nullptr),
             "selecting rows of " + name_);
  const Hdf5Handle row_space(H5Screate_simple(rank_of(columns_), count.data(), nullptr), H5Sclose,
                             "making a data space");
  check_hdf5(
      H5Dwrite(dataset_.get(), memory_type, row_space.get(), file_space.get(), H5P_DEFAULT, rows),
      "writing " + name_);
  check_hdf5(H5Dflush(dataset_.get()), "flushing " + name_);
  num_rows_ += added;
}

}  // namespace pptrain
