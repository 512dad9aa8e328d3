#include "cuda/attention.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "cuda/cudnn_attention.hpp"
#include "cuda/device.hpp"
#include "cuda/flash_attention.hpp"

namespace pptrain {
namespace {

class CudaAttention final : public Attention {
 public:
  CudaAttention(CudaDevice& device, FusedAttention fused)
      : device_(device), cudnn_(fused == FusedAttention::own ? nullptr : make_cudnn_attention(device)) {}

  void forward(const Matrix& qkv, std::size_t samples, std::size_t sequence_length, std::size_t heads,
               const Matrix& out, float* log_sum, Arena& workspace) override {
    if (cudnn_ != nullptr && cudnn_->takes(qkv, out, samples, sequence_length, heads)) {
      return cudnn_->forward(qkv, samples, sequence_length, heads, out, log_sum, workspace);
    }
    cuda::flash_forward(device_.stream(), shape_of(samples, sequence_length, heads, out), qkv, out, log_sum);
  }

  void backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout, std::size_t samples,
                std::size_t sequence_length, std::size_t heads, const Matrix& dqkv, Arena& workspace) override {
    if (cudnn_ != nullptr && dqkv.stride == qkv.stride && dout.stride == out.stride &&
        cudnn_->takes(dqkv, dout, samples, sequence_length, heads) &&
        cudnn_->takes(qkv, out, samples, sequence_length, heads)) {
      return cudnn_->backward(qkv, out, log_sum, dout, samples, sequence_length, heads, dqkv, workspace);
    }
    const Tensor delta(workspace, samples * heads, sequence_length);
    cuda::flash_backward(device_.stream(), shape_of(samples, sequence_length, heads, out), qkv, out, log_sum, dout,
                         dqkv, delta.f32());
  }

  std::string name() const override {
    constexpr const char* own = "own kernels";
    return cudnn_ == nullptr ? own : fmt::format("{}; for fp32, {}", cudnn_->name(), own);
  }

 private:
  static cuda::FlashShape shape_of(std::size_t samples, std::size_t length, std::size_t heads, const Matrix& out) {
    const std::size_t head_size = out.columns / heads;
    if (head_size > cuda::most_head_size) {
      throw_runtime_failure(
          {"", fmt::format("attention with heads of {} elements", head_size),
           fmt::format("tiles of heads up to {} fit into the shared memory of every GPU", cuda::most_head_size),
           "choose more heads"});
    }
    return {samples, length, heads, head_size, 1.0F / std::sqrt(static_cast<float>(head_size))};
  }

  CudaDevice& device_;
  std::unique_ptr<CudnnAttention> cudnn_;
};

}  // namespace

std::unique_ptr<Attention> make_cuda_attention(CudaDevice& device, FusedAttention fused) {
  return std::make_unique<CudaAttention>(device, fused);
}

}  // namespace pptrain
