#pragma once

#include "model/description.hpp"

// The families of the zoo. Only zoo.cpp includes this.
namespace pptrain {

/// Decoder-only transformer with learned positions and the output layer tied to the embedding.
struct GptShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocabulary = 0;
  std::int64_t tokens = 0;
};
ModelDescription gpt(const GptShape& shape, Precision precision);

/// AMP's list of 30 for its GPT-2: the same layers with four that hold nothing or little.
ModelDescription amp_gpt2(Precision precision);

/// A GPT in which the first of each pair of layers has `experts` feed-forward parts; a token uses two of them.
struct MoeShape {
  GptShape gpt;
  std::int64_t feed_forward = 0;
  std::int64_t experts = 0;
  std::int64_t group_tokens = 0;  ///< tokens that share an expert's capacity
};
ModelDescription gpt_moe(const MoeShape& shape, Precision precision);

ModelDescription bert_large(Precision precision);

/// Encoder and decoder with cross-attention; the encoder's output goes along every boundary behind it.
struct EncoderDecoderShape {
  std::int64_t encoder_layers = 0;
  std::int64_t decoder_layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t source_tokens = 0;
  std::int64_t target_tokens = 0;
};
ModelDescription encoder_decoder(const EncoderDecoderShape& shape, Precision precision);

/// Bottleneck residual network on 224 x 224 images.
struct ResNetShape {
  std::vector<int> blocks;  ///< per resolution
  std::int64_t channels = 64;
  std::int64_t width_factor = 1;  ///< of the 3 x 3 convolutions
  std::int64_t classes = 1000;
};
ModelDescription resnet(const ResNetShape& shape, Precision precision);

/// The generator of TransGAN as AMP changed it.
ModelDescription amp_transgan(Precision precision);

}  // namespace pptrain
