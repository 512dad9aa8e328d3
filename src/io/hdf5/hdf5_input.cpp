#include "io/hdf5/hdf5_input.hpp"

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
#include <iterator>
#include <limits>
#include <memory>

namespace pptrain {
namespace {

/// What HDF5 hands from the access properties to `open_input_file`.
struct InputInfo {
  int* error = nullptr;  ///< gets the `errno` of what the system refuses while the file is opened
};

/// An open file, as HDF5's drivers see it. Addresses are offsets in bytes.
struct InputFile : H5FD_t {
  int descriptor = -1;
  haddr_t allocated_end = 0;  ///< "eoa": up to here the file says that it has something
  haddr_t end = 0;            ///< "eof": the length of the file
};

InputFile& input(H5FD_t* file) { return *static_cast<InputFile*>(file); }
const InputFile& input(const H5FD_t* file) { return *static_cast<const InputFile*>(file); }

H5FD_t* open_input_file(const char* name, unsigned, hid_t access, haddr_t) noexcept {
  const auto* info = static_cast<const InputInfo*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto file = std::make_unique<InputFile>();
  file->descriptor = ::open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  if (file->descriptor < 0 || ::fstat(file->descriptor, &status) != 0) {
    *info->error = errno;
    if (file->descriptor >= 0) ::close(file->descriptor);
    return nullptr;
  }
  file->end = static_cast<haddr_t>(status.st_size);
  return file.release();
}

herr_t close_input(H5FD_t* file) noexcept {
  const std::unique_ptr<InputFile> closed(&input(file));
  ::close(closed->descriptor);
  return 0;
}

herr_t query_input(const H5FD_t*, unsigned long* flags) noexcept {
  if (flags != nullptr) *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_SUPPORTS_SWMR_IO;
  return 0;
}

haddr_t input_allocation(const H5FD_t* file, H5FD_mem_t) noexcept {
  return input(file).allocated_end;
}

herr_t set_input_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) noexcept {
  input(file).allocated_end = address;
  return 0;
}

haddr_t input_end(const H5FD_t* file, H5FD_mem_t) noexcept { return input(file).end; }

herr_t input_descriptor(H5FD_t* file, hid_t, void** handle) noexcept {
  *handle = &input(file).descriptor;
  return 0;
}

/// Whether these are the first bytes of a collection of HDF5's global heap: signature, version,
/// three reserved bytes. HDF5 tells its drivers no more than that it wants values.
bool begins_global_heap(const void* bytes, std::size_t size) {
  constexpr char begin[] = {'G', 'C', 'O', 'L', 1, 0, 0, 0};
  return size >= sizeof(begin) && std::memcmp(bytes, begin, sizeof(begin)) == 0;
}

herr_t read_input(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                  void* buffer) noexcept {
  constexpr auto most = static_cast<haddr_t>(std::numeric_limits<off_t>::max());
  if (address > most || size > most - address) return -1;
  if (!detail::read_or_zero(input(file).descriptor, address, size, buffer)) return -1;
  if (!begins_global_heap(buffer, size)) return 0;
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_VFL, H5E_UNSUPPORTED,
           "it is a virtual dataset, whose values are elsewhere, or its values differ in length");
  return -1;
}

herr_t write_input(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) noexcept {
  return -1;
}

/// Keeps writers away, but for those in SWMR mode, which give their lock back. A file system
/// without locks is no hindrance.
herr_t lock_input(H5FD_t* file, hbool_t) noexcept {
  return ::flock(input(file).descriptor, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK ? 0 : -1;
}

herr_t unlock_input(H5FD_t* file) noexcept {
  static_cast<void>(::flock(input(file).descriptor, LOCK_UN));
  return 0;
}

/// The callbacks; all else is HDF5's default.
H5FD_class_t input_driver_class() {
  H5FD_class_t driver = {};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = 301;  // of those that HDF5 leaves to programs; 300 is that of files that are
                       // written
#endif
  driver.name = "pptrain_input";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<off_t>::max());
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(InputInfo);
  driver.open = open_input_file;
  driver.close = close_input;
  driver.query = query_input;
  driver.get_eoa = input_allocation;
  driver.set_eoa = set_input_allocation;
  driver.get_eof = input_end;
  driver.get_handle = input_descriptor;
  driver.read = read_input;
  driver.write = write_input;
  driver.lock = lock_input;
  driver.unlock = unlock_input;
  const H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), std::begin(driver.fl_map));
  return driver;
}

hid_t input_driver() {
  static const H5FD_class_t callbacks = input_driver_class();
  static const hid_t id = H5FDregister(&callbacks);
  return check_hdf5(id, "registering the driver of files that are read");
}

}  // namespace

bool detail::read_or_zero(int descriptor, haddr_t offset, std::size_t size, void* buffer) {
  auto* bytes = static_cast<char*>(buffer);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t taken =
        ::pread(descriptor, bytes + done, size - done, static_cast<off_t>(offset + done));
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return false;
    if (taken == 0) break;
    done += static_cast<std::size_t>(taken);
  }
  std::memset(bytes + done, 0, size - done);
  return true;
}

Hdf5Handle open_input(const std::string& path, unsigned flags, const Hdf5Handle& access) {
  int error = 0;
  const InputInfo info = {&error};
  check_hdf5(H5Pset_driver(access.get(), input_driver(), &info), "setting the driver");
  const hid_t file = H5Fopen(path.c_str(), flags, access.get());
  if (file < 0 && error != 0) throw Hdf5Failure("opening the file", std::strerror(error));
  return {file, H5Fclose, "opening the file"};
}

}  // namespace pptrain
