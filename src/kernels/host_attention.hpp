#pragma once

#include "kernels/attention.hpp"

namespace pptrain {

/// One head of one sample after another, by panel products.
class HostAttention final : public Attention {
 public:
  void forward(const Matrix& qkv, std::size_t samples, std::size_t sequence_length, std::size_t heads,
               const Matrix& out, float* log_sum, Arena& workspace) override;
  void backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout, std::size_t samples,
                std::size_t sequence_length, std::size_t heads, const Matrix& dqkv, Arena& workspace) override;
  std::string name() const override { return "host"; }
};

}  // namespace pptrain
