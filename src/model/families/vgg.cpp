#include <fmt/format.h>

#include <charconv>
#include <numeric>

#include "model/families/images.hpp"

namespace pptrain {
namespace {

/// Simonyan and Zisserman, "Very deep convolutional networks", 2015, with the names of torchvision: 3 x 3 convolutions
/// with ReLU and 2 x 2 pooling, then dense layers of which the odd ones are divided by columns and the even ones by
/// rows. Without dropout, and without the average over a last map that is larger than the dense layers want.
class Vgg {
 public:
  Vgg(const ConfigJson& config, const FamilyOptions& options)
      : config_(config),
        compute_bytes_(options.compute_bytes),
        image_(image_shape(config, options.image_size)),
        map_{image_.height, image_.channels},
        steps_(config.mixed("cfg")),
        hidden_(config.integers("hidden")),
        classes_(config.size("num_labels")) {
    if (steps_.empty() || steps_.front() == "M") refuse_step("it begins with no convolution");
    if (hidden_.empty()) {
      config.refuse("hidden", "there are no dense layers", "the first of them reads the feature map",
                    "name their widths");
    }
    for (const std::int64_t width : hidden_) {
      if (width < 1) config.refuse("hidden", fmt::format("a dense layer of {} columns", width), "", "correct it");
    }
  }

  Model build() {
    Model model;
    model.name = "vgg";
    model.sample = {1, image_.pixels(), classes_, 0, image_};
    for (std::size_t i = 0; i < hidden_.size(); i += 2) columns_ = std::gcd(columns_, hidden_[i]);
    model.axes = {{ShardAxis::columns, columns_}};
    for (std::size_t step = 0; step < steps_.size();) model.layers.push_back(features(step));
    for (std::size_t i = 0; i < hidden_.size(); i += 2) model.layers.push_back(dense(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  [[noreturn]] void refuse_step(const std::string& reason) const {
    config_.refuse("cfg", "this is no list of channels and of \"M\" for pooling", reason, "correct cfg");
  }

  std::int64_t channels_of(const std::string& step) const {
    std::int64_t channels = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), channels);
    if (error == std::errc() && end == step.data() + step.size() && channels > 0) return channels;
    refuse_step(fmt::format("\"{}\" is neither", step));
  }

  /// A convolution with ReLU and the pooling behind it. torchvision counts each of these.
  Layer features(std::size_t& step) {
    const std::string name = fmt::format("features.{}", index_);
    LayerGraph g(name, "");
    ValueIndex x = step == 0 ? g.features(image_.channels, map_.side * map_.side) : g.input(map_.port());
    const std::int64_t channels = channels_of(steps_[step++]);
    x = g.activate(g.convolution(name, x, map_.window(config_, name, 3, 1, 1), channels, true), Activation::relu);
    map_.channels = channels;
    index_ += 2;
    for (; step < steps_.size() && steps_[step] == "M"; ++step, ++index_) {
      const Window window = map_.window(config_, fmt::format("the pooling features.{}", index_), 2, 2, 0);
      x = g.pool(x, PoolKind::max, window);
      map_.side = window.out_height();
    }
    g.output(x);
    return g.finish(compute_bytes_);
  }

  static std::string dense_name(std::size_t i) { return fmt::format("classifier.{}", 3 * i); }
  AxisDivision division(std::size_t i) const { return {ShardAxis::columns, 1, hidden_[i] / columns_}; }

  /// Dense layers `i` and, where there is one, `i` + 1.
  Layer dense(std::size_t i) const {
    LayerGraph g(dense_name(i), "");
    const ValueIndex in = i == 0 ? g.flatten(g.input(map_.port())) : g.input({1, hidden_[i - 1]});
    ValueIndex x =
        g.activate(product(g, in, i, {.out = hidden_[i], .columns = division(i), .bias = true}), Activation::relu);
    if (i + 1 < hidden_.size()) {
      x = g.activate(product(g, x, i + 1, {.out = hidden_[i + 1], .rows = division(i), .bias = true}),
                     Activation::relu);
    } else {
      x = g.gather(g.convert(x, Element::fp32));
    }
    g.output(x);
    return g.finish(compute_bytes_);
  }

  static ValueIndex product(LayerGraph& g, ValueIndex x, std::size_t i, LayerGraph::LinearShape shape) {
    shape.deviation = uniform_deviation(g.value(x).columns);
    return g.linear(dense_name(i), x, shape);
  }

  /// Every member of a group computes all classes.
  Layer output() const {
    LayerGraph g("output", "");
    const ValueIndex x = g.input({1, hidden_.back()});
    g.loss(product(g, x, hidden_.size(), {.out = classes_, .bias = true, .wide = true}));
    return g.finish(compute_bytes_);
  }

  const ConfigJson& config_;
  double compute_bytes_;
  ImageShape image_;
  FeatureMap map_;  ///< that the next layer reads
  std::vector<std::string> steps_;
  std::vector<std::int64_t> hidden_;
  std::int64_t classes_;
  std::int64_t columns_ = 0;  ///< length of the axis
  std::int64_t index_ = 0;    ///< of the next module in torchvision's `features`
};

}  // namespace

Model build_vgg(const ConfigJson& config, const FamilyOptions& options) { return Vgg(config, options).build(); }

}  // namespace pptrain
