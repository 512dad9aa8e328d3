#include "model/graph/chain.hpp"

#include <fmt/format.h>

#include "model/graph/layer_graph.hpp"

namespace pptrain {
namespace {

class Chain {
 public:
  explicit Chain(const ChainShape& shape) : s_(shape) {}

  Model build() const {
    const BlockWriter blocks(s_.blocks);
    Model model;
    model.name = s_.name;
    model.sample = {s_.tokens, 0, s_.vocabulary};
    model.axes = blocks.axes();
    model.axes[ShardAxis::vocabulary] = s_.vocabulary;
    model.layers.push_back(embedding());
    const StreamShape stream = {s_.tokens, s_.hidden, s_.deviation, s_.stream_deviation,
                                s_.compute_bytes};
    for (std::size_t i = 0; i < s_.blocks.size(); ++i) {
      blocks.add(model, s_.blocks[i], stream, static_cast<std::int64_t>(i),
                 fmt::format("model.layers.{}.", i));
    }
    model.layers.push_back(output());
    return model;
  }

 private:
  Layer embedding() const {
    LayerGraph g("embedding", "model.", s_.deviation);
    LayerGraph::EmbeddingShape shape = {s_.vocabulary, s_.hidden, s_.tokens};
    if (s_.positions) shape.positions = "embed_positions", shape.num_positions = s_.tokens;
    ValueIndex x = g.embedding("embed_tokens", shape);
    if (s_.embedding_scale != 1.0) x = g.scale(x, s_.embedding_scale);
    g.output(x);
    return g.finish(s_.compute_bytes);
  }

  Layer output() const {
    LayerGraph g("output", "", s_.deviation);
    g.language_output(g.input({s_.tokens, s_.hidden}),
                      {.norm = "model.norm",
                       .form = s_.norm,
                       .head = "lm_head",
                       .vocabulary = s_.vocabulary,
                       .tied_to = s_.tied ? "model.embed_tokens.weight" : "",
                       .scale = s_.logit_scale,
                       .logit_cap = s_.logit_cap});
    return g.finish(s_.compute_bytes);
  }

  const ChainShape& s_;
};

}  // namespace

Model build_chain(const ChainShape& shape) { return Chain(shape).build(); }

}  // namespace pptrain
