#include "cuda/attention.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "cuda/cudnn_attention.hpp"
#include "cuda/device.hpp"
#include "cuda/flash_attention.hpp"

namespace pptrain {
namespace {

class CudaAttention final : public Attention {
 public:
  CudaAttention(CudaDevice& device, FusedAttention fused)
      : device_(device),
        cudnn_(fused == FusedAttention::own ? nullptr : make_cudnn_attention(device)) {}

  void forward(const AttentionForwardCall& call, Arena& workspace) override {
    check_attention(call.form, call.q, call.k, call.v, call.out);
    if (cudnn_ != nullptr && cudnn_->takes(call.form, call.q, call.k, call.v, call.out))
      return cudnn_->forward(call, workspace);
    cuda::flash_forward(device_.stream(), shape_of(call.form), call);
  }

  void backward(const AttentionBackwardCall& call, Arena& workspace) override {
    check_attention(call.form, call.q, call.k, call.v, call.out);
    check_attention(call.form, call.dq, call.dk, call.dv, call.dout);
    const bool are_alike = call.dq.stride == call.q.stride && call.dk.stride == call.k.stride &&
                           call.dv.stride == call.v.stride && call.dout.stride == call.out.stride;
    if (cudnn_ != nullptr && are_alike &&
        cudnn_->takes(call.form, call.dq, call.dk, call.dv, call.dout) &&
        cudnn_->takes(call.form, call.q, call.k, call.v, call.out)) {
      return cudnn_->backward(call, workspace);
    }
    const AttentionForm& form = call.form;
    const cuda::FlashShape shape = shape_of(form);
    const Tensor delta(workspace, form.samples * form.heads, form.sequence_length);
    if (form.bias_gradient == nullptr)
      return cuda::flash_backward(device_.stream(), shape, call, {delta.f32(), nullptr});
    const Tensor diagonals(workspace, 1, cuda::diagonal_sums(shape));
    device_.fill(diagonals.f32(), 0, diagonals.size() * sizeof(float));
    cuda::flash_backward(device_.stream(), shape, call, {delta.f32(), diagonals.f32()});
    cuda::add_bias_gradient(device_.stream(), shape, diagonals.f32(), form.bias_gradient);
  }

  std::string name() const override {
    constexpr const char* own = "own kernels";
    return cudnn_ == nullptr ? own : fmt::format("{}; for fp32, {}", cudnn_->name(), own);
  }

 private:
  cuda::FlashShape shape_of(const AttentionForm& form) const {
    if (form.head_size > cuda::most_head_size) {
      throw_runtime_failure(
          {"", fmt::format("attention with heads of {} elements", form.head_size),
           fmt::format("tiles of heads up to {} fit into the shared memory of every GPU",
                       cuda::most_head_size),
           "choose more heads"});
    }
    return {form.samples,        form.sequence_length, form.heads, form.head_size,
            form.key_heads,      form.group,           form.first, form.window,
            form.document_begin, form.scale,           form.cap,   form.causal,
            form.keys(),         form.seen_keys,       form.bias,  device_.shared_bytes()};
  }

  CudaDevice& device_;
  std::unique_ptr<CudnnAttention> cudnn_;
};

}  // namespace

std::unique_ptr<Attention> make_cuda_attention(CudaDevice& device, FusedAttention fused) {
  return std::make_unique<CudaAttention>(device, fused);
}

}  // namespace pptrain
