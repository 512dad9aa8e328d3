#include "comm/shared_log.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "comm/blocking_call.hpp"
#include "comm/mpi.hpp"

namespace pptrain {

struct SharedLog::Memory {
  static constexpr std::uint64_t capacity = 1 << 14;
  struct Slot {
    std::atomic<std::uint64_t> written = 0;  ///< number of the entry + 1; 0 while it is written
    SentBytes entry;
  };
  std::atomic<std::uint64_t> size = 0;
  std::array<Slot, capacity> slots;
};

namespace {

/// A file that is nothing but memory.
class MemoryFile {
 public:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  bool reserve(std::size_t bytes) const {
    return descriptor_ >= 0 && ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes)) == 0;
  }
  /// Null where it cannot be.
  void* map(std::size_t bytes) const {
    if (descriptor_ < 0) return nullptr;
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    return base == MAP_FAILED ? nullptr : base;
  }

 private:
  int descriptor_;
};

/// Whether `here` on every rank.
bool on_all(MPI_Comm world, bool here) {
  const BlockingCall waiting("sharing memory");
  const int own = here ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, world);
  return all != 0;
}

}  // namespace

SharedLog::SharedLog(MPI_Comm world) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");
  if (!on_all(world, MpiComm::shared_memory(world).size() == size_of(world))) {
    throw Error(ExitCode::bad_input,
                format_complaint({"", "emulated devices on several hosts",
                                  "they share one clock and one log of what was sent",
                                  "start all ranks on one host"}),
                ThrownBy::all_ranks);
  }
  const bool owner = rank_in(world) == 0;
  // The file has no name in the file system, so that nothing is left of a job that is killed.
  const MemoryFile made(owner ? ::memfd_create("pptrain", MFD_CLOEXEC) : -1);
  if (owner && made.reserve(sizeof(Memory))) {
    if (void* base = made.map(sizeof(Memory))) memory_ = new (base) Memory;
  }
  long place[2] = {static_cast<long>(::getpid()), made.descriptor()};
  {
    const BlockingCall waiting("sharing memory");
    MPI_Bcast(place, 2, MPI_LONG, 0, world);
  }
  if (!owner) {
    const MemoryFile found(
        ::open(fmt::format("/proc/{}/fd/{}", place[0], place[1]).c_str(), O_RDWR | O_CLOEXEC));
    memory_ = static_cast<Memory*>(found.map(sizeof(Memory)));
  }
  const int reason = errno;
  if (on_all(world, memory_ != nullptr)) return;
  if (memory_ != nullptr) ::munmap(memory_, sizeof(Memory));
  throw Error(
      ExitCode::runtime_failure,
      format_complaint({"", "the ranks of this host cannot share memory", std::strerror(reason),
                        "start them in one container, with memory left"}),
      ThrownBy::all_ranks);
}

SharedLog::~SharedLog() { ::munmap(memory_, sizeof(Memory)); }

std::uint64_t SharedLog::append(const SentBytes& entry) {
  const std::uint64_t number = memory_->size.fetch_add(1);
  Memory::Slot& slot = memory_->slots[number % Memory::capacity];
  slot.written.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // who sees any of the entry sees that it is
                                                        // being written
  slot.entry = entry;
  slot.written.store(number + 1, std::memory_order_release);
  return number;
}

std::uint64_t SharedLog::size() const { return memory_->size.load(); }

std::uint64_t SharedLog::oldest() const {
  const std::uint64_t end = size();
  return end < Memory::capacity ? 0 : end - Memory::capacity;
}

std::optional<SentBytes> SharedLog::read(std::uint64_t number) const {
  const Memory::Slot& slot = memory_->slots[number % Memory::capacity];
  if (slot.written.load(std::memory_order_acquire) != number + 1) return std::nullopt;
  const SentBytes entry = slot.entry;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (slot.written.load(std::memory_order_relaxed) != number + 1) return std::nullopt;
  return entry;
}

}  // namespace pptrain
