#include "model/families/decoder.hpp"

#include "model/chain.hpp"

namespace pptrain {
namespace {

BlockShape block_of(const DecoderShape& s) {
  BlockShape block;
  block.heads = s.heads;
  block.key_heads = s.key_heads;
  block.head_size = s.head_size;
  block.feed_forward = s.feed_forward;
  block.norm = s.norm;
  block.rotary = s.rotary;
  block.activation = s.activation;
  block.query_bias = s.query_bias;
  block.output_bias = s.output_bias;
  block.feed_forward_bias = s.feed_forward_bias;
  block.head_norms = s.head_norms;
  return block;
}

}  // namespace

Model decoder(const DecoderShape& s) {
  ChainShape chain;
  chain.name = s.name;
  chain.vocabulary = s.vocabulary;
  chain.hidden = s.hidden;
  chain.tokens = s.tokens;
  chain.embedding_scale = s.embedding_scale;
  chain.blocks.assign(static_cast<std::size_t>(s.layers), block_of(s));
  for (std::size_t i = 0; i < s.windows.size(); ++i) chain.blocks[i].window = s.windows[i];
  chain.norm = s.norm;
  chain.tied = s.tied;
  chain.deviation = s.deviation;
  chain.compute_bytes = s.compute_bytes;
  return build_chain(chain);
}

}  // namespace pptrain
