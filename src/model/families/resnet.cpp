#include <fmt/format.h>

#include "model/families/config_keys.hpp"
#include "model/families/images.hpp"
#include "model/graph/image_layers.hpp"

namespace pptrain {
namespace {

/// He et al., "Deep residual learning", 2015, with its classifier, whose classes a tensor-parallel
/// group divides (Jia et al., "Whale", 2022, section 2.1) like the channels within blocks.
class ResNetFamily {
 public:
  ResNetFamily(const ConfigJson& config, const FamilyOptions& options)
      : config_(config),
        compute_bytes_(options.compute_bytes),
        image_(image_shape(config, options.image_size)),
        map_{image_.height, image_.channels},
        entry_(config.size("embedding_size", 64, most_width)),
        widths_(config.has("hidden_sizes") ? config.integers("hidden_sizes")
                                           : std::vector<std::int64_t>{256, 512, 1024, 2048}),
        depths_(config.has("depths") ? config.integers("depths")
                                     : std::vector<std::int64_t>{3, 4, 6, 3}),
        bottleneck_(config.text("layer_type", "bottleneck") == "bottleneck"),
        activation_(activation_of(config, "hidden_act", "relu")),
        stride_in_first_(config.boolean("downsample_in_bottleneck", false)),
        downsamples_first_(config.boolean("downsample_in_first_stage", false)),
        classes_(num_classes(config)) {
    config.only("problem_type", std::string("single_label_classification"),
                "each image has one class");
    check();
  }

  Model build() {
    Model model;
    model.name = "resnet";
    model.sample = {1, image_.pixels(), classes_, 0, image_};
    model.axes = {{ShardAxis::classes, classes_}};
    std::vector<ResidualShape> blocks;
    for (const std::int64_t width : widths_) blocks.push_back(block_shape(width, 1));
    columns_ = common_channels(blocks);
    if (columns_ > 0) model.axes[ShardAxis::columns] = columns_;
    model.layers.push_back(embedding());
    for (std::size_t s = 0; s < widths_.size(); ++s) {
      for (std::int64_t i = 0; i < depths_[s]; ++i) {
        const bool is_last = s + 1 == widths_.size() && i + 1 == depths_[s];
        model.layers.push_back(block(s, i, is_last));
      }
    }
    model.layers.push_back(class_output("classifier.1", {1, widths_.back()}, classes_,
                                        ShardAxis::classes, compute_bytes_));
    return model;
  }

 private:
  static constexpr double epsilon = 1e-5;

  void check() const {
    const std::string type = config_.text("layer_type", "bottleneck");
    if (type != "bottleneck" && type != "basic") {
      config_.refuse("layer_type", fmt::format("layer_type = \"{}\" is not known", type), "",
                     "use \"bottleneck\" or \"basic\"");
    }
    if (widths_.empty() || widths_.size() != depths_.size()) {
      config_.refuse(
          "depths",
          fmt::format("{} stages have depths and {} a width", depths_.size(), widths_.size()),
          "each stage has both", "correct depths or hidden_sizes");
    }
    std::int64_t blocks = 0;
    for (std::size_t s = 0; s < widths_.size(); ++s) {
      const std::int64_t depth = depths_[s], width = widths_[s];
      if (depth < 1 || width < (bottleneck_ ? 4 : 1) || depth > most_layers - blocks ||
          width > most_width) {
        config_.refuse("hidden_sizes",
                       fmt::format("stage {} has {} blocks of {} channels", s, depth, width),
                       fmt::format("a stage has a block, and a bottleneck a quarter of its "
                                   "channels; at most {} blocks "
                                   "of {} channels are taken",
                                   most_layers, most_width),
                       "correct hidden_sizes or depths");
      }
      blocks += depth;
    }
  }

  Layer embedding() {
    LayerGraph g("embedding", "resnet.embedder.");
    const ValueIndex pixels = g.features(image_.channels, map_.side * map_.side);
    const ValueIndex sums = normalised(g, "embedder.", pixels, map_,
                                       {.window = map_.window(7, 2, 3), .out = entry_}, epsilon);
    const Window window = map_.window(3, 2, 1);
    const ValueIndex x = g.pool(g.activate(sums, activation_), PoolKind::max, window);
    map_.side = window.out_height();
    g.output(x);
    return g.finish(compute_bytes_);
  }

  ResidualShape block_shape(std::int64_t out, std::int64_t stride) const {
    ResidualShape shape;
    shape.out = out;
    shape.inner = bottleneck_ ? out / 4 : 0;
    shape.stride = stride;
    shape.stride_in_first = bottleneck_ && stride_in_first_;
    shape.activation = activation_;  // within a block transformers has ReLU, whatever the key says
    shape.epsilon = epsilon;
    return shape;
  }

  /// The last block ends with the average over its pixels, so that a number per channel crosses to
  /// the classifier.
  Layer block(std::size_t stage, std::int64_t i, bool is_last) {
    const std::int64_t stride = i == 0 && (stage > 0 || downsamples_first_) ? 2 : 1;
    LayerGraph g(fmt::format("block.{}.{}", stage, i),
                 fmt::format("resnet.encoder.stages.{}.layers.{}.", stage, i));
    const ValueIndex x = g.input(map_.port());
    ValueIndex result = residual_block(g, x, map_, block_shape(widths_[stage], stride), columns_);
    if (is_last) result = g.pool(result, PoolKind::average, map_.window(map_.side, 1, 0));
    g.output(result);
    return g.finish(compute_bytes_);
  }

  const ConfigJson& config_;
  double compute_bytes_;
  ImageShape image_;
  FeatureMap map_;  ///< that the next layer reads
  std::int64_t entry_;
  std::vector<std::int64_t> widths_;
  std::vector<std::int64_t> depths_;
  bool bottleneck_;
  Activation activation_;
  bool stride_in_first_;
  bool downsamples_first_;
  std::int64_t classes_;
  std::int64_t columns_ = 0;  ///< length of the axis that the channels within blocks are divided
                              ///< along
};

}  // namespace

Model build_resnet(const ConfigJson& config, const FamilyOptions& options) {
  return ResNetFamily(config, options).build();
}

}  // namespace pptrain
