#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cuda_runtime.h"

/// A CUDA device for tests: it computes on the host, later than it is told and in an order that
/// nobody asked for.
///
/// - Device memory can be reached only while the device works: host code that follows a device
/// pointer crashes.
///   Memory is poisoned when it is given out and taken back; what lies around a block is watched.
/// - A stream's work is done when somebody waits for it (or asks often), and only what has to be:
/// missing events and
///   memory that is used again too early show as wrong numbers.
/// - The threads of a block run as fibers, in turn forwards and backwards, so that a missing
/// barrier shows too.
///
/// What CUDA leaves undefined ends the program with a message.
namespace cuda_on_host {

/// Ends the program.
[[noreturn]] void fault(const std::string& what);

/// Bytes of device memory from now on.
void set_capacity(std::size_t bytes);
/// What CUDA says of a GPU. Nothing but this tells two of them apart: they have one memory.
struct Gpu {
  const char* name = "stand-in";
  int bus = 1;  ///< on PCI, by which other processes know it
  int major = 9;
  int minor = 0;
  int multiprocessors = 4;
  int clock_khz = 1000000;
  int memory_clock_khz = 500000;
  int memory_bus_bits = 1024;
};

/// GPUs that cudaGetDeviceCount finds from now on, in order; none: no driver either.
void set_gpus(std::vector<Gpu> gpus);
/// Bytes of shared memory that a block of the current GPU may have, by its compute capability.
std::size_t most_shared();
/// Lets cudaGetDeviceCount find so many GPUs from now on, alike, on the buses from 1 on.
void set_num_devices(int devices);
/// What cudaDeviceGetP2PAttribute says from now on of cudaDevP2PAttrAccessSupported and
/// cudaDevP2PAttrNativeAtomicSupported between any two.
void set_peer_access(int access, int atomics);
/// From now on, after each call, some of what waits is done at random (0: as late as possible).
void set_eagerness(std::uint64_t seed);
/// Names of the profiler's ranges that have begun since the last call of this.
std::vector<std::string> take_ranges();
/// Kernels and library calls that the device has done.
std::uint64_t num_done();
/// Products and attention that libraries were asked for.
std::uint64_t num_library_calls();
/// Graphs that were launched.
std::uint64_t num_graph_launches();
/// Ends the program with a message where host code touches device memory; for child processes of
/// tests.
void explain_crashes();

// For the stand-ins of libraries.

/// Puts `work` behind what is in the stream; a fault where the stream is the default one.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);
/// Puts what a library computes behind what is in the stream, and counts it.
cudaError_t enqueue_library_call(cudaStream_t stream, std::function<void()> work);
/// Puts `work` behind what is in the stream, to be tried again until it says that it has ended: it
/// waits for other processes, and blocks in nothing. A fault where the stream is the default one.
cudaError_t enqueue_waiting(cudaStream_t stream, std::function<bool()> work);
/// Whether what is put into the stream goes into a graph that is captured.
bool is_captured(cudaStream_t stream);
void capture_work(std::function<bool()> work);
/// Whether something is captured, which is broken by what was called.
bool breaks_capture();
bool is_device_memory(const void* block, std::size_t bytes);
bool is_pinned_memory(const void* block, std::size_t bytes);

/// What C++ calls a function of this program; "" where its symbols do not have it.
std::string function_name(const void* function);
/// A name of the linker as C++ spells it.
std::string demangled(const std::string& symbol);

/// Does all that waits.
void finish_everything();

/// Device memory can be reached while one of these lives.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};

/// All blocks' surroundings are as they were.
void check_surroundings();

/// Runs the threads of a grid, one block after another.
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread);

}  // namespace cuda_on_host
