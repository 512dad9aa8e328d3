#include <fmt/format.h>

#include "model/families/encoder.hpp"
#include "model/families/images.hpp"

namespace pptrain {
namespace {

/// Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021, with its classifier: images in square
/// patches, each a row of the stream behind that of a class, which the classifier reads; norms
/// before attention and the feed-forward part.
class Vit {
 public:
  Vit(const ConfigJson& config, const FamilyOptions& options)
      : compute_bytes_(options.compute_bytes),
        layers_(config.size("num_hidden_layers", std::nullopt, most_layers)),
        image_(image_of(config)),
        shape_(encoder_shape(config, image_.num_patches() + 1)),
        classes_(num_classes(config)) {
    shape_.query_bias = config.boolean("qkv_bias", true);
    config.only("problem_type", std::string("single_label_classification"),
                "each image has one class");
  }

  Model build() const {
    Model model;
    model.name = "vit";
    model.sample = {1, image_.pixels(), classes_, 0, image_};
    model.axes = {{ShardAxis::heads, shape_.heads}, {ShardAxis::columns, shape_.feed_forward}};
    model.layers.push_back(embedding());
    for (std::int64_t i = 0; i < layers_; ++i) model.layers.push_back(block(i));
    model.layers.push_back(output());
    return model;
  }

 private:
  static ImageShape image_of(const ConfigJson& config) {
    ImageShape image = image_shape(config);
    image.patch = config.size("patch_size", 16);
    if (image.height % image.patch != 0) {
      config.refuse("patch_size",
                    fmt::format("patches of {} pixels in images of {}", image.patch, image.height),
                    "each image is a whole number of patches", "correct patch_size or image_size");
    }
    return image;
  }

  /// A convolution whose stride is its kernel: the product of each patch with the same weights.
  Layer embedding() const {
    LayerGraph g("embedding", "vit.embeddings.", shape_.deviation);
    const ValueIndex pixels =
        g.features(image_.pixels() / image_.num_patches(), image_.num_patches());
    const ValueIndex patches =
        g.linear("patch_embeddings.projection", pixels,
                 {.out = shape_.hidden,
                  .bias = true,
                  .wide = true,
                  .file_shape = {shape_.hidden, image_.channels, image_.patch, image_.patch}});
    g.output(g.class_token("cls_token", "position_embeddings", patches));
    return g.finish(compute_bytes_);
  }

  Layer block(std::int64_t i) const {
    LayerGraph g(fmt::format("block.{}", i), fmt::format("vit.encoder.layer.{}.", i),
                 shape_.deviation);
    ValueIndex x = g.input(shape_.stream());
    const auto norm = [&](const char* name) { return g.norm(name, x, shape_.norm); };
    x = g.add(x, encoder_attention(g, norm("layernorm_before"), shape_, "attention.attention."));
    x = g.add(x, encoder_feed_forward(g, norm("layernorm_after"), shape_));
    g.output(x);
    return g.finish(compute_bytes_);
  }

  /// Every member of a group computes all classes. A norm is of each row by itself: that of the
  /// class token is enough.
  Layer output() const {
    LayerGraph g("output", "", shape_.deviation);
    const ValueIndex token = g.first_row(g.input(shape_.stream()));
    g.loss(g.linear("classifier", g.norm("vit.layernorm", token, shape_.norm),
                    {.out = classes_, .bias = true, .wide = true}));
    return g.finish(compute_bytes_);
  }

  double compute_bytes_;
  std::int64_t layers_;
  ImageShape image_;
  EncoderShape shape_;
  std::int64_t classes_;
};

}  // namespace

Model build_vit(const ConfigJson& config, const FamilyOptions& options) {
  return Vit(config, options).build();
}

}  // namespace pptrain
