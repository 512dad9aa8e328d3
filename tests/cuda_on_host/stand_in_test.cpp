// The stand-in itself: what a real GPU leaves undefined, it has to notice.
#include "stand_in.hpp"

#include <functional>
#include <stdexcept>
#include <string>

#include "child.hpp"
#include "cuda/launch.hpp"
#include "cuda/presence.hpp"
#include "cuda/team.hpp"
#include "cuda/twin.hpp"
#include "tensor/device_range.hpp"

using namespace pptrain;
using namespace pptrain::cuda;
using namespace pptrain::test;

namespace {

__global__ void write_number(float* to, float number) { *to = number; }
__global__ void write_behind(float* to, std::size_t n) { to[n] = 1; }
__global__ void load_vector(const float* from, float4* to) {
  *to = *reinterpret_cast<const float4*>(from);
}
__global__ void one_skips_the_barrier() {
  if (threadIdx.x != 3) __syncthreads();
}
__global__ void one_skips_the_shuffle(float* to) {
  if (threadIdx.x != 3) *to = __shfl_xor_sync(all_lanes, 1.0f, 1);
}
__global__ void write_behind_shared() {
  reinterpret_cast<unsigned char*>(dynamic_shared_memory)[1000] = 1;
}

/// to[i] = the number of the thread on the other end, through shared memory.
__global__ void reverse(float* to, bool waits) {
  static float numbers[256];
  numbers[threadIdx.x] = -1;
  __syncthreads();
  numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (waits) __syncthreads();
  to[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

/// to[lane] = the sums and votes of a warp.
__global__ void use_lanes(float* to) {
  const auto lane = static_cast<float>(threadIdx.x);
  const float sum = combine_lanes(lane, Plus());
  const float next = __shfl_down_sync(all_lanes, lane, 1);
  const auto odd =
      static_cast<float>(__popc(__ballot_sync(all_lanes, static_cast<int>(threadIdx.x) % 2)));
  to[threadIdx.x] = sum * 10000 + next * 100 + odd;
}

/// A stream and 1024 floats of device memory, all 1.
struct Bench {
  CudaDevice device{0};
  float* block = static_cast<float*>(device.allocate(4096));
  cudaStream_t other = nullptr;

  Bench() {
    if (cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) != cudaSuccess)
      cuda_on_host::fault("no stream");
    device.upload(block, std::vector<float>(1024, 1.0f).data(), 4096);
    device.synchronize();
  }
};

}  // namespace

TEST_CASE("host code that follows a device pointer is noticed", "[cuda_on_host]") {
  const std::string text = complaint_of_child([] {
    Bench bench;
    bench.block[3] = 1;
  });
  REQUIRE(contains(text, "host code followed a pointer to device memory"));
}

TEST_CASE("a missing event shows as a wrong number, an event as the right one", "[cuda_on_host]") {
  Bench bench;
  for (const bool has_event : {false, true}) {
    float* to = nullptr;
    REQUIRE(cudaHostAlloc(reinterpret_cast<void**>(&to), 4, cudaHostAllocDefault) == cudaSuccess);
    launch(bench.device.stream(), 1, 1, 0, write_number, bench.block, has_event ? 7.0f : 5.0f);
    if (has_event) bench.device.record(bench.device.stream().handle())->precede(bench.other);
    REQUIRE(cudaMemcpyAsync(to, bench.block, 4, cudaMemcpyDeviceToHost, bench.other) ==
            cudaSuccess);
    REQUIRE(cudaStreamSynchronize(bench.other) == cudaSuccess);
    REQUIRE(*to == (has_event ? 7.0f : 1.0f));
    REQUIRE(cudaFreeHost(to) == cudaSuccess);
  }
}

TEST_CASE("work is done as late as possible", "[cuda_on_host]") {
  Bench bench;
  const std::uint64_t before = cuda_on_host::num_done();
  launch(bench.device.stream(), 1, 1, 0, write_number, bench.block, 2.0f);
  const CudaWorkPtr first = bench.device.record(bench.device.stream().handle());
  launch(bench.device.stream(), 1, 1, 0, write_number, bench.block, 3.0f);
  REQUIRE_FALSE(first->has_ended());
  REQUIRE(cuda_on_host::num_done() == before);
  first->wait();
  REQUIRE(cuda_on_host::num_done() == before + 1);
  bench.device.synchronize();
  REQUIRE(cuda_on_host::num_done() == before + 2);
}

TEST_CASE("pinned memory that changes too early shows as a wrong number", "[cuda_on_host]") {
  Bench bench;
  float* from = nullptr;
  REQUIRE(cudaHostAlloc(reinterpret_cast<void**>(&from), 4, cudaHostAllocDefault) == cudaSuccess);
  *from = 5;
  REQUIRE(cudaMemcpyAsync(bench.block, from, 4, cudaMemcpyHostToDevice,
                          bench.device.stream().handle()) == cudaSuccess);
  *from = 6;
  float back = 0;
  bench.device.download(&back, bench.block, 4);
  REQUIRE(back == 6);
  REQUIRE(cudaFreeHost(from) == cudaSuccess);
}

TEST_CASE("what is written behind a block is noticed", "[cuda_on_host]") {
  const std::string text = complaint_of_child([] {
    Bench bench;
    launch(bench.device.stream(), 1, 1, 0, write_behind, bench.block, std::size_t{1024});
    bench.device.synchronize();
  });
  REQUIRE(contains(text, "0 bytes behind a block of 4096 bytes"));
  REQUIRE(contains(complaint_of_child([] {
                     Bench bench;
                     launch(bench.device.stream(), 1, 1, 1000, write_behind_shared);
                     bench.device.synchronize();
                   }),
                   "behind its 1000 shared bytes"));
}

TEST_CASE("a vector that is loaded from between its boundaries is noticed", "[cuda_on_host]") {
  Bench bench;
  launch(bench.device.stream(), 1, 1, 0, load_vector, bench.block + 4,
         reinterpret_cast<float4*>(bench.block));
  bench.device.synchronize();
  const std::string text = complaint_of_child([] {
    Bench inner;
    launch(inner.device.stream(), 1, 1, 0, load_vector, inner.block + 1,
           reinterpret_cast<float4*>(inner.block));
    inner.device.synchronize();
  });
  REQUIRE(contains(text, "misaligned address"));
}

TEST_CASE("the default stream, pageable memory and foreign memory are refused", "[cuda_on_host]") {
  REQUIRE(contains(complaint_of_child([] {
                     Bench bench;
                     launch(nullptr, 1, 1, 0, write_number, bench.block, 1.0f);
                   }),
                   "default stream"));
  REQUIRE(contains(complaint_of_child([] {
                     Bench bench;
                     float pageable = 0;
                     (void)cudaMemcpyAsync(bench.block, &pageable, 4, cudaMemcpyHostToDevice,
                                           bench.other);
                   }),
                   "from what is no block of device or pinned memory"));
  REQUIRE(contains(complaint_of_child([] {
                     Bench bench;
                     (void)cudaMemsetAsync(bench.block, 0, 4097, bench.other);
                   }),
                   "no block of device memory"));
}

TEST_CASE("a barrier or a shuffle that a thread skips is noticed", "[cuda_on_host]") {
  REQUIRE(contains(complaint_of_child([] {
                     Bench bench;
                     launch(bench.other, 1, 64, 0, one_skips_the_barrier);
                     bench.device.free(bench.block);
                   }),
                   "not all threads of the block reach"));
  REQUIRE(contains(complaint_of_child([] {
                     Bench bench;
                     launch(bench.other, 1, 64, 0, one_skips_the_shuffle, bench.block);
                     bench.device.free(bench.block);
                   }),
                   "a warp waits for a lane that has ended"));
}

TEST_CASE("threads wait for one another at barriers, and a missing one shows", "[cuda_on_host]") {
  Bench bench;
  std::vector<float> numbers(256);
  for (const bool waits : {true, false}) {
    launch(bench.device.stream(), 1, 256, 0, reverse, bench.block, waits);
    bench.device.download(numbers.data(), bench.block, 1024);
    int wrong = 0;
    for (int i = 0; i < 256; ++i)
      wrong += numbers[static_cast<std::size_t>(i)] != static_cast<float>(255 - i) ? 1 : 0;
    REQUIRE((wrong == 0) == waits);
  }
}

TEST_CASE("lanes of a warp exchange and vote", "[cuda_on_host]") {
  Bench bench;
  std::vector<float> numbers(32);
  launch(bench.device.stream(), 1, 32, 0, use_lanes, bench.block);
  bench.device.download(numbers.data(), bench.block, 128);
  for (int lane = 0; lane < 32; ++lane) {
    REQUIRE(numbers[static_cast<std::size_t>(lane)] ==
            static_cast<float>(496 * 10000 + (lane < 31 ? lane + 1 : 31) * 100 + 16));
  }
}

TEST_CASE("launches that no GPU takes fail with grid and block", "[cuda_on_host]") {
  Bench bench;
  REQUIRE_THROWS_WITH(
      launch(bench.other, dim3(1, 70000), 32, 0, write_number, bench.block, 1.0f),
      Catch::Contains("1x70000x1, 32x1x1") && Catch::Contains("cudaErrorInvalidConfiguration"));
  REQUIRE_THROWS(launch(bench.other, 1, 2048, 0, write_number, bench.block, 1.0f));
  REQUIRE_THROWS(launch(bench.other, 1, 32, 100000, write_number, bench.block, 1.0f));
}

TEST_CASE("in whatever order the streams work, results are the same", "[cuda_on_host]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Gpu gpu;
    Arena pinned(0, "", gpu.device.host_memory());
    cuda_on_host::set_eagerness(seed);
    const DeviceValues<float> x(gpu, std::vector<float>(300, 1.0f)),
        y(gpu, std::vector<float>(300, 2.0f));
    std::vector<Buffer> backs;
    std::vector<DeviceWorkPtr> downloads;
    for (int i = 0; i < 6; ++i) {
      gpu.kernels.add(x.data(), y.data(), 300);
      const Buffer now(gpu.arena, 1200);
      gpu.device.copy(now.data(), y.data(), 1200);
      backs.emplace_back(pinned, 1200);
      downloads.push_back(gpu.device.start_download(backs.back().data(), now.data(), 1200));
      while (i % 2 == 0 && !downloads.back()->has_ended()) {
      }
      if (i % 2 != 0) gpu.device.synchronize();  // before `now` is used again
    }
    for (int i = 0; i < 6; ++i)
      REQUIRE(static_cast<const float*>(backs[static_cast<std::size_t>(i)].data())[299] ==
              3.0f + static_cast<float>(i));
    cuda_on_host::set_eagerness(0);
  }
}

