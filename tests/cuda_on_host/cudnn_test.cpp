// Which implementation attention takes, as cuDNN's stand-in sees it.
#include "cudnn.h"

#include "cuda/attention.hpp"
#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Graphs that a forward and a backward pass run.
std::uint64_t graphs_of(Gpu& gpu, Attention& attention, DType type, std::size_t head_size, std::size_t padding) {
  const std::size_t rows = 20, heads = 2, width = heads * head_size;
  const Layout layout{padding, 0};
  Twin qkv(gpu, rows, 3 * width, type, layout), out(gpu, rows, width, type, layout),
      dout(gpu, rows, width, type, layout), dqkv(gpu, rows, 3 * width, type, layout), log_sum(gpu, rows, heads);
  qkv.randomise(1);
  dout.randomise(2);
  const std::uint64_t before = cuda_on_host::num_graphs();
  attention.forward(qkv.device(), 2, 10, heads, out.device(), log_sum.device_f32(), gpu.arena);
  attention.backward(qkv.device(), out.device(), log_sum.device_f32(), dout.device(), 2, 10, heads, dqkv.device(),
                     gpu.arena);
  gpu.device.synchronize();
  return cuda_on_host::num_graphs() - before;
}

}  // namespace

TEST_CASE("attention runs by cuDNN where it takes type, shape and layout, else by own kernels") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device);
  REQUIRE(attention->name() == "cuDNN 9.19.0; for fp32, own kernels");
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, 16, 8) == 2);
  REQUIRE(graphs_of(gpu, *attention, DType::f16, 16, 8) == 2);
  REQUIRE(graphs_of(gpu, *attention, DType::f32, 16, 8) == 0);
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, 12, 0) == 0);
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, 16, 1) == 0);
  REQUIRE(graphs_of(gpu, *make_cuda_attention(gpu.device, FusedAttention::own), DType::bf16, 16, 8) == 0);
  cuda_on_host::set_has_engines(false);
  REQUIRE(graphs_of(gpu, *make_cuda_attention(gpu.device), DType::bf16, 16, 8) == 0);
  cuda_on_host::set_has_engines(true);
}
