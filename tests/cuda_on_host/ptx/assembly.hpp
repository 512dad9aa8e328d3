#pragma once

#include <cuda_runtime.h>

#include <cstring>
#include <string>
#include <vector>

#include "ptx/grid.hpp"
#include "ptx/parser.hpp"

namespace pptrain::test {

/// A kernel `tested(memory)` of these statements, with its pointer in %rd1, 2 KiB of shared memory
/// `scratch`, and %tid.x in %r1.
inline cuda_on_host::ptx::Kernel kernel_of(const std::string& statements) {
  const std::string text = R"(.version 9.0
.target sm_80
.entry tested(
	.param .u64 memory
)
.maxntid 128, 1, 1
{
	.reg .pred 	%p<9>;
	.shared .align 8 .b8 scratch[2048];
	ld.param.u64 	%rd1, [memory];
	mov.u32 	%r1, %tid.x;
	shl.b32 	%r2, %r1, 2;
	mov.u32 	%r3, scratch;
	add.s32 	%r4, %r3, %r2;
	cvt.u64.u32 	%rd2, %r2;
	add.s64 	%rd3, %rd1, %rd2;
)" + statements + R"(
	ret;
}
)";
  return cuda_on_host::ptx::parse(text, "tested.ptx").at(0);
}

/// Device memory of 1,024 numbers, all 0.
class DeviceNumbers {
 public:
  DeviceNumbers() {
    REQUIRE(cudaMalloc(&block_, bytes) == cudaSuccess);
    const cuda_on_host::Access access;
    std::memset(block_, 0, bytes);
  }
  ~DeviceNumbers() { (void)cudaFree(block_); }
  DeviceNumbers(const DeviceNumbers&) = delete;
  DeviceNumbers& operator=(const DeviceNumbers&) = delete;

  /// Runs a kernel on it.
  cuda_on_host::ptx::Outcome run(const cuda_on_host::ptx::Kernel& kernel, unsigned threads,
                                 unsigned blocks = 1) {
    const cuda_on_host::Access access;
    const std::string pointer(reinterpret_cast<const char*>(&block_), sizeof(block_));
    return cuda_on_host::ptx::run(kernel, {dim3(blocks), dim3(threads), 0, {pointer}});
  }
  unsigned operator[](std::size_t i) const {
    const cuda_on_host::Access access;
    return static_cast<const unsigned*>(block_)[i];
  }

 private:
  static constexpr std::size_t bytes = 4096;
  void* block_ = nullptr;
};

}  // namespace pptrain::test
