#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/families/config_keys.hpp"
#include "model/families/images.hpp"
#include "model/graph/image_layers.hpp"

namespace pptrain {
namespace {

/// Simonyan and Zisserman, "Very deep convolutional networks", 2015, with the names of torchvision:
/// 3 x 3 convolutions with ReLU and 2 x 2 pooling, then dense layers of which the odd ones are
/// divided by columns and the even ones by rows. Without dropout, and without the average over a
/// last map that is larger than the dense layers want.
class Vgg {
 public:
  Vgg(const ConfigJson& config, const FamilyOptions& options)
      : config_(config),
        compute_bytes_(options.compute_bytes),
        image_(image_shape(config, options.image_size)),
        map_{image_.height, image_.channels},
        steps_(config.mixed("cfg")),
        classes_(config.size("num_labels")) {
    if (steps_.empty() || steps_.front() == "M") refuse_step("it begins with no convolution");
    const std::vector<std::int64_t> widths = config.integers("hidden");
    if (static_cast<std::int64_t>(std::max(steps_.size(), widths.size())) > most_layers) {
      config.refuse("cfg",
                    fmt::format("{} convolutions and poolings, {} dense layers", steps_.size(),
                                widths.size()),
                    fmt::format("at most {} of each are taken", most_layers),
                    "correct cfg or hidden");
    }
    for (const std::int64_t width : widths) {
      if (width < 1 || width > most_columns) {
        config.refuse("hidden", fmt::format("a dense layer of {} columns", width),
                      fmt::format("from 1 to {} are taken", most_columns), "correct it");
      }
      dense_.push_back({dense_name(dense_.size()), width, Activation::relu});
    }
    if (dense_.empty()) {
      config.refuse("hidden", "there are no dense layers",
                    "the first of them reads the feature map", "name their widths");
    }
  }

  Model build() {
    Model model;
    model.name = "vgg";
    model.sample = {1, image_.pixels(), classes_, 0, image_};
    model.axes = {{ShardAxis::columns, dense_units(dense_)}};
    for (std::size_t step = 0; step < steps_.size();) model.layers.push_back(features(step));
    check_flattened();
    for (std::size_t i = 0; i < dense_.size(); i += 2) {
      const Port in = i == 0 ? map_.port() : Port{1, dense_[i - 1].columns};
      model.layers.push_back(dense_pair(dense_, i, in, dense_units(dense_), compute_bytes_));
    }
    model.layers.push_back(class_output(dense_name(dense_.size()), {1, dense_.back().columns},
                                        classes_, ShardAxis::none, compute_bytes_));
    return model;
  }

 private:
  static constexpr std::int64_t most_flattened = std::int64_t{1} << 31;

  [[noreturn]] void refuse_step(const std::string& reason) const {
    config_.refuse("cfg", "this is no list of channels and of \"M\" for pooling", reason,
                   "correct cfg");
  }

  [[noreturn]] void refuse_pooling() const {
    config_.refuse(
        "cfg",
        fmt::format("the pooling features.{} has nothing left of the image to work on", index_),
        fmt::format("a feature map of {0} x {0} pixels comes to it, and it needs 2 x 2", map_.side),
        "use larger images, or a network with fewer steps down");
  }

  /// The first dense layer has a row of weights for every number of the last map.
  void check_flattened() const {
    const std::int64_t numbers = map_.side * map_.side * map_.channels;
    if (numbers <= most_flattened) return;
    config_.refuse("cfg",
                   fmt::format("{0} x {0} pixels of {1} channels come to the dense layers",
                               map_.side, map_.channels),
                   fmt::format("at most {} numbers are taken", most_flattened),
                   "use smaller images or more poolings");
  }

  std::int64_t channels_of(const std::string& step) const {
    std::int64_t channels = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), channels);
    const bool is_number = error == std::errc() && end == step.data() + step.size();
    if (is_number && 0 < channels && channels <= most_width) return channels;
    refuse_step(fmt::format("\"{}\" is neither", step));
  }

  /// A convolution with ReLU and the pooling behind it. torchvision counts each of these.
  Layer features(std::size_t& step) {
    const std::string name = fmt::format("features.{}", index_);
    LayerGraph g(name, "");
    ValueIndex x =
        step == 0 ? g.features(image_.channels, map_.side * map_.side) : g.input(map_.port());
    const std::int64_t channels = channels_of(steps_[step++]);
    x = g.activate(
        g.convolution(name, x, {.window = map_.window(3, 1, 1), .out = channels, .bias = true}),
        Activation::relu);
    map_.channels = channels;
    index_ += 2;
    for (; step < steps_.size() && steps_[step] == "M"; ++step, ++index_) {
      const Window window = map_.window(2, 2, 0);
      if (!window.fits()) refuse_pooling();
      x = g.pool(x, PoolKind::max, window);
      map_.side = window.out_height();
    }
    g.output(x);
    return g.finish(compute_bytes_);
  }

  static std::string dense_name(std::size_t i) { return fmt::format("classifier.{}", 3 * i); }

  const ConfigJson& config_;
  double compute_bytes_;
  ImageShape image_;
  FeatureMap map_;  ///< that the next layer reads
  std::vector<std::string> steps_;
  std::vector<DenseLayer> dense_;
  std::int64_t classes_;
  std::int64_t index_ = 0;  ///< of the next module in torchvision's `features`
};

}  // namespace

Model build_vgg(const ConfigJson& config, const FamilyOptions& options) {
  return Vgg(config, options).build();
}

}  // namespace pptrain
