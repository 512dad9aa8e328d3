#include "plain_operators.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace pptrain::test {
namespace {

double activation(Activation kind, double u) {
  switch (kind) {
    case Activation::gelu_tanh:
      return 0.5 * u * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (u + 0.044715 * u * u * u)));
    case Activation::gelu: return 0.5 * u * (1.0 + std::erf(u / std::sqrt(2.0)));
    case Activation::silu: return u / (1.0 + std::exp(-u));
    case Activation::relu: return u > 0.0 ? u : 0.0;
  }
  return 0.0;
}

class Interpreter {
 public:
  Interpreter(const Layer& layer, const Parameters& parameters, const PlainBatch& batch)
      : layer_(layer), batch_(batch), values_(layer.operators.values.size()) {
    // Weights are read for each element, so their names are looked up once.
    for (const ParameterSpec& spec : layer.parameters)
      weights_.push_back(&parameters.at(spec.name));
  }

  Values run(const Values& x) {
    if (layer_.operators.input) values_[*layer_.operators.input] = x;
    for (const Operator& op : layer_.operators.operators) {
      op_ = &op;
      std::visit([this](const auto& kind) { apply(kind); }, op.kind);
    }
    return layer_.operators.output ? values_[*layer_.operators.output] : Values{loss_};
  }

  double balance() const { return balance_; }

 private:
  const Values& in(std::size_t i = 0) const { return values_[op_->inputs[i]]; }
  Values& out() { return values_[*op_->output]; }
  const Values& weight(std::size_t i) const { return *weights_[op_->parameters[i]]; }
  std::size_t columns(std::size_t i = 0) const {
    return static_cast<std::size_t>(layer_.operators.values[op_->inputs[i]].columns);
  }
  /// Elements of a sample of a value.
  std::size_t size_of(ValueIndex v) const {
    const Value& value = layer_.operators.values[v];
    return static_cast<std::size_t>(value.rows * value.columns);
  }
  std::size_t length() const {
    return static_cast<std::size_t>(layer_.operators.values[*op_->output].rows);
  }

