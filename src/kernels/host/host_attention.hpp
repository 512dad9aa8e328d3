#pragma once

#include "kernels/attention.hpp"

namespace pptrain {

/// One head of one sample after another, by panel products.
class HostAttention final : public Attention {
 public:
  void forward(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
               const Matrix& out, float* log_sum, Arena& workspace) override;
  void backward(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
                const Matrix& out, const float* log_sum, const Matrix& dout, const Matrix& dq,
                const Matrix& dk, const Matrix& dv, Arena& workspace) override;
  std::string name() const override { return "host"; }
};

}  // namespace pptrain
