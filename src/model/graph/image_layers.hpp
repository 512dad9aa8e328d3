#pragma once

#include <string>
#include <vector>

#include "model/graph/layer_graph.hpp"

/// Layers of networks that read images pixel by pixel, so that a feature map has a row for each of
/// them, and of the classifiers behind.
namespace pptrain {

/// A square feature map while a chain is written down.
struct FeatureMap {
  std::int64_t side = 0;
  std::int64_t channels = 0;

  /// The map as it crosses to the next layer: a row for each pixel, a column for each channel.
  Port port() const { return {side * side, channels}; }
  /// A square window over it; whether it fits is for the caller to ask (`Window::fits`).
  Window window(std::int64_t kernel, std::int64_t stride, std::int64_t padding) const {
    return {side, side, kernel, kernel, stride, padding};
  }
};

/// A convolution without bias and its batch norm, PREFIXconvolution and PREFIXnormalization; `map`
/// becomes the result's.
ValueIndex normalised(LayerGraph& g, const std::string& prefix, ValueIndex x, FeatureMap& map,
                      const LayerGraph::ConvolutionShape& shape, double epsilon);

/// A block of He et al., "Deep residual learning", 2015, figure 5.
struct ResidualShape {
  std::int64_t out = 0;     ///< channels
  std::int64_t inner = 0;   ///< channels in front of the 3 x 3 convolution of a bottleneck; 0: two
                            ///< of 3 x 3
  std::int64_t wide = 0;    ///< channels behind it; 0: `inner`
  std::int64_t stride = 1;  ///< of the first 3 x 3 convolution
  bool stride_in_first = false;  ///< `stride` is that of the first convolution, whatever it is
  Activation activation = Activation::relu;        ///< behind the sum
  Activation inner_activation = Activation::relu;  ///< behind the convolutions in front of the last
                                                   ///< one
  double epsilon = 1e-5;                           ///< of batch norms

  /// Channels between the convolution that a tensor-parallel group divides by columns and the one
  /// behind it, which it divides by rows: those of 3 x 3, in a bottleneck the one and its last.
  std::int64_t divided_channels() const { return inner == 0 ? out : wide > 0 ? wide : inner; }
};

/// The length of the axis along which blocks are divided, which is common to all of them: the
/// greatest common divisor of their channels. Blocks of few channels are left out, of which every
/// member computes all; 0: all are.
std::int64_t common_channels(const std::vector<ResidualShape>& blocks);

/// Adds a residual block: its convolutions with their batch norms, a projection where channels or
/// pixels change, the sum of both, activated. `map` becomes the result's. `axis`: length of the
/// axis that channels are divided along.
ValueIndex residual_block(LayerGraph& g, ValueIndex x, FeatureMap& map, const ResidualShape& shape,
                          std::int64_t axis);

/// A dense layer with a bias in front of a classifier.
struct DenseLayer {
  std::string name;
  std::int64_t columns = 0;
  Activation activation = Activation::relu;
};

/// How many members can divide dense layers: the odd ones (the first, the third, ...) are divided
/// by columns, the even ones by rows.
std::int64_t dense_units(const std::vector<DenseLayer>& layers);

/// Dense layers `i` (from 0, even) and, where there is one, `i` + 1 as one layer of the chain. The
/// rows of its input `in` are laid one after another. `axis`: length of the axis of columns.
Layer dense_pair(const std::vector<DenseLayer>& layers, std::size_t i, const Port& in,
                 std::int64_t axis, double compute_bytes);

/// Classes with the loss. `axis`: `classes`, by which they are divided, or `none`, where every
/// member computes all.
Layer class_output(const std::string& name, const Port& in, std::int64_t classes, ShardAxis axis,
                   double compute_bytes);

}  // namespace pptrain
