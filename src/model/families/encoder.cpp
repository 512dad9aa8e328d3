#include "model/families/encoder.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pptrain {

EncoderShape encoder_shape(const ConfigJson& config, std::int64_t tokens) {
  EncoderShape shape;
  shape.tokens = tokens;
  shape.hidden = config.size("hidden_size", std::nullopt, most_width);
  shape.heads = config.size("num_attention_heads", std::nullopt, most_heads);
  shape.feed_forward = config.size("intermediate_size", std::nullopt, most_columns);
  shape.activation = activation_of(config, "hidden_act", "gelu");
  shape.deviation = config.number("initializer_range", 0.02);
  shape.norm.epsilon = static_cast<float>(config.number("layer_norm_eps", 1e-12));
  if (shape.hidden % shape.heads == 0) return shape;
  config.refuse(
      "num_attention_heads", fmt::format("{} heads of {} columns", shape.heads, shape.hidden),
      "each head needs an equal whole number of columns", "correct hidden_size or the heads");
}

ValueIndex encoder_attention(LayerGraph& g, ValueIndex x, const EncoderShape& shape,
                             const std::string& inner) {
  const std::int64_t head_size = shape.hidden / shape.heads;
  const AxisDivision heads = {ShardAxis::heads, 1, head_size};
  const auto product = [&](const char* name) {
    return g.linear(inner + name, x,
                    {.out = shape.hidden, .columns = heads, .bias = shape.query_bias});
  };
  const ValueIndex q = product("query"), k = product("key"), v = product("value");
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_size));
  const ValueIndex attended = g.attention({q, k, v}, {.heads = shape.heads,
                                                      .key_heads = shape.heads,
                                                      .head_size = head_size,
                                                      .scale = scale,
                                                      .causal = false});
  return g.linear("attention.output.dense", attended,
                  {.out = shape.hidden, .rows = heads, .bias = true});
}

ValueIndex encoder_feed_forward(LayerGraph& g, ValueIndex x, const EncoderShape& shape) {
  const AxisDivision columns = {ShardAxis::columns};
  const ValueIndex up = g.linear("intermediate.dense", x,
                                 {.out = shape.feed_forward, .columns = columns, .bias = true});
  return g.linear("output.dense", g.activate(up, shape.activation),
                  {.out = shape.hidden, .rows = columns, .bias = true});
}

}  // namespace pptrain
