#include "plain_layers.hpp"

#include <cmath>
#include <numbers>

namespace pptrain::test {
namespace {

std::size_t hidden_of(const Model& model) {
  return static_cast<std::size_t>(model.boundary_behind(0).packed().columns);
}

Values layer_norm(const Values& x, const Values& gain, const Values& offset) {
  const std::size_t h = gain.size();
  Values y(x.size());
  for (std::size_t r = 0; r < x.size() / h; ++r) {
    double mean = 0.0;
    double variance = 0.0;
    for (std::size_t c = 0; c < h; ++c) mean += x[r * h + c] / static_cast<double>(h);
    for (std::size_t c = 0; c < h; ++c)
      variance += std::pow(x[r * h + c] - mean, 2) / static_cast<double>(h);
    for (std::size_t c = 0; c < h; ++c)
      y[r * h + c] = (x[r * h + c] - mean) / std::sqrt(variance + 1e-5) * gain[c] + offset[c];
  }
  return y;
}

/// y (R, out) = x (R, in) W^T + b, W (out, in).
Values linear(const Values& x, const Values& w, std::size_t in, const Values* bias) {
  const std::size_t out = w.size() / in;
  const std::size_t rows = x.size() / in;
  Values y(rows * out);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = bias == nullptr ? 0.0 : (*bias)[o];
      for (std::size_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
      y[r * out + o] = sum;
    }
  }
  return y;
}

double gelu(double x) {
  return 0.5 * x *
         (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// qkv (R, 3H) -> (R, H).
Values attention(const Model& model, const PlainBatch& batch, const Values& qkv) {
  const auto h = hidden_of(model);
  const auto t = static_cast<std::size_t>(model.sample.rows);
  const auto d = h / static_cast<std::size_t>(model.axis_size(ShardAxis::heads));
  Values out(qkv.size() / 3, 0.0);
  for (std::size_t s = 0; s < static_cast<std::size_t>(batch.samples); ++s) {
    for (std::size_t head = 0; head < static_cast<std::size_t>(model.axis_size(ShardAxis::heads));
         ++head) {
      const auto at = [&](std::size_t row, std::size_t part, std::size_t i) {
        return qkv[(s * t + row) * 3 * h + part * h + head * d + i];
      };
      for (std::size_t row = 0; row < t; ++row) {
        Values weight(row + 1);
        double sum = 0.0;
        for (std::size_t k = 0; k <= row; ++k) {
          double score = 0.0;
          for (std::size_t i = 0; i < d; ++i) score += at(row, 0, i) * at(k, 1, i);
          weight[k] = std::exp(score / std::sqrt(static_cast<double>(d)));
          sum += weight[k];
        }
        for (std::size_t k = 0; k <= row; ++k) {
          for (std::size_t i = 0; i < d; ++i)
            out[(s * t + row) * h + head * d + i] += weight[k] / sum * at(k, 2, i);
        }
      }
    }
  }
  return out;
}

Values sum_of(const Values& a, const Values& b) {
  Values sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

}  // namespace

Values plain_embedding(const Model& model, const Parameters& p, const PlainBatch& batch) {
  const auto h = hidden_of(model);
  const auto t = static_cast<std::size_t>(model.sample.rows);
  Values x(batch.tokens.size() * h);
  for (std::size_t r = 0; r < batch.tokens.size(); ++r) {
    for (std::size_t c = 0; c < h; ++c) {
      x[r * h + c] =
          p.at("wte.weight")[batch.tokens[r] * h + c] + p.at("wpe.weight")[r % t * h + c];
    }
  }
  return x;
}

Values plain_block(const Model& model, const Parameters& p, const std::string& prefix,
                   const PlainBatch& batch, const Values& x) {
  const auto h = hidden_of(model);
  const auto get = [&](const char* name) -> const Values& { return p.at(prefix + name); };
  const Values qkv = linear(layer_norm(x, get("ln_1.weight"), get("ln_1.bias")),
                            get("attn.c_attn.weight"), h, &get("attn.c_attn.bias"));
  const Values attended = attention(model, batch, qkv);
  const Values middle =
      sum_of(x, linear(attended, get("attn.c_proj.weight"), h, &get("attn.c_proj.bias")));
  Values up = linear(layer_norm(middle, get("ln_2.weight"), get("ln_2.bias")),
                     get("mlp.c_fc.weight"), h, &get("mlp.c_fc.bias"));
  for (double& value : up) value = gelu(value);
  return sum_of(middle, linear(up, get("mlp.c_proj.weight"), 4 * h, &get("mlp.c_proj.bias")));
}

double plain_output(const Model& model, const Parameters& p, const PlainBatch& batch,
                    const Values& x) {
  const Values& head = p.at(!model.shared_parameters().empty() ? "wte.weight" : "lm_head.weight");
  const Values logits = linear(layer_norm(x, p.at("ln_f.weight"), p.at("ln_f.bias")), head,
                               hidden_of(model), nullptr);
  const auto v = static_cast<std::size_t>(model.sample.classes);
  double loss = 0.0;
  for (std::size_t r = 0; r < batch.targets.size(); ++r) {
    double sum = 0.0;
    for (std::size_t c = 0; c < v; ++c) sum += std::exp(logits[r * v + c]);
    loss += std::log(sum) - logits[r * v + batch.targets[r]];
  }
  return loss;
}

}  // namespace pptrain::test
