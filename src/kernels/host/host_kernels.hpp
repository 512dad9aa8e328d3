#pragma once

#include "kernels/kernels.hpp"

namespace pptrain {

/// The shared bodies, launched by Kokkos.
class HostKernels final : public Kernels {
 public:
  void residual_norm_forward(const ResidualNormCall& norm) override;
  void norm_backward(const NormBackwardCall& norm) override;
  void residual_add(const Matrix& x, const Matrix& y, const float* bias,
                    const Matrix& out) override;
  void activation_forward(Activation activation, const Matrix& u, const Matrix& out) override;
  void activation_backward(Activation activation, const Matrix& u, const Matrix& dout,
                           const Matrix& du, const Matrix& out) override;
  void gate_forward(Activation activation, const Matrix& gate, const Matrix& up,
                    const Matrix& out) override;
  void gate_backward(const GateBackwardCall& call) override;
  void rotate(const Matrix& x, std::size_t sequence_length, std::size_t heads, const Matrix& table,
              bool back) override;
  void add_column_sums(const Matrix& d, float* gradient) override;
  void add_column_sums_and_convert(const Matrix& d, float* gradient,
                                   const Matrix& converted) override;
  void embedding_forward(const EmbeddingTokens& of, const Matrix& token_embedding,
                         const Matrix& position_embedding, bool add_position,
                         const Matrix& x) override;
  void embedding_backward(const EmbeddingTokens& of, const Matrix& dx,
                          const Matrix& dtoken_embedding,
                          const Matrix& dposition_embedding) override;
  void soft_cap(const Matrix& x, float cap) override;
  void cross_entropy_max(const Matrix& logits, float* row_max) override;
  void cross_entropy_sum(const Matrix& logits, const Targets& targets, const float* row_max,
                         float* row_sum, float* target_logit) override;
  void cross_entropy_gradient(const Matrix& logits, const Targets& targets, const float* row_max,
                              const float* row_sum, const LossGradient& gradient) override;
  void cross_entropy_loss(const float* row_max, const float* row_sum, const float* target_logit,
                          std::size_t rows, double* loss, double z_loss) override;
  void spread_columns(const Matrix& table, const std::int32_t* source, const Matrix& out) override;
  void collect_columns(const Matrix& x, const std::int32_t* source, const Matrix& table) override;
  void add(const float* x, float* y, std::size_t n) override;
  void scale(float* x, float factor, std::size_t n) override;
  void dropout(float* x, std::size_t n, const DropoutMask& mask) override;
  void sums_of_squares(const ValueRun* runs, std::size_t count, double* sum) override;
  void convert(const Matrix& from, const Matrix& to) override;
  void fill_zero(float* x, std::size_t n) override;
  std::size_t update(const UpdateRun* runs, std::size_t count, const UpdateStep& step) override;
};

}  // namespace pptrain
