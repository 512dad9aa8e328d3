#include "io/hdf5/hdf5_output.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "io/hdf5/hdf5_input.hpp"

namespace pptrain {
namespace {

/// What HDF5 hands from the access properties to `open_file`.
struct DriverInfo {
  const std::shared_ptr<int>* error = nullptr;
};

/// Bytes that the system did not take.
struct Kept {
  haddr_t address = 0;
  std::vector<char> bytes;
};

/// An open file, as HDF5's drivers see it. Addresses are offsets in bytes.
struct OutputFile : H5FD_t {
  int descriptor = -1;
  haddr_t allocated_end = 0;  ///< "eoa": up to here HDF5 has given the file's space away
  haddr_t end = 0;            ///< "eof": of what was written
  std::shared_ptr<int> error;
  std::vector<Kept> kept;  ///< in the order of writing

  /// Takes note of the present `errno`, or of another reason.
  void refuse(int reason) const { *error = reason; }
  bool failed() const { return *error != 0; }
};

OutputFile& output(H5FD_t* file) { return *static_cast<OutputFile*>(file); }
const OutputFile& output(const H5FD_t* file) { return *static_cast<const OutputFile*>(file); }

int system_flags(unsigned flags) {
  return ((flags & H5F_ACC_RDWR) != 0 ? O_RDWR : O_RDONLY) |
         ((flags & H5F_ACC_TRUNC) != 0 ? O_TRUNC : 0) |
         ((flags & H5F_ACC_CREAT) != 0 ? O_CREAT : 0) | ((flags & H5F_ACC_EXCL) != 0 ? O_EXCL : 0) |
         O_CLOEXEC;
}

H5FD_t* open_output(const char* name, unsigned flags, hid_t access, haddr_t) noexcept {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto file = std::make_unique<OutputFile>();
  file->error = *info->error;
  file->descriptor = ::open(name, system_flags(flags), 0666);
  struct stat status = {};
  if (file->descriptor < 0 || ::fstat(file->descriptor, &status) != 0) {
    file->refuse(errno);
    if (file->descriptor >= 0) ::close(file->descriptor);
    return nullptr;
  }
  file->end = static_cast<haddr_t>(status.st_size);
  return file.release();
}

herr_t close_output(H5FD_t* file) noexcept {
  const std::unique_ptr<OutputFile> closed(&output(file));
  // Some file systems tell only now that the disk is full.
  if (::close(closed->descriptor) != 0 && !closed->failed()) closed->refuse(errno);
  return 0;
}

herr_t query_output(const H5FD_t*, unsigned long* flags) noexcept {
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_SUPPORTS_SWMR_IO;
  }
  return 0;
}

haddr_t output_allocation(const H5FD_t* file, H5FD_mem_t) noexcept {
  return output(file).allocated_end;
}

herr_t set_output_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) noexcept {
  output(file).allocated_end = address;
  return 0;
}

haddr_t output_end(const H5FD_t* file, H5FD_mem_t) noexcept { return output(file).end; }

/// Puts what the system did not take over what was read.
void lay_over(const std::vector<Kept>& kept, haddr_t address, std::size_t size, char* buffer) {
  for (const Kept& part : kept) {
    const haddr_t begin = std::max(address, part.address);
    const haddr_t end = std::min(address + size, part.address + part.bytes.size());
    if (begin < end)
      std::memcpy(buffer + (begin - address), part.bytes.data() + (begin - part.address),
                  end - begin);
  }
}

herr_t read_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                   void* buffer) noexcept {
  const OutputFile& from = output(file);
  if (!detail::read_or_zero(from.descriptor, address, size, buffer)) return -1;
  lay_over(from.kept, address, size, static_cast<char*>(buffer));
  return 0;
}

/// Returns 0, or why the system does not take the bytes.
int try_to_write(int descriptor, haddr_t address, std::size_t size, const char* bytes) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t taken =
        ::pwrite(descriptor, bytes + done, size - done, static_cast<off_t>(address + done));
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return taken < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(taken);
  }
  return 0;
}

herr_t write_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                    const void* buffer) noexcept {
  OutputFile& to = output(file);
  const auto* bytes = static_cast<const char*>(buffer);
  if (!to.failed()) {
    const int reason = try_to_write(to.descriptor, address, size, bytes);
    if (reason != 0) to.refuse(reason);
  }
  if (to.failed()) to.kept.push_back({address, {bytes, bytes + size}});
  to.end = std::max(to.end, address + size);
  return 0;
}

herr_t truncate_output(H5FD_t* file, hid_t, hbool_t) noexcept {
  OutputFile& cut = output(file);
  if (cut.end == cut.allocated_end) return 0;
  if (!cut.failed() && ::ftruncate(cut.descriptor, static_cast<off_t>(cut.allocated_end)) != 0)
    cut.refuse(errno);
  cut.end = cut.allocated_end;
  return 0;
}

/// Only with a lock does HDF5 mark a file as one that is being written. A file system without locks
/// is no hindrance.
herr_t lock_output(H5FD_t* file, hbool_t) noexcept {
  OutputFile& locked = output(file);
  if (::flock(locked.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return 0;
  locked.refuse(EWOULDBLOCK);
  return -1;
}

herr_t unlock_output(H5FD_t* file) noexcept {
  static_cast<void>(::flock(output(file).descriptor, LOCK_UN));
  return 0;
}

/// The callbacks; all else is HDF5's default. The bytes in the file are those of HDF5's own driver.
H5FD_class_t output_driver_class() {
  H5FD_class_t driver = {};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = 300;  // of those that HDF5 leaves to programs
#endif
  driver.name = "pptrain_output";
  driver.maxaddr = (haddr_t{1} << (8 * sizeof(off_t) - 1)) - 1;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(DriverInfo);
  driver.open = open_output;
  driver.close = close_output;
  driver.query = query_output;
  driver.get_eoa = output_allocation;
  driver.set_eoa = set_output_allocation;
  driver.get_eof = output_end;
  driver.read = read_output;
  driver.write = write_output;
  driver.truncate = truncate_output;
  driver.lock = lock_output;
  driver.unlock = unlock_output;
  // Free space is kept as by HDF5's own driver: one list of free space for metadata, one for
  // values.
  const H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), std::begin(driver.fl_map));
  return driver;
}

hid_t output_driver() {
  static const H5FD_class_t callbacks = output_driver_class();
  static const hid_t id = H5FDregister(&callbacks);
  return check_hdf5(id, "registering the driver of files that are written");
}

}  // namespace

void Hdf5Output::open(const std::string& path, unsigned mode, const Hdf5Handle& access) {
  const DriverInfo info = {&error_};
  check_hdf5(H5Pset_driver(access.get(), output_driver(), &info), "setting the driver");
  const bool is_there = mode == H5F_ACC_RDWR;
  const hid_t file = is_there ? H5Fopen(path.c_str(), mode, access.get())
                              : H5Fcreate(path.c_str(), mode, H5P_DEFAULT, access.get());
  const std::string action = is_there ? "opening the file" : "creating the file";
  if (file < 0) check(action);
  file_ = Hdf5Handle(file, H5Fclose, action);
}

void Hdf5Output::check(const std::string& action) const {
  if (*error_ != 0) throw Hdf5Failure(action, std::strerror(*error_));
}

void Hdf5Output::close() {
  check_hdf5(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "flushing the file");
  if (!file_.close()) detail::throw_hdf5_failure("closing the file");
  check("writing the file");
}

}  // namespace pptrain
