#pragma once

#include <memory>
#include <string>

#include "kernels/attention.hpp"

namespace pptrain {

class CudaDevice;

/// cuDNN's fused attention.
///
/// Scores and probabilities stay on chip, the latter rounded to the activations' type before they
/// multiply the values; log_sum is (samples, heads, sequence length). Key heads may be shared by
/// whole groups of query heads. The gradient of the queries is summed in fp32 by atomic additions:
/// two runs may differ in their last bits.
class CudnnAttention : public Attention {
 public:
  /// Whether cuDNN takes these, forward and backward; asks it, and compiles, when it sees sizes for
  /// the first time.
  virtual bool takes(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
                     const Matrix& out) = 0;
};

/// Null where pptrain was built without cuDNN or this version is not known to be right.
std::unique_ptr<CudnnAttention> make_cudnn_attention(CudaDevice& device);

}  // namespace pptrain