  void apply(const op::Embedding& e) {
    const auto& rows = e.decoder       ? batch_.decoder_tokens
                       : e.token_types ? batch_.token_types
                                       : batch_.tokens;
    const std::size_t h = static_cast<std::size_t>(layer_.operators.values[*op_->output].columns);
    Values x(rows.size() * h);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < h; ++c) {
        x[r * h + c] = weight(0)[rows[r] * h + c];
        const std::size_t place = r % length() + static_cast<std::size_t>(e.first_position);
        if (e.positions) x[r * h + c] += weight(1)[place * h + c];
      }
    }
    out() = x;
  }
  void apply(const op::Scaling& s) {
    for (double& v : out()) v *= s.factor;
  }
  void apply(const op::Norm& n) {
    Values y = in();
    const auto w = static_cast<std::size_t>(n.width);
    for (std::size_t first = 0; first < y.size(); first += w) {
      double mean = 0.0, variance = 0.0;
      for (std::size_t c = 0; c < w; ++c) mean += y[first + c] / static_cast<double>(w);
      if (n.form.kind == NormKind::rms) mean = 0.0;
      for (std::size_t c = 0; c < w; ++c)
        variance += std::pow(y[first + c] - mean, 2) / static_cast<double>(w);
      for (std::size_t c = 0; c < w; ++c) {
        const double normal =
            (y[first + c] - mean) / std::sqrt(variance + static_cast<double>(n.form.epsilon));
        y[first + c] = normal * (weight(0)[c] + (n.form.one_plus ? 1.0 : 0.0));
        if (n.form.kind == NormKind::layer) y[first + c] += weight(1)[c];
      }
    }
    out() = y;
  }
  void apply(const op::Linear& l) {
    const std::size_t k = columns(), rows = in().size() / k, n = weight(0).size() / k;
    Values y(rows * n);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t o = 0; o < n; ++o) {
        double sum = l.bias ? weight(1)[o] : 0.0;
        for (std::size_t c = 0; c < k; ++c) sum += in()[r * k + c] * weight(0)[o * k + c];
        y[r * n + o] = sum;
      }
    }
    out() = y;
  }
  void apply(const op::Rotary& rotary) {
    const std::size_t width = columns(), d = static_cast<std::size_t>(rotary.head_size);
    const std::size_t turned = rotary.packed ? width / 3 * 2 : width;
    const std::size_t pairs = static_cast<std::size_t>(rotary.form.rotated) / 2;
    Values& x = out();
    for (std::size_t r = 0; r < x.size() / width; ++r) {
      for (std::size_t head = 0; head < turned; head += d) {
        for (std::size_t i = 0; i < pairs; ++i) {
          const double angle = static_cast<double>(r % length()) *
                               rotary_frequency(rotary.form, static_cast<std::int64_t>(i));
          double& a = x[r * width + head + i];
          double& b = x[r * width + head + pairs + i];
          const double cosine = rotary.form.attention_factor * std::cos(angle);
          const double sine = rotary.form.attention_factor * std::sin(angle);
          const double turned_a = a * cosine - b * sine;
          b = b * cosine + a * sine;
          a = turned_a;
        }
      }
    }
  }
  /// The keys [first, behind) that row `r` sees, of its sample's.
  std::pair<std::size_t, std::size_t> seen_keys(const op::SelfAttention& a, std::size_t r,
                                                std::size_t keys) const {
    const std::size_t place = r % length(), sample = r / length();
    if (!a.causal) {
      const auto span = static_cast<std::size_t>(a.span);
      if (span > 0) return {place / span * span, (place / span + 1) * span};
      const bool padded = !a.causal && !batch_.input_lengths.empty();
      return {0, padded ? static_cast<std::size_t>(batch_.input_lengths[sample]) : keys};
    }
    const std::size_t seen = a.window > 0 ? static_cast<std::size_t>(a.window) : length();
    std::size_t first = place + 1 > seen ? place + 1 - seen : 0;
    if (!batch_.document_begin.empty())
      first = std::max(first, static_cast<std::size_t>(batch_.document_begin[r]));
    return {first, place + 1};
  }
  void apply(const op::SelfAttention& a) {
    const auto d = static_cast<std::size_t>(a.head_size), heads = static_cast<std::size_t>(a.heads);
    const auto key_heads = static_cast<std::size_t>(a.key_heads);
    const bool packed = op_->inputs.size() == 1;
    const Values &q = in(0), &k = in(packed ? 0 : 1), &v = in(packed ? 0 : 2);
    const std::size_t q_width = columns(0), k_width = packed ? q_width : key_heads * d;
    const auto keys = static_cast<std::size_t>(layer_.operators.values[op_->inputs.back()].rows);
    const std::size_t rows = q.size() / q_width;
    Values y(rows * heads * d, 0.0);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t start = r / length() * keys;
      const auto [first, end] = seen_keys(a, r, keys);
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t key_head = head * key_heads / heads;
        const std::size_t k_at = (packed ? heads * d : 0) + key_head * d,
                          v_at = (packed ? 2 * heads * d : 0) + key_head * d;
        Values p(end, 0.0);
        double total = 0.0;
        for (std::size_t s = first; s < end; ++s) {
          double score = 0.0;
          for (std::size_t c = 0; c < d; ++c)
            score += q[r * q_width + head * d + c] * k[(start + s) * k_width + k_at + c];
          score = score * a.scale + bias(a, head, s, r % length());
          total += p[s] = std::exp(a.cap > 0.0 ? a.cap * std::tanh(score / a.cap) : score);
        }
        for (std::size_t s = first; s < end; ++s) {
          for (std::size_t c = 0; c < d; ++c) {
            y[(r * heads + head) * d + c] += p[s] / total * v[(start + s) * k_width + v_at + c];
          }
        }
      }
    }
    out() = y;
  }
  double bias(const op::SelfAttention& a, std::size_t head, std::size_t key,
              std::size_t query) const {
    if (a.buckets.count == 0) return 0.0;
    const std::int64_t bucket =
        bucket_of(a.buckets, static_cast<std::int64_t>(key) - static_cast<std::int64_t>(query));
    return weight(
        0)[head * static_cast<std::size_t>(a.buckets.count) + static_cast<std::size_t>(bucket)];
  }
  void apply(const op::Activate& a) {
    Values y = in();
    for (double& v : y) v = activation(a.activation, v);
    out() = y;
  }
  void apply(const op::Gate& g) {
    Values y = in(0);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = activation(g.activation, y[i]) * in(1)[i];
    out() = y;
  }
  void apply(const op::Addition& a) {
    Values y = in(0);
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] += in(1)[i] + (a.bias ? weight(0)[i % columns()] : 0.0);
    out() = y;
  }
  void apply(const op::Loss& loss) {
    const std::size_t v = columns();
    Values logits = in();
    for (double& z : logits) z = loss.cap > 0.0 ? loss.cap * std::tanh(z / loss.cap) : z;
    for (std::size_t r = 0; r < batch_.targets.size(); ++r) {
      if (batch_.targets[r] < 0) continue;
      double sum = 0.0;
      for (std::size_t c = 0; c < v; ++c) sum += std::exp(logits[r * v + c]);
      loss_ += std::log(sum) - logits[r * v + static_cast<std::size_t>(batch_.targets[r])];
    }
  }
  /// Element i is decided by word i % 4 of block i / 4.
  void apply(const op::Dropout& d) {
    if (!batch_.dropout) return;
    const std::uint64_t first =
        static_cast<std::uint64_t>(batch_.dropout->first_sample) * size_of(*op_->output);
    for (std::size_t i = 0; i < out().size(); ++i) {
      const std::uint64_t element = first + i, block = element / 4, seed = batch_.dropout->seed;
      const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
      const r123::Philox4x32::ctr_type counter = {
          {low(block), low(block >> 32), low(d.stream), low(d.stream >> 32)}};
      const auto words = r123::Philox4x32()(counter, {{low(seed), low(seed >> 32)}});
      out()[i] *= words[element % 4] < d.rate * 4294967296.0 ? 0.0 : 1.0 / (1.0 - d.rate);
    }
  }
  void apply(const op::Enter&) {
    if (!op_->in_place()) out() = in();
  }
  void apply(const op::Sum&) {}
  void apply(const op::Conversion&) { out() = in(); }
  void apply(const op::Gather&) { out() = in(); }
  void apply(const op::Take&) { out() = in(); }
  void apply(const op::Split& split) {
    const std::size_t size = size_of(*op_->output), all = size_of(op_->inputs[0]);
    Values port;
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch_.samples); ++s) {
      const auto first = in().begin() + static_cast<std::ptrdiff_t>(s * all) + split.first;
      port.insert(port.end(), first, first + static_cast<std::ptrdiff_t>(size));
    }
    out() = port;
  }
  void apply(const op::Join&) {
    Values all;
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch_.samples); ++s) {
      for (std::size_t i = 0; i < op_->inputs.size(); ++i) {
        const auto size = static_cast<std::ptrdiff_t>(size_of(op_->inputs[i]));
        const auto first = in(i).begin() + static_cast<std::ptrdiff_t>(s) * size;
        all.insert(all.end(), first, first + size);
      }
    }
    out() = all;
  }
  void apply(const op::ClassToken&) {
    const std::size_t h = columns(),
                      rows = in().size() / h / static_cast<std::size_t>(batch_.samples);
    Values y;
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch_.samples); ++s) {
      for (std::size_t i = 0; i < (rows + 1) * h; ++i) {
        y.push_back((i < h ? weight(0)[i] : in()[s * rows * h + i - h]) + weight(1)[i]);
      }
    }
    out() = y;
  }
  void apply(const op::Router& r) {
    const std::size_t experts = columns(), chosen = static_cast<std::size_t>(r.form.chosen);
    Values y;
    for (std::size_t first = 0; first < in().size(); first += experts) {
      const auto logit = [&](std::size_t e) { return in()[first + e]; };
      std::vector<std::size_t> ranked(experts);
      std::iota(ranked.begin(), ranked.end(), 0U);
      std::stable_sort(ranked.begin(), ranked.end(),
                       [&](auto a, auto b) { return logit(a) > logit(b); });
      double total = 0.0;
      for (std::size_t j = 0; j < (r.normalised ? chosen : experts); ++j)
        total += std::exp(logit(ranked[j]));
      for (std::size_t j = 0; j < chosen; ++j) y.push_back(std::exp(logit(ranked[j])) / total);
      for (std::size_t j = 0; j < chosen; ++j) y.push_back(static_cast<double>(ranked[j]));
    }
    if (r.capacity > 0) leave_out(r, y);
    out() = y;
  }
  /// Adds the number of experts to choices that find an expert full: for each the choices before it
  /// are counted anew.
  void leave_out(const op::Router& r, Values& choice) const {
    const auto chosen = static_cast<std::size_t>(r.form.chosen),
               experts = static_cast<std::size_t>(r.form.experts);
    const Values wanted = choice;
    const std::size_t all = choice.size() / (2 * chosen),
                      of_sample = all / static_cast<std::size_t>(batch_.samples);
    const auto number = [&](std::size_t row, std::size_t j) {
      return wanted[row * 2 * chosen + chosen + j];
    };
    for (std::size_t row = 0; row < all; ++row) {
      for (std::size_t j = 0; j < chosen; ++j) {
        std::int64_t before = 0;
        for (std::size_t other = row / of_sample * of_sample;
             other < (row / of_sample + 1) * of_sample; ++other) {
          for (std::size_t i = 0; i < chosen; ++i) {
            const bool is_earlier = i < j || (i == j && other < row);
            if (is_earlier && number(other, i) == number(row, j)) ++before;
          }
        }
        if (before >= r.capacity)
          choice[row * 2 * chosen + chosen + j] += static_cast<double>(experts);
      }
    }
  }
  /// A row of those that go to experts.
  struct Routed {
    std::size_t expert, row;
    double weight;
  };
  /// All rows that go to experts, in their order, by a router's result.
  std::vector<Routed> routed(const ExpertForm& form) const {
    const Values& choice = values_[op_->inputs.back()];
    const auto chosen = static_cast<std::size_t>(form.chosen),
               width = columns(op_->inputs.size() - 1);
    std::vector<Routed> rows;
    for (std::size_t at = 0; at < choice.size(); at += width) {
      for (std::size_t j = 0; j < chosen; ++j) {
        if (choice[at + chosen + j] >= static_cast<double>(form.experts)) continue;  // it is full
        rows.push_back(
            {static_cast<std::size_t>(choice[at + chosen + j]), at / width, choice[at + j]});
      }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Routed& a, const Routed& b) { return a.expert < b.expert; });
    return rows;
  }
  /// Rows of the only member go to itself: (row, choice) of each that is not left out, in their
  /// order.
  std::vector<std::pair<std::size_t, std::size_t>> sent(const ExpertForm& form,
                                                        const Values& choice) const {
    const auto chosen = static_cast<std::size_t>(form.chosen);
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t i = 0; i < choice.size() / 2; ++i) {
      const std::size_t row = i / chosen, j = i % chosen;
      if (choice[row * 2 * chosen + chosen + j] < static_cast<double>(form.experts))
        all.emplace_back(row, j);
    }
    return all;
  }
  void apply(const op::SendChoices& s) {
    const auto chosen = static_cast<std::size_t>(s.form.chosen);
    Values y;
    for (const auto& [row, j] : sent(s.form, in())) {
      const std::size_t at = row * 2 * chosen + j;
      y.insert(y.end(), {in()[at], in()[at + chosen], 0.0});
    }
    out() = y;
  }
  void apply(const op::SendRows& s) {
    Values y;
    for (const auto& [row, j] : sent(s.form, in(1))) {
      const auto first = in().begin() + static_cast<std::ptrdiff_t>(row * columns());
      y.insert(y.end(), first, first + static_cast<std::ptrdiff_t>(columns()));
    }
    out() = y;
  }
  void apply(const op::ReturnRows& r) {
    Values y(in(1).size() / (2 * static_cast<std::size_t>(r.form.chosen)) * columns(), 0.0);
    std::size_t from = 0;
    for (const auto& [row, j] : sent(r.form, in(1))) {
      for (std::size_t c = 0; c < columns(); ++c)
        y[row * columns() + c] += in()[from * columns() + c];
      ++from;
    }
    out() = y;
  }
  void apply(const op::Dispatch& d) {
    Values y;
    for (const Routed& r : routed(d.form)) {
      const auto first = in().begin() + static_cast<std::ptrdiff_t>(r.row * columns());
      y.insert(y.end(), first, first + static_cast<std::ptrdiff_t>(columns()));
    }
    out() = y;
  }
  void apply(const op::ExpertLinear& l) {
    const std::size_t k = columns();
    Values y;
    for (const Routed& r : routed(l.form)) {
      const Values& w = weight(r.expert);
      const std::size_t row = y.size() / (w.size() / k);
      for (std::size_t o = 0; o < w.size() / k; ++o) {
        double sum = 0.0;
        for (std::size_t c = 0; c < k; ++c) sum += in()[row * k + c] * w[o * k + c];
        y.push_back(sum);
      }
    }
    out() = y;
  }
  void apply(const op::WeightedGate& g) {
    Values weights;
    if (g.form.chosen > 0) {
      for (const Routed& r : routed(g.form)) weights.push_back(r.weight);
    } else {
      for (const double logit : in(op_->inputs.size() - 1))
        weights.push_back(1.0 / (1.0 + std::exp(-logit)));
    }
    Values y = in(0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = activation(g.activation, y[i]) * (op_->inputs.size() == 3 ? in(1)[i] : 1.0) *
             weights[i / columns()];
    }
    out() = y;
  }
  void apply(const op::ExpertBalance& b) {
    const std::size_t experts = columns(), rows = in().size() / experts;
    Values chosen(experts, 0.0), probabilities(experts, 0.0);
    const auto k = static_cast<std::size_t>(b.form.chosen);
    for (std::size_t i = 0; i < in(1).size(); ++i) {
      if (i % (2 * k) >= k) chosen[static_cast<std::size_t>(in(1)[i]) % experts] += 1.0;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      double total = 0.0;
      for (std::size_t e = 0; e < experts; ++e) total += std::exp(in()[row * experts + e]);
      for (std::size_t e = 0; e < experts; ++e)
        probabilities[e] += std::exp(in()[row * experts + e]) / total;
    }
    for (std::size_t e = 0; e < experts; ++e) {
      balance_ += b.share * static_cast<double>(experts) * chosen[e] * probabilities[e] /
                  static_cast<double>(rows);
    }
  }
  void apply(const op::Combine& combine) {
    const std::vector<Routed> rows = routed(combine.form);
    Values y(in(1).size() / columns(1) * columns(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t c = 0; c < columns(); ++c)
        y[rows[i].row * columns() + c] += in()[i * columns() + c];
    }
    out() = y;
  }
  /// Calls visit(pixel of the result, pixel of the map, place in the window) for all that lie under
  /// the window.
  template <class Visit>
  static void under(const Window& w, const Visit& visit) {
    for (std::int64_t oy = 0; oy < w.out_height(); ++oy) {
      for (std::int64_t ox = 0; ox < w.out_width(); ++ox) {
        for (std::int64_t ky = 0; ky < w.kernel_height; ++ky) {
          for (std::int64_t kx = 0; kx < w.kernel_width; ++kx) {
            const std::int64_t y = oy * w.stride - w.padding + ky,
                               x = ox * w.stride - w.padding + kx;
            if (y < 0 || x < 0 || y >= w.height || x >= w.width) continue;
            visit(static_cast<std::size_t>(oy * w.out_width() + ox),
                  static_cast<std::size_t>(y * w.width + x),
                  static_cast<std::size_t>(ky * w.kernel_width + kx));
          }
        }
      }
    }
  }
  void apply(const op::Convolution& c) {
    const std::size_t channels = columns(),
                      n = weight(0).size() / channels / static_cast<std::size_t>(c.window.area());
    const auto from = static_cast<std::size_t>(c.window.pixels()),
               to = static_cast<std::size_t>(c.window.out_pixels());
    const auto area = static_cast<std::size_t>(c.window.area());
    Values y(static_cast<std::size_t>(batch_.samples) * to * n, 0.0);
    for (std::size_t i = 0; i < y.size() && c.bias; ++i) y[i] = weight(1)[i % n];
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch_.samples); ++s) {
      under(c.window, [&](std::size_t result, std::size_t pixel, std::size_t place) {
        for (std::size_t o = 0; o < n; ++o) {
          for (std::size_t k = 0; k < channels; ++k) {
            y[(s * to + result) * n + o] += in()[(s * from + pixel) * channels + k] *
                                            weight(0)[(o * channels + k) * area + place];
          }
        }
      });
    }
    out() = y;
  }
  void apply(const op::BatchNorm& b) {
    const std::size_t channels = columns();
    const double rows = static_cast<double>(in().size() / channels);
    Values y = in();
    for (std::size_t c = 0; c < channels; ++c) {
      double mean = 0.0, variance = 0.0;
      for (std::size_t i = c; i < y.size(); i += channels) mean += y[i] / rows;
      for (std::size_t i = c; i < y.size(); i += channels)
        variance += std::pow(y[i] - mean, 2) / rows;
      for (std::size_t i = c; i < y.size(); i += channels) {
        y[i] = (y[i] - mean) / std::sqrt(variance + b.epsilon) * weight(0)[c] + weight(1)[c];
      }
    }
    out() = y;
  }
  void apply(const op::Pool& p) {
    const std::size_t channels = columns();
    const auto from = static_cast<std::size_t>(p.window.pixels()),
               to = static_cast<std::size_t>(p.window.out_pixels());
    const bool is_max = p.kind == PoolKind::max;
    Values y(static_cast<std::size_t>(batch_.samples) * to * channels, is_max ? -HUGE_VAL : 0.0);
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch_.samples); ++s) {
      under(p.window, [&](std::size_t result, std::size_t pixel, std::size_t) {
        for (std::size_t c = 0; c < channels; ++c) {
          const double x = in()[(s * from + pixel) * channels + c];
          double& r = y[(s * to + result) * channels + c];
          r = is_max ? std::max(r, x) : r + x / static_cast<double>(p.window.area());
        }
      });
    }
    out() = y;
  }
  void apply(const op::Flatten&) {
    const std::size_t channels = columns(),
                      pixels = in().size() / channels / static_cast<std::size_t>(batch_.samples);
    Values y(in().size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t s = i / (channels * pixels), c = i % channels, p = i / channels % pixels;
      y[(s * channels + c) * pixels + p] = in()[i];
    }
    out() = y;
  }
  void apply(const op::Reshape&) { out() = in(); }
  void apply(const op::Places&) {
    out() = in();
    for (std::size_t i = 0; i < out().size(); ++i) out()[i] += weight(0)[i % weight(0).size()];
  }
  /// Every pixel of the larger map looks at all of the smaller one: cubic weights are 0 beyond two
  /// pixels, and what would lie outside belongs to the nearest pixel of the edge.
  void apply(const op::Enlarge& e) {
    const std::size_t channels = columns();
    const std::int64_t height = e.map.height, width = e.map.width;
    const auto pixels = static_cast<std::size_t>(e.map.pixels());
    const std::size_t made = e.kind == EnlargeKind::shuffle ? channels / 4 : channels;
    Values y;
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch_.samples); ++s) {
      const auto at = [&](std::int64_t row, std::int64_t column, std::size_t c) {
        return in()[(s * pixels + static_cast<std::size_t>(row * width + column)) * channels + c];
      };
      for (std::int64_t row = 0; row < 2 * height; ++row) {
        for (std::int64_t column = 0; column < 2 * width; ++column) {
          for (std::size_t c = 0; c < made; ++c) {
            if (e.kind == EnlargeKind::shuffle) {
              y.push_back(at(row / 2, column / 2,
                             4 * c + static_cast<std::size_t>(2 * (row % 2) + column % 2)));
            } else {
              y.push_back(
                  between(row, column, height, width, [&](auto r, auto k) { return at(r, k, c); }));
            }
          }
        }
      }
    }
    out() = y;
  }
  template <class At>
  static double between(std::int64_t row, std::int64_t column, std::int64_t height,
                        std::int64_t width, const At& at) {
    const double centre_row = (static_cast<double>(row) - 0.5) / 2.0,
                 centre = (static_cast<double>(column) - 0.5) / 2.0;
    double sum = 0.0;
    for (std::int64_t r = -3; r < height + 3; ++r) {
      for (std::int64_t c = -3; c < width + 3; ++c) {
        const double weight =
            cubic(centre_row - static_cast<double>(r)) * cubic(centre - static_cast<double>(c));
        if (weight != 0.0) {
          sum += weight * at(std::clamp<std::int64_t>(r, 0, height - 1),
                             std::clamp<std::int64_t>(c, 0, width - 1));
        }
      }
    }
    return sum;
  }
  static double cubic(double distance) {
    const double a = -0.75, d = std::abs(distance);
    if (d <= 1.0) return (a + 2.0) * d * d * d - (a + 3.0) * d * d + 1.0;
    return d < 2.0 ? a * d * d * d - 5.0 * a * d * d + 8.0 * a * d - 4.0 * a : 0.0;
  }
  /// The place of each pixel by sorting them by their square, row and column.
  void apply(const op::Tiles& t) {
    const std::size_t channels = columns();
    std::vector<std::array<std::int64_t, 4>> order;
    for (std::int64_t row = 0; row < t.map.height; ++row) {
      for (std::int64_t column = 0; column < t.map.width; ++column) {
        order.push_back({row / t.side, column / t.side, row, column});
      }
    }
    std::sort(order.begin(), order.end());
    Values y(in().size());
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch_.samples); ++s) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t in_map =
            s * order.size() + static_cast<std::size_t>(order[i][2] * t.map.width + order[i][3]);
        const std::size_t in_tiles = s * order.size() + i;
        for (std::size_t c = 0; c < channels; ++c) {
          y[(t.back ? in_map : in_tiles) * channels + c] =
              in()[(t.back ? in_tiles : in_map) * channels + c];
        }
      }
    }
    out() = y;
  }
  void apply(const op::SquareLoss&) {
    const auto numbers =
        static_cast<double>(in().size() / static_cast<std::size_t>(batch_.samples));
    for (std::size_t i = 0; i < in().size(); ++i)
      loss_ += std::pow(in()[i] - batch_.drawings[i], 2) / numbers;
  }
  void apply(const op::Features&) { out().assign(batch_.features.begin(), batch_.features.end()); }

  const Layer& layer_;
  const PlainBatch& batch_;
  std::vector<const Values*> weights_;  // of the layer's parameters
  const Operator* op_ = nullptr;
  std::vector<Values> values_;
  double loss_ = 0.0;
  double balance_ = 0.0;
};

}  // namespace

Values plain_operators(const Layer& layer, const Parameters& parameters, const PlainBatch& batch,
                       const Values& x) {
  return Interpreter(layer, parameters, batch).run(x);
}

double plain_balance(const Layer& layer, const Parameters& parameters, const PlainBatch& batch,
                     const Values& x) {
  Interpreter interpreter(layer, parameters, batch);
  interpreter.run(x);
  return interpreter.balance();
}

}  // namespace pptrain::test
