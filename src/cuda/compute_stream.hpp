#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/graph_counts.hpp"

/// The stream on which a GPU computes. C++17.
namespace pptrain::cuda {

class CallGraphs;

/// What is called on a stream.
using StreamCall = std::function<void(cudaStream_t)>;

/// All bytes of the values that calls are made with.
class CallKey {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "its bytes are the value");
    T copy = value;
    clear_gaps(copy);
    text_.append(reinterpret_cast<const char*>(&copy), sizeof(T));
  }
  /// Bytes of all values that were added, in their order.
  const std::string& text() const { return text_; }

 private:
  /// Bytes between members have no value; left as they are, equal calls would look different.
  template <class T>
  static void clear_gaps([[maybe_unused]] T& value) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    if constexpr (std::is_class_v<T>) __builtin_clear_padding(&value);
#endif
#endif
  }

  std::string text_;
};

/// Calls on a stream, in the order in which they are made: each at once or, with graphs, when the
/// next event, copy or wait needs them, all that have been collected together (`CallGraphs`).
///
/// Calls through `call` wait in a list where there are graphs. `handle` hands the list over first:
/// whoever uses the stream itself, be it for an event, a copy from the host or another library,
/// comes behind it.
class ComputeStream {
 public:
  /// On the thread's current GPU.
  ComputeStream();
  /// What is still in the list is not run: nobody can have waited for it.
  ~ComputeStream();
  ComputeStream(const ComputeStream&) = delete;
  ComputeStream& operator=(const ComputeStream&) = delete;

  /// From now on rows of calls that come again run as graphs.
  void use_graphs();
  /// Counts from `use_graphs` on, as long as graphs are used; all are 0 without.
  GraphCounts graph_counts() const;

  /// The stream, behind everything that has been called so far; until the next `call`.
  cudaStream_t handle() {
    flush();
    return stream_;
  }
  /// function(stream). `kind` is the address of something that tells what is called; it and
  /// `values`, which are of the same types for all calls of a kind, have to say everything that the
  /// call does: of what it reads, only memory of the device may change from one call to the next.
  template <class Function, class... Values>
  void call(const void* kind, Function&& function, const Values&... values) {
    if (!collects_) return function(stream_);
    key_.add(kind);
    (key_.add(values), ...);
    waiting_.emplace_back(std::forward<Function>(function));
  }
  /// Hands over what waits in the list.
  void flush() {
    if (!waiting_.empty()) run_waiting();
  }
  /// Hands over what waits in the list, in destructors: a failure is logged.
  void flush_or_warn() noexcept;

 private:
  void run_waiting();

  cudaStream_t stream_ = nullptr;
  std::unique_ptr<CallGraphs> graphs_;
  bool collects_ = false;
  std::vector<StreamCall> waiting_;
  CallKey key_;
};

}  // namespace pptrain::cuda