TEST_CASE("ranges have their names in the profiler, one within another", "[cuda_on_host]") {
  Bench bench;
  cuda_on_host::take_ranges();
  const DeviceRange outer(bench.device, [] { return std::string("BW1.3, stage 0"); });
  {
    const DeviceRange inner(bench.device, [] { return std::string("send"); });
  }
  const DeviceRange none(host_device(),
                         []() -> std::string { throw std::runtime_error("names cost time"); });
  REQUIRE(cuda_on_host::take_ranges() == std::vector<std::string>{"BW1.3, stage 0", "send"});
}

TEST_CASE("a graph repeats what was captured, with the arguments of then", "[cuda_on_host]") {
  Bench bench;
  REQUIRE(cudaStreamBeginCapture(bench.other, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  float number = 7.0f;
  launch(bench.other, 1, 1, 0, write_number, bench.block, number);
  number = 9.0f;
  REQUIRE(cudaMemcpyAsync(bench.block + 1, bench.block, 4, cudaMemcpyDeviceToDevice, bench.other) ==
          cudaSuccess);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(bench.other, &graph) == cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiateWithFlags(&executable, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  std::vector<float> numbers(2);
  const std::uint64_t launches = cuda_on_host::num_graph_launches();
  for (int i = 0; i < 2; ++i) {
    bench.device.download(numbers.data(), bench.block, 8);
    REQUIRE(numbers == std::vector<float>(2, i == 0 ? 1.0f : 7.0f));  // capturing did nothing
    REQUIRE(cudaGraphLaunch(executable, bench.other) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(bench.other) == cudaSuccess);
  }
  REQUIRE(cuda_on_host::num_graph_launches() == launches + 2);
  REQUIRE(cudaGraphExecDestroy(executable) == cudaSuccess);
}

TEST_CASE("what waits, allocates or asks breaks a capture", "[cuda_on_host]") {
  Bench bench;
  void* block = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  const std::function<cudaError_t()> breaks[] = {
      [&] { return cudaMalloc(&block, 8); },
      [&] { return cudaStreamSynchronize(bench.other); },
      [&] { return cudaHostAlloc(&block, 8, 0); },
      [&] { return cudaEventQuery(event); },
      [&] { return cudaFree(bench.block); },
      [&] { return cudaDeviceSynchronize(); },
  };
  for (const auto& call : breaks) {
    REQUIRE(cudaStreamBeginCapture(bench.other, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    REQUIRE(call() == cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(bench.other, &graph) == cudaErrorStreamCaptureInvalidated);
    REQUIRE(graph == nullptr);
  }
  REQUIRE(cudaEventDestroy(event) == cudaSuccess);
}

TEST_CASE("a graph that is destroyed while it runs is noticed", "[cuda_on_host]") {
  REQUIRE(contains(complaint_of_child([] {
                     Bench bench;
                     cudaGraph_t graph = nullptr;
                     cudaGraphExec_t executable = nullptr;
                     PPTRAIN_CUDA(cudaStreamBeginCapture, bench.other,
                                  cudaStreamCaptureModeThreadLocal);
                     launch(bench.other, 1, 1, 0, write_number, bench.block, 1.0f);
                     PPTRAIN_CUDA(cudaStreamEndCapture, bench.other, &graph);
                     PPTRAIN_CUDA(cudaGraphInstantiateWithFlags, &executable, graph, 0ULL);
                     PPTRAIN_CUDA(cudaGraphLaunch, executable, bench.other);
                     PPTRAIN_CUDA(cudaGraphExecDestroy, executable);
                   }),
                   "a graph is destroyed while it runs"));
}

TEST_CASE("kept blocks are returned when the memory is full", "[cuda_on_host]") {
  Gpu gpu;
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  cuda_on_host::set_capacity(total - free + (std::size_t{2} << 20));
  { const Buffer first(gpu.arena, std::size_t{3} << 19); }
  { const Buffer other(gpu.arena, std::size_t{1} << 20); }  // there is room for one of them
  REQUIRE_THROWS_WITH(gpu.arena.allocate(std::size_t{3} << 20),
                      Catch::Contains("GPU 0 (stand-in) gave no"));
  cuda_on_host::set_capacity(total);
}

TEST_CASE("without a GPU the program is told so", "[cuda_on_host]") {
  cuda_on_host::set_num_devices(0);
  REQUIRE(num_gpus() == 0);
  REQUIRE(contains(why_no_gpu(), "cudaGetDeviceCount: cudaErrorInsufficientDriver, 35"));
  cuda_on_host::set_num_devices(2);
}
