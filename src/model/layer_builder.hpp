#pragma once

#include <string>

#include "model/description.hpp"
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
};

/// `rows` vectors of a sample from `in` to `out` columns.
Product linear(double rows, double in, double out, WeightDivision division = WeightDivision::none);

/// Kernels that do a few operations per element: normalisation, activation, dropout, residual sums.
struct Elementwise {
  double forward = 0.0;   ///< elements read and written per sample
  double backward = 0.0;  ///< likewise, in B
  int forward_launches = 1;
  int backward_launches = 1;
  Share share = Share::whole;
};

/// Collects the work of a layer. Sizes in elements become bytes by the element size.
class LayerBuilder {
 public:
  LayerBuilder(std::string name, double element_bytes) : element_bytes_(element_bytes) {
    layer_.name = std::move(name);
  }

  /// One kernel in each of F, B (the gradient of the input) and W (that of the weights, added up).
  void product(const Product& product);
  void elementwise(const Elementwise& work);
  void forward(const Kernel& kernel) { layer_.forward.push_back(kernel); }
  void backward_input(const Kernel& kernel) { layer_.backward_input.push_back(kernel); }
  void backward_weight(const Kernel& kernel) { layer_.backward_weight.push_back(kernel); }

  double element_bytes() const { return element_bytes_; }
  LayerDescription& layer() { return layer_; }

 private:
  LayerDescription layer_;
  double element_bytes_;
};

}  // namespace pptrain
