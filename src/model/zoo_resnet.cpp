#include <fmt/format.h>

#include "model/transformer.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {
namespace {

/// Builds the chain while the image shrinks and the channels grow.
class ResNet {
 public:
  ResNet(const ResNetShape& shape, Precision precision) : shape_(shape), e_(element_bytes(precision)) {}

  /// 7 x 7 convolution of stride 2 and pooling of stride 2.
  LayerDescription stem() {
    const auto channels = static_cast<double>(shape_.channels);
    LayerBuilder builder("stem", e_);
    convolution(builder, 3.0, channels, 7.0, 2.0, WeightDivision::none);
    const double before = side_ * side_ * channels;
    side_ /= 2.0;
    const double after = side_ * side_ * channels;
    builder.elementwise({before + after, before + 2.0 * after, 1, 1, Share::whole});
    builder.layer().stored_bytes += e_ * (3.0 * image_side * image_side + after);
    channels_ = channels;
    return finish(builder, 0.0);
  }

  /// 1 x 1, 3 x 3, 1 x 1 convolutions (He et al., 2015, figure 5) and the residual sum, with a
  /// projection where the shape changes. In a tensor-parallel group the wide inner channels are
  /// divided if the model has any; else every member computes everything.
  LayerDescription bottleneck(const std::string& name, double filters, double stride) {
    const bool divided = shape_.width_factor > 1;
    const double wide = filters * static_cast<double>(shape_.width_factor);
    const double out = 4.0 * filters;
    const double entry_side = side_;
    const double entry_channels = channels_;
    LayerBuilder builder(name, e_);
    builder.layer().stored_bytes = e_ * entry_side * entry_side * entry_channels;
    convolution(builder, entry_channels, filters, 1.0, 1.0, WeightDivision::none);
    convolution(builder, filters, wide, 3.0, stride, divided ? WeightDivision::columns : WeightDivision::none);
    convolution(builder, wide, out, 1.0, 1.0, divided ? WeightDivision::rows : WeightDivision::none);
    if (stride != 1.0 || entry_channels != out) {
      const double exit_side = side_;
      side_ = entry_side;
      convolution(builder, entry_channels, out, 1.0, stride, WeightDivision::none);
      side_ = exit_side;
    }
    channels_ = out;
    const double elements = side_ * side_ * out;
    builder.elementwise({3.0 * elements, 3.0 * elements, 1, 1, Share::whole});
    // F sums the output of the last convolution, B the gradient of the second one's input.
    const double sums = elements + entry_side * entry_side * filters;
    return finish(builder, divided ? 0.5 * e_ * sums : 0.0);
  }

  /// Adds the average over the image to the last block, so that no more than a value per channel crosses to the
  /// classifier.
  void average(LayerDescription& last) {
    const double elements = side_ * side_ * channels_;
    LayerBuilder builder("average", e_);
    builder.elementwise({elements + channels_, elements + channels_, 1, 1, Share::whole});
    const LayerDescription& pool = builder.layer();
    last.forward.insert(last.forward.end(), pool.forward.begin(), pool.forward.end());
    last.backward_input.insert(last.backward_input.end(), pool.backward_input.begin(), pool.backward_input.end());
    last.stored_bytes += e_ * elements;
    last.output_bytes = e_ * channels_;
  }

  /// Classes and loss; its columns are divided (Whale, section 2.1).
  LayerDescription classifier() {
    const auto classes = static_cast<double>(shape_.classes);
    LayerBuilder builder("classifier", e_);
    builder.product(linear(1.0, channels_, classes, WeightDivision::columns));
    add_loss(builder, 1.0, classes);
    LayerDescription& layer = builder.layer();
    layer.parameters = (channels_ + 1.0) * classes;
    layer.stored_bytes = e_ * channels_ + 4.0 * classes;
    layer.tensor_parallel_allreduce_bytes = 0.5 * e_ * channels_;  // in B only
    return layer;
  }

 private:
  static constexpr double image_side = 224.0;

  /// Convolution, batch normalisation and activation; their inputs are stored.
  void convolution(LayerBuilder& builder, double in, double out, double kernel, double stride,
                   WeightDivision division) {
    const double entry = side_ * side_ * in;
    side_ /= stride;
    const double exit = side_ * side_ * out;
    const double weights = kernel * kernel * in * out;
    builder.product({2.0 * side_ * side_ * weights, entry, exit, weights, division});
    const Share share = division == WeightDivision::columns ? Share::divided : Share::whole;
    // Statistics, normalisation with activation; the same and the activation's gradient in B.
    builder.elementwise({3.0 * exit, 5.0 * exit, 2, 2, share});
    builder.layer().parameters += weights + 2.0 * out;
    builder.layer().stored_bytes += e_ * 2.0 * exit;
  }

  LayerDescription finish(LayerBuilder& builder, double allreduce_bytes) const {
    LayerDescription layer = builder.layer();
    layer.output_bytes = e_ * side_ * side_ * channels_;
    layer.tensor_parallel_allreduce_bytes = allreduce_bytes;
    return layer;
  }

  const ResNetShape& shape_;
  double e_;
  double side_ = image_side;
  double channels_ = 3.0;
};

}  // namespace

ModelDescription resnet(const ResNetShape& shape, Precision precision) {
  ResNet layers(shape, precision);
  ModelDescription model;
  model.precision = precision;
  // Whale divides the classifier alone, over up to 32 devices.
  model.tensor_parallel_degrees =
      shape.width_factor > 1 ? dividing_degrees(shape.channels) : dividing_degrees(shape.classes, 32);
  model.layers.push_back(layers.stem());
  for (std::size_t i = 0; i < shape.blocks.size(); ++i) {
    const auto filters = static_cast<double>(shape.channels << i);
    for (int j = 0; j < shape.blocks[i]; ++j) {
      const double stride = i > 0 && j == 0 ? 2.0 : 1.0;
      model.layers.push_back(layers.bottleneck(fmt::format("block.{}.{}", i, j), filters, stride));
    }
  }
  layers.average(model.layers.back());
  model.layers.push_back(layers.classifier());
  return model;
}

}  // namespace pptrain
