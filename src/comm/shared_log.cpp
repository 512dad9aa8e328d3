#include "comm/shared_log.hpp"

#include <array>
#include <atomic>
#include <new>

#include "base/error.hpp"

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

SharedLog::SharedLog(MPI_Comm world) : host_(MpiComm::shared_memory(world)) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");
  const int together = host_.size() == size_of(world) ? 1 : 0;
  int all_together = 0;
  MPI_Allreduce(&together, &all_together, 1, MPI_INT, MPI_MIN, world);
  if (all_together == 0) {
    throw_bad_input({"", "emulated devices on several hosts", "they share one clock and one log of what was sent",
                     "start all ranks on one host"});
  }
  const bool owner = host_.rank() == 0;
  void* base = nullptr;
  MPI_Win_allocate_shared(owner ? static_cast<MPI_Aint>(sizeof(Memory)) : 0, 1, MPI_INFO_NULL, host_.get(), &base,
                          &window_);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window_, 0, &bytes, &unit, &base);
  memory_ = owner ? new (base) Memory : static_cast<Memory*>(base);
  MPI_Barrier(host_.get());
}

SharedLog::~SharedLog() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Win_free(&window_);
}

std::uint64_t SharedLog::append(const SentBytes& entry) {
  const std::uint64_t number = memory_->size.fetch_add(1);
  Memory::Slot& slot = memory_->slots[number % Memory::capacity];
  slot.written.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // who sees any of the entry sees that it is being written
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
