#pragma once

#include "model/model.hpp"

namespace pptrain {

/// Activations times weights: a linear layer or a convolution. Elements per sample.
struct Product {
  double flop = 0.0;
  double inputs = 0.0;
  double outputs = 0.0;
  double weights = 0.0;  ///< elements
  WeightDivision division = WeightDivision::none;
  int launches = 1;
  double rows = 0.0;  ///< of the activations; 0: the matrices are not known
  double in = 0.0;    ///< columns of the activations, rows of the weights
  double out = 0.0;   ///< columns of the weights
};

/// `rows` vectors of a sample from `in` to `out` columns.
Product linear(double rows, double in, double out, WeightDivision division = WeightDivision::none);

/// Kernels that do a few operations per element: normalisation, activation, dropout, residual sums.
struct Elementwise {
  double forward = 0.0;   ///< elements read and written per sample, in F
  double backward = 0.0;  ///< elements read and written per sample, in B
  int forward_launches = 1;
  int backward_launches = 1;
  Share share = Share::whole;
};

/// Collects the work of a layer. Sizes in elements become bytes by the element size.
class WorkBuilder {
 public:
  explicit WorkBuilder(double element_bytes) : element_bytes_(element_bytes) {}

  /// One kernel in each of F, B (the gradient of the input) and W (that of the weights, added up).
  void product(const Product& product);
  /// The gradient of the input of the last product is not asked for.
  void without_input_gradient() { work_.backward_input.pop_back(); }
  /// One kernel in each of F and B, unless it has no launches there.
  void elementwise(const Elementwise& work);
  /// Attention of `tokens` positions to `keys` of them, or of others, tile by tile, without
  /// projections; for `sequences` of such positions in a sample.
  void attention(const op::SelfAttention& attention, double tokens, double keys,
                 double sequences = 1.0);
  /// Looking up tokens and adding their positions.
  void embedding(double tokens, double columns);
  /// The loss over `classes` of each of `rows` vectors, in fp32 whatever the precision, its classes
  /// divided.
  void loss(double rows, double classes);
  /// Adds a kernel to F.
  void forward(const Kernel& kernel) { work_.forward.push_back(kernel); }
  /// Adds a kernel to B.
  void backward_input(const Kernel& kernel) { work_.backward_input.push_back(kernel); }
  /// Adds a kernel to W.
  void backward_weight(const Kernel& kernel) { work_.backward_weight.push_back(kernel); }

  /// Bytes of an element, as the constructor was told.
  double element_bytes() const { return element_bytes_; }
  /// Gives up the work that has been collected, at the end.
  Work take() { return std::move(work_); }

 private:
  Work work_;
  double element_bytes_;
};

}  // namespace pptrain
