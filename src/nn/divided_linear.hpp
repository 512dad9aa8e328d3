#pragma once

#include <functional>
#include <vector>

#include "nn/linear.hpp"

namespace pptrain {

/// y = x W^T + b whose weights a tensor-parallel group divides, by columns of the output (Whale's SP1) or by rows of
/// the input (SP2), as the context says (Jia et al., Whale, 2022, Figure 6).
///
/// R rows, I inputs, O outputs; I_k, O_k: of this member. By columns: W (O_k, I), y (R, O_k), and input gradients are
/// summed over the group. By rows: W (O, I_k), y (R, O) is summed over the group, input gradients are gathered.
/// The functions are Collective over the group.
class DividedLinear {
 public:
  DividedLinear(LayerContext& context, std::size_t weight, std::size_t bias)
      : context_(context), weight_(weight), bias_(bias) {}

  bool by_rows() const { return context_.division == WeightDivision::rows; }
  /// Outputs that this member gets: O_k, or O.
  std::size_t outputs() const { return context_.parameters.parameters()[weight_].rows; }

  /// x (R, I) of the activation type; y (R, outputs) fp32 is written.
  void forward(const Matrix& x, const Matrix& y) const;
  /// dy (R, outputs); returns the gradient of the whole input, (R, I) fp32.
  Tensor backward_input(const Matrix& dy) const;
  void backward_weight(const Matrix& dy, const Matrix& x) const;

 private:
  ShardAxis input_axis() const { return context_.parameters.parameters()[weight_].spec.row_axis; }
  /// The columns of the input that this member multiplies.
  Matrix own_inputs(const Matrix& x) const;

  LayerContext& context_;
  std::size_t weight_;
  std::size_t bias_;
};

/// (R, sum of the parts' sizes) on every member from its own columns, which `fill` writes to (R, size of its part).
/// Collective over the context's group.
Tensor gather_columns(const LayerContext& context, std::size_t rows, const std::vector<Interval>& parts,
                      const std::function<void(const Matrix& own)>& fill);

}  // namespace pptrain
