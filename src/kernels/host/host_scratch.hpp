#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace pptrain::kernels {

/// Memory of the host for what one call of a kernel hands on, outside every arena; grows to the
/// largest that was asked for and lives as long as this object.
class HostScratch {
 public:
  /// n elements on a cache line, until the next call.
  template <class T>
  T* take(std::size_t n) {
    return static_cast<T*>(take_bytes(n * sizeof(T)));
  }
  /// Bytes on a cache line, not initialised, until the next call. Throws std::bad_alloc.
  void* take_bytes(std::size_t bytes) {
    if (bytes > bytes_) {
      data_.reset();
      data_.reset(std::aligned_alloc(line, (bytes + line - 1) / line * line));
      if (data_ == nullptr) throw std::bad_alloc();
      bytes_ = bytes;
    }
    return data_.get();
  }

 private:
  static constexpr std::size_t line = 64;
  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace pptrain::kernels
