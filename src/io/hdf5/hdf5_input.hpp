#pragma once

#include "io/hdf5/hdf5.hpp"

namespace pptrain {

/// An HDF5 file that is read, and that a stranger may have written.
///
/// HDF5's own driver lets the library keep the metadata that it has read last in one buffer (its
/// "accumulator"), which HDF5 1.10.8 copies from a null pointer where a file gives an undefined
/// address. The driver here does without that buffer, and refuses such an address.
///
/// The driver refuses the global heap as well. That is where a file has the mapping of a virtual
/// dataset, which HDF5 1.10.8 reads past its end as soon as the dataset is opened, and values that
/// differ in length. pptrain reads neither.
///
/// `path`: the file; `flags`: H5F_ACC_RDONLY, with H5F_ACC_SWMR_READ where its writer has it in
/// SWMR mode; `access`: file access properties, which get the driver. Throws `Hdf5Failure`.
Hdf5Handle open_input(const std::string& path, unsigned flags, const Hdf5Handle& access);

namespace detail {
/// Reads so many bytes of a file from an offset on, zeros behind its end. False: the system
/// refuses, see `errno`.
bool read_or_zero(int descriptor, haddr_t offset, std::size_t size, void* buffer);
}  // namespace detail

}  // namespace pptrain
