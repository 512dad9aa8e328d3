#pragma once

#include "kernels/attention.hpp"

namespace pptrain {

/// One head of one sample after another, by panel products.
class HostAttention final : public Attention {
 public:
  void forward(const AttentionForwardCall& call, Arena& workspace) override;
  void backward(const AttentionBackwardCall& call, Arena& workspace) override;
  std::string name() const override { return "host"; }
};

}  // namespace pptrain
