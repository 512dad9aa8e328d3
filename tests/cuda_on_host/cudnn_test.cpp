// The implementation that attention takes, as cuDNN's stand-in sees it.
#include "cudnn.h"

#include "cuda/attention.hpp"
#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Graphs that a forward and a backward pass of two samples of ten tokens run.
std::uint64_t graphs_of(Gpu& gpu, Attention& attention, DType type, const AttentionForm& form,
                        std::size_t padding) {
  const std::size_t rows = form.rows(), width = form.heads * form.head_size,
                    keys = form.key_heads * form.head_size;
  const Layout layout{padding, 0};
  Twin qkv(gpu, rows, width + 2 * keys, type, layout), out(gpu, rows, width, type, layout),
      dout(gpu, rows, width, type, layout), dqkv(gpu, rows, width + 2 * keys, type, layout),
      log_sum(gpu, rows, form.heads);
  qkv.randomise(1);
  dout.randomise(2);
  const auto part = [&](const Twin& twin, std::size_t which) {
    return which == 0 ? twin.device().columns_from(0, width)
                      : twin.device().columns_from(width + (which - 1) * keys, keys);
  };
  const std::uint64_t before = cuda_on_host::num_graphs();
  attention.forward(
      {form, part(qkv, 0), part(qkv, 1), part(qkv, 2), out.device(), log_sum.device_f32()},
      gpu.arena);
  attention.backward(
      {form, part(qkv, 0), part(qkv, 1), part(qkv, 2), out.device(), log_sum.device_f32(),
       dout.device(), part(dqkv, 0), part(dqkv, 1), part(dqkv, 2)},
      gpu.arena);
  gpu.device.synchronize();
  return cuda_on_host::num_graphs() - before;
}

std::uint64_t graphs_of(Gpu& gpu, Attention& attention, DType type, std::size_t head_size,
                        std::size_t padding) {
  return graphs_of(gpu, attention, type, multi_head(2, 10, 2, head_size), padding);
}

/// Four query heads on two key heads.
AttentionForm shared_form() {
  AttentionForm form = multi_head(2, 10, 4, 16);
  form.key_heads = form.group = 2;
  return form;
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
  REQUIRE(graphs_of(gpu, *make_cuda_attention(gpu.device, FusedAttention::own), DType::bf16, 16,
                    8) == 0);
  cuda_on_host::set_has_engines(false);
  REQUIRE(graphs_of(gpu, *make_cuda_attention(gpu.device), DType::bf16, 16, 8) == 0);
  cuda_on_host::set_has_engines(true);
}

TEST_CASE("cuDNN takes whole groups of query heads, and windows") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device);
  AttentionForm form = shared_form();
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, form, 8) == 2);
  form.window = 10;
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, form, 8) == 2);
  form.window = 4;
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, form, 8) == 2);
  form.window = 0;
  form.heads = 3;
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, form, 8) == 0);
  form.first = 1;
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, form, 8) == 0);
}

TEST_CASE("attention within documents runs by own kernels") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device);
  AttentionForm form = shared_form();
  const std::vector<std::int32_t> begins(form.rows(), 0);
  const Buffer on_device(gpu.arena, begins.size() * sizeof(std::int32_t));
  gpu.device.upload(on_device.data(), begins.data(), on_device.bytes());
  form.document_begin = static_cast<const std::int32_t*>(on_device.data());
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, form, 8) == 0);
  form.document_begin = nullptr;
  REQUIRE(graphs_of(gpu, *attention, DType::bf16, form, 8) == 2);
}
