#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "stand_in.hpp"

namespace cuda_on_host {
namespace {

constexpr std::size_t reserved = std::size_t{32} << 30;  // of addresses
constexpr std::size_t margin = 256;                      // around every block
constexpr unsigned char poison = 0xff, marker = 0xa5;

class DeviceMemory {
 public:
  DeviceMemory() {
    void* region =
        mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) fault("no address space for device memory");
    base_ = static_cast<unsigned char*>(region);
    madvise(region, reserved, MADV_HUGEPAGE);  // fewer pages to protect
    free_[0] = reserved;
  }

  void* allocate(std::size_t bytes) {
    const std::size_t size = (bytes + margin - 1) / margin * margin + 2 * margin;
    if (in_use_ + size > capacity_) return nullptr;
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      if (place->second < size) continue;
      const std::size_t offset = place->first, left = place->second - size;
      free_.erase(place);
      if (left > 0) free_[offset + size] = left;
      return take(offset, bytes, size);
    }
    return nullptr;
  }

  bool release(void* block) {
    const std::size_t offset =
        static_cast<std::size_t>(static_cast<unsigned char*>(block) - base_) - margin;
    const auto found = blocks_.find(offset);
    if (!contains(block, 1) || found == blocks_.end()) return false;
    const Access access;
    check(*found);
    const std::size_t size = found->second.size;
    std::memset(base_ + offset, poison, size);
    in_use_ -= size;
    blocks_.erase(found);
    give_back(offset, size);
    shrink();
    return true;
  }

  /// Whether a block has all of these bytes.
  bool contains(const void* pointer, std::size_t bytes) const {
    const auto* first = static_cast<const unsigned char*>(pointer);
    if (first < base_ || first >= base_ + reserved) return false;
    const auto offset = static_cast<std::size_t>(first - base_);
    auto after = blocks_.upper_bound(offset);
    if (after == blocks_.begin()) return false;
    const auto& [start, block] = *--after;
    return offset >= start + margin && offset + bytes <= start + margin + block.bytes;
  }
  bool is_near(const void* pointer) const { return pointer >= base_ && pointer < base_ + reserved; }

  void check_all() const {
    for (const auto& block : blocks_) check(block);
  }
  void protect(int protection) const {
    if (extent_ > 0 && mprotect(base_, extent_, protection) != 0) fault("mprotect failed");
  }
  void set_capacity(std::size_t bytes) { capacity_ = bytes; }
  std::size_t capacity() const { return capacity_; }
  std::size_t in_use() const { return in_use_; }

 private:
  struct Block {
    std::size_t bytes, size;
  };

  void* take(std::size_t offset, std::size_t bytes, std::size_t size) {
    const std::size_t extent = whole_pages(offset + size);
    if (extent > extent_) extent_ = extent;
    const Access access;
    protect(PROT_READ | PROT_WRITE);  // of what is new, if access was open before
    std::memset(base_ + offset, marker, size);
    std::memset(base_ + offset + margin, poison, bytes);
    blocks_[offset] = {bytes, size};
    in_use_ += size;
    return base_ + offset + margin;
  }

  static std::size_t whole_pages(std::size_t bytes) {
    constexpr std::size_t page = std::size_t{1} << 20;
    return (bytes + page - 1) / page * page;
  }

  /// Behind the last block there is nothing to protect.
  void shrink() {
    const std::size_t end =
        blocks_.empty() ? 0 : whole_pages(blocks_.rbegin()->first + blocks_.rbegin()->second.size);
    if (end >= extent_) return;
    madvise(base_ + end, extent_ - end, MADV_DONTNEED);
    mprotect(base_ + end, extent_ - end, PROT_NONE);
    extent_ = end;
  }

  void give_back(std::size_t offset, std::size_t size) {
    auto after = free_.lower_bound(offset);
    if (after != free_.end() && after->first == offset + size) {
      size += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == offset) {
      std::prev(after)->second += size;
    } else {
      free_[offset] = size;
    }
  }

  void check(const std::pair<const std::size_t, Block>& entry) const {
    const auto& [offset, block] = entry;
    for (std::size_t i = offset; i < offset + block.size; ++i) {
      if (i == offset + margin) i += block.bytes;
      if (i < offset + block.size && base_[i] != marker) {
        fault("something was written " +
              (i < offset + margin
                   ? std::to_string(offset + margin - i) + " bytes before"
                   : std::to_string(i - offset - margin - block.bytes) + " bytes behind") +
              " a block of " + std::to_string(block.bytes) + " bytes of device memory");
      }
    }
  }

  unsigned char* base_ = nullptr;
  std::size_t extent_ = 0, in_use_ = 0, capacity_ = std::size_t{4} << 30;
  std::map<std::size_t, std::size_t> free_;  // offset, bytes
  std::map<std::size_t, Block> blocks_;      // by offset of the margin before
};

DeviceMemory& memory() {
  static DeviceMemory device_memory;
  return device_memory;
}

std::map<const unsigned char*, std::size_t>& pinned_blocks() {
  static std::map<const unsigned char*, std::size_t> blocks;
  return blocks;
}

int num_accesses = 0;

void explain(int /*signal*/, siginfo_t* info, void* /*context*/) {
  static const char device[] = "cuda_on_host: host code followed a pointer to device memory\n";
  static const char other[] = "cuda_on_host: an address that nobody gave out was used\n";
  const bool near = memory().is_near(info->si_addr);
  (void)!write(STDERR_FILENO, near ? device : other, near ? sizeof(device) - 1 : sizeof(other) - 1);
  _exit(3);
}

}  // namespace

void fault(const std::string& what) {
  std::fprintf(stderr, "cuda_on_host: %s\n", what.c_str());
  std::abort();
}

void explain_crashes() {
  struct sigaction action = {};
  action.sa_sigaction = explain;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

Access::Access() {
  if (num_accesses++ == 0) memory().protect(PROT_READ | PROT_WRITE);
}
Access::~Access() {
  if (--num_accesses == 0) memory().protect(PROT_NONE);
}

void set_capacity(std::size_t bytes) { memory().set_capacity(bytes); }
void check_surroundings() {
  const Access access;
  memory().check_all();
}
bool is_device_memory(const void* block, std::size_t bytes) {
  return memory().contains(block, bytes);
}
bool is_pinned_memory(const void* block, std::size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(block);
  auto after = pinned_blocks().upper_bound(first);
  if (after == pinned_blocks().begin()) return false;
  --after;
  return first + bytes <= after->first + after->second;
}

}  // namespace cuda_on_host

using namespace cuda_on_host;

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  *block = memory().allocate(bytes);
  return *block == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFree(void* block) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  finish_everything();  // as the real one
  if (block != nullptr && !memory().release(block))
    fault("cudaFree of what is no block of device memory");
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned /*flags*/) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  *block = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*block == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*block, poison, bytes);
  pinned_blocks()[static_cast<unsigned char*>(*block)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* block) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  finish_everything();
  if (block != nullptr && pinned_blocks().erase(static_cast<unsigned char*>(block)) == 0) {
    fault("cudaFreeHost of what is no block of pinned memory");
  }
  std::free(block);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {};
  attributes->type = is_device_memory(pointer, 1)   ? cudaMemoryTypeDevice
                     : is_pinned_memory(pointer, 1) ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = memory().capacity();
  *free = memory().capacity() - memory().in_use();
  return cudaSuccess;
}
