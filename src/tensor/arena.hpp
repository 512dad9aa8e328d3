#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensor/device.hpp"

namespace pptrain {

/// Memory of one device: a caching allocator that counts what is in use and its peak.
///
/// Freed blocks are kept and handed out again, so that a steady iteration allocates nothing; they
/// are returned to the device when others need the room. Requests get blocks of their own size;
/// where these differ from iteration to iteration, as rows of experts do, so that more is kept than
/// was ever in use, a block of up to twice the size goes out instead of a new one. On a device
/// other than the host, equal sequences of requests get the same blocks, in whatever order those
/// were freed before. Blocks are aligned to 64 bytes and uninitialised. Not thread-safe: one arena
/// per rank.
class Arena {
 public:
  /// `capacity` in bytes; 0: no cap. Beyond the cap `allocate` throws `Error` (exit code 4), which
  /// names the device as `owner` does. The device must outlive the arena.
  explicit Arena(std::size_t capacity = 0, std::string owner = {}, Device& device = host_device())
      : capacity_(capacity), owner_(std::move(owner)), device_(device) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Device whose memory the blocks are.
  Device& device() const { return device_; }
  /// A block of at least so many bytes, also where these are 0; `Buffer` gives it back by itself.
  /// Throws `Error` (exit code 4) beyond the capacity and where the device has no memory left.
  void* allocate(std::size_t bytes);
  /// Takes a block back and keeps it for later requests. `bytes`: what `allocate` was asked for.
  void release(void* block, std::size_t bytes);

  /// Bytes of the blocks that are out, each rounded up.
  std::size_t bytes_in_use() const { return in_use_; }
  /// Largest `bytes_in_use` since the start, or since `reset_peak`.
  std::size_t peak_bytes() const { return peak_; }
  /// What the device gave and has not got back: in use or kept for later.
  std::size_t bytes_held() const { return held_; }
  /// Begins the peak anew, at what is in use now.
  void reset_peak() { peak_ = in_use_; }

  /// When on, blocks are filled with NaNs on allocation (tests find reads of what was never
  /// written).
  void poison(bool on) { poison_ = on; }

 private:
  /// A kept block of `size`, or where much is kept of up to twice as much; null: there is none.
  void* kept_block(std::size_t size);
  void* fresh_block(std::size_t size);
  /// Returns kept blocks of at least `bytes` to the device, the largest first, or all there are.
  void trim(std::size_t bytes);

  std::map<std::size_t, std::vector<void*>> cache_;  // free blocks by rounded size
  std::unordered_map<void*, std::size_t> larger_;    // sizes of blocks in use that are larger than
                                                     // what was asked for
  std::size_t capacity_ = 0;
  std::string owner_;
  Device& device_;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
  std::size_t held_ = 0;
  bool poison_ = false;
};

/// A block of an arena, given back when it goes out of scope.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Arena& arena, std::size_t bytes)
      : arena_(&arena), data_(arena.allocate(bytes)), bytes_(bytes) {}
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }

  /// The block in the memory of the device; null: there is none.
  void* data() const { return data_; }
  /// Bytes that were asked for; 0 without a block.
  std::size_t bytes() const { return bytes_; }
  /// Whether there is a block, be it one of 0 bytes.
  explicit operator bool() const { return data_ != nullptr; }
  /// Gives the block back; nothing without one.
  void reset() {
    if (data_ != nullptr) arena_->release(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Arena* arena_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pptrain
