// How fast each host kernel is at the shapes of two GPT-2 models: GFLOP/s, GB/s and time per
// element.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/backend.hpp"
#include "kernels/bodies/update_steps.hpp"
#include "kernels/gemm.hpp"

using namespace pptrain;
using benchmark::Counter;
using benchmark::State;

namespace {

struct Shape {
  const char* name;
  std::size_t samples, length, hidden, heads, vocabulary;

  std::size_t rows() const { return samples * length; }
};
constexpr Shape shapes[] = {{"h256", 16, 128, 256, 8, 4096}, {"h768", 4, 64, 768, 12, 50257}};

Arena& arena() {
  static Arena memory;
  return memory;
}

/// Normal numbers, f32 or bf16.
Tensor random_tensor(std::size_t rows, std::size_t columns, DType type = DType::f32) {
  Tensor values(arena(), rows, columns);
  CounterRandom(1, "benchmark").fill_normal(0, values.size(), values.f32());
  if (type == DType::f32) return values;
  Tensor rounded(arena(), rows, columns, type);
  host_kernels().convert(values, rounded);
  return rounded;
}

std::vector<std::uint32_t> random_tokens(std::size_t count, std::size_t vocabulary) {
  const CounterRandom random(1, "tokens");
  std::vector<std::uint32_t> tokens;
  for (std::size_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<std::uint32_t>(random.bits(i) % vocabulary));
  return tokens;
}

std::vector<std::int32_t> random_targets(std::size_t count, std::size_t vocabulary) {
  const std::vector<std::uint32_t> tokens = random_tokens(count, vocabulary);
  return {tokens.begin(), tokens.end()};
}

void count_flop(State& state, double flop) {
  state.counters["flop"] = Counter(flop, Counter::kIsIterationInvariantRate);
}

/// Elements a second and bytes a second, given the bytes read and written per element.
void count_elements(State& state, std::size_t elements, double bytes_per_element) {
  const double total = static_cast<double>(elements) * static_cast<double>(state.iterations());
  state.counters["ns_per_element"] = Counter(1e-9 * static_cast<double>(elements),
                                             Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.SetBytesProcessed(static_cast<std::int64_t>(total * bytes_per_element));
}

enum class Use { overwrite, accumulate, bias };

struct Product {
  std::string name;
  Transpose ta, tb;
  std::size_t m, n, k;
  Use use;
};

void gemm(State& state, const Product& p, DType type) {
  const bool ta = p.ta == Transpose::yes, tb = p.tb == Transpose::yes;
  const Tensor a = random_tensor(ta ? p.k : p.m, ta ? p.m : p.k, type);
  const Tensor b = random_tensor(tb ? p.n : p.k, tb ? p.k : p.n, type);
  const Tensor c = random_tensor(p.m, p.n), bias = random_tensor(1, p.n);
  const GemmOptions options{p.use == Use::accumulate, p.use == Use::bias ? bias.f32() : nullptr};
  for (auto _ : state) host_gemm().multiply(p.ta, a, p.tb, b, c, options);
  count_flop(state, 2.0 * static_cast<double>(p.m * p.n * p.k));
}

/// The products of one layer and of the output layer: forward, gradient of the input, of the
/// weights.
std::vector<Product> products_of(const Shape& s) {
  std::vector<Product> products;
  const auto layer = [&](const std::string& name, std::size_t in, std::size_t out, Use use) {
    products.push_back({name + "_forward", Transpose::no, Transpose::yes, s.rows(), out, in, use});
    products.push_back({name + "_backward_input", Transpose::no, Transpose::no, s.rows(), in, out,
                        Use::overwrite});
    products.push_back({name + "_backward_weight", Transpose::yes, Transpose::no, out, in, s.rows(),
                        Use::accumulate});
  };
  layer("qkv", s.hidden, 3 * s.hidden, Use::bias);
  layer("projection", s.hidden, s.hidden, Use::overwrite);
  layer("up", s.hidden, 4 * s.hidden, Use::bias);
  layer("down", 4 * s.hidden, s.hidden, Use::overwrite);
  layer("logits", s.hidden, s.vocabulary, Use::overwrite);
  return products;
}

/// Attention of which `group` query heads share a key head.
struct AttentionCall {
  AttentionForm form;
  Tensor q, k, v, out, log_sum, dout, dq, dk, dv;

  AttentionCall(const Shape& s, std::size_t group, DType type)
      : form(multi_head(s.samples, s.length, s.heads, s.hidden / s.heads)),
        q(random_tensor(s.rows(), s.hidden, type)),
        k(random_tensor(s.rows(), s.hidden / group, type)),
        v(random_tensor(s.rows(), s.hidden / group, type)),
        out(random_tensor(s.rows(), s.hidden, type)),
        log_sum(random_tensor(s.rows(), s.heads)),
        dout(random_tensor(s.rows(), s.hidden, type)),
        dq(random_tensor(s.rows(), s.hidden, type)),
        dk(random_tensor(s.rows(), s.hidden / group, type)),
        dv(random_tensor(s.rows(), s.hidden / group, type)) {
    form.group = group;
    form.key_heads = s.heads / group;
  }
  void forward() const { host_attention().forward({form, q, k, v, out, log_sum.f32()}, arena()); }
  void backward() const {
    host_attention().backward({form, q, k, v, out, log_sum.f32(), dout, dq, dk, dv}, arena());
  }
};

/// FLOP of one matrix product of attention over all pairs, causal or not: what a library would do.
double pair_flop(const Shape& s) {
  return 2.0 * static_cast<double>(s.rows() * s.length * s.hidden);
}

template <std::size_t group>
void attention_forward(State& state, const Shape& s, DType type) {
  const AttentionCall attention(s, group, type);
  for (auto _ : state) attention.forward();
  count_flop(state, 2 * pair_flop(s));
}

template <std::size_t group>
void attention_backward(State& state, const Shape& s, DType type) {
  const AttentionCall attention(s, group, type);
  attention.forward();
  for (auto _ : state) attention.backward();
  count_flop(state, 5 * pair_flop(s));
}

void residual_layer_norm_forward(State& state, const Shape& s, DType type) {
  const Tensor x = random_tensor(s.rows(), s.hidden), y = random_tensor(s.rows(), s.hidden),
               sum = random_tensor(s.rows(), s.hidden),
               out = random_tensor(s.rows(), s.hidden, type), vectors = random_tensor(3, s.hidden),
               statistics = random_tensor(2, s.rows());
  for (auto _ : state) {
    host_kernels().residual_norm_forward({{},
                                          x,
                                          y,
                                          vectors.matrix().at<float>(0),
                                          sum,
                                          vectors.matrix().at<float>(1),
                                          vectors.matrix().at<float>(2),
                                          out,
                                          statistics.matrix().at<float>(0),
                                          statistics.matrix().at<float>(1)});
  }
  count_elements(state, x.size(), 12.0 + static_cast<double>(size_of(type)));
}

void layer_norm_backward(State& state, const Shape& s, DType type) {
  const Tensor d = random_tensor(s.rows(), s.hidden), x = random_tensor(s.rows(), s.hidden),
               residual = random_tensor(s.rows(), s.hidden),
               out = random_tensor(s.rows(), s.hidden, type), vectors = random_tensor(4, s.hidden),
               statistics = random_tensor(2, s.rows());
  const auto vector = [&](std::size_t row) { return vectors.matrix().at<float>(row); };
  for (auto _ : state) {
    host_kernels().norm_backward({{},
                                  d,
                                  x,
                                  statistics.matrix().at<float>(0),
                                  statistics.matrix().at<float>(1),
                                  vector(0),
                                  vector(1),
                                  residual,
                                  residual,
                                  vector(2),
                                  vector(3),
                                  out});
  }
  count_elements(state, x.size(), 16.0 + static_cast<double>(size_of(type)));
}

void residual_add(State& state, const Shape& s, DType) {
  const Tensor x = random_tensor(s.rows(), s.hidden), y = random_tensor(s.rows(), s.hidden),
               out = random_tensor(s.rows(), s.hidden), bias = random_tensor(1, s.hidden);
  for (auto _ : state) host_kernels().residual_add(x, y, bias.f32(), out);
  count_elements(state, x.size(), 12.0);
}

void rms_norm_forward(State& state, const Shape& s, DType type) {
  const Tensor x = random_tensor(s.rows(), s.hidden), y = random_tensor(s.rows(), s.hidden),
               sum = random_tensor(s.rows(), s.hidden),
               out = random_tensor(s.rows(), s.hidden, type), gain = random_tensor(1, s.hidden),
               rstd = random_tensor(1, s.rows());
  for (auto _ : state) {
    host_kernels().residual_norm_forward(
        {{NormKind::rms}, x, y, nullptr, sum, gain.f32(), nullptr, out, nullptr, rstd.f32()});
  }
  count_elements(state, x.size(), 12.0 + static_cast<double>(size_of(type)));
}

void rms_norm_backward(State& state, const Shape& s, DType type) {
  const Tensor d = random_tensor(s.rows(), s.hidden), x = random_tensor(s.rows(), s.hidden),
               residual = random_tensor(s.rows(), s.hidden),
               out = random_tensor(s.rows(), s.hidden, type), gain = random_tensor(2, s.hidden),
               rstd = random_tensor(1, s.rows());
  for (auto _ : state) {
    host_kernels().norm_backward({{NormKind::rms},
                                  d,
                                  x,
                                  nullptr,
                                  rstd.f32(),
                                  gain.f32(),
                                  nullptr,
                                  residual,
                                  residual,
                                  gain.matrix().at<float>(1),
                                  nullptr,
                                  out});
  }
  count_elements(state, x.size(), 16.0 + static_cast<double>(size_of(type)));
}

void rotate(State& state, const Shape& s, DType type) {
  const std::size_t pairs = s.hidden / s.heads / 2;
  const Tensor x = random_tensor(s.rows(), s.hidden, type),
               table = random_tensor(s.length, 2 * pairs);
  // Angles of 0, lest the numbers grow: random cosines and sines are of no rotation.
  for (std::size_t row = 0; row < s.length; ++row) {
    for (std::size_t c = 0; c < 2 * pairs; ++c)
      *table.matrix().at<float>(row, c) = c < pairs ? 1.0f : 0.0f;
  }
  for (auto _ : state) host_kernels().rotate(x, s.length, s.heads, table, false);
  count_elements(state, x.size(), 2.0 * static_cast<double>(size_of(type)));
}

template <Activation f>
void activation_forward(State& state, const Shape& s, DType type) {
  const Tensor u = random_tensor(s.rows(), 4 * s.hidden, type),
               out = random_tensor(s.rows(), 4 * s.hidden, type);
  for (auto _ : state) host_kernels().activation_forward(f, u, out);
  count_elements(state, u.size(), 2.0 * static_cast<double>(size_of(type)));
}

template <Activation f>
void activation_backward(State& state, const Shape& s, DType type) {
  const Tensor u = random_tensor(s.rows(), 4 * s.hidden, type),
               dout = random_tensor(s.rows(), 4 * s.hidden, type),
               du = random_tensor(s.rows(), 4 * s.hidden, type),
               out = random_tensor(s.rows(), 4 * s.hidden, type);
  for (auto _ : state) host_kernels().activation_backward(f, u, dout, du, out);
  count_elements(state, u.size(), 4.0 * static_cast<double>(size_of(type)));
}

void silu_gate_forward(State& state, const Shape& s, DType type) {
  const Tensor gate = random_tensor(s.rows(), 4 * s.hidden, type),
               up = random_tensor(s.rows(), 4 * s.hidden, type),
               out = random_tensor(s.rows(), 4 * s.hidden, type);
  for (auto _ : state) host_kernels().gate_forward(Activation::silu, gate, up, out);
  count_elements(state, gate.size(), 3.0 * static_cast<double>(size_of(type)));
}

void silu_gate_backward(State& state, const Shape& s, DType type) {
  const Tensor gate = random_tensor(s.rows(), 4 * s.hidden, type),
               up = random_tensor(s.rows(), 4 * s.hidden, type),
               dout = random_tensor(s.rows(), 4 * s.hidden, type),
               dgate = random_tensor(s.rows(), 4 * s.hidden, type),
               dup = random_tensor(s.rows(), 4 * s.hidden, type),
               out = random_tensor(s.rows(), 4 * s.hidden, type);
  for (auto _ : state)
    host_kernels().gate_backward({Activation::silu, gate, up, dout, dgate, dup, out});
  count_elements(state, gate.size(), 6.0 * static_cast<double>(size_of(type)));
}

void add_column_sums(State& state, const Shape& s, DType type) {
  const Tensor d = random_tensor(s.rows(), 4 * s.hidden, type),
               gradient = random_tensor(1, 4 * s.hidden);
  for (auto _ : state) host_kernels().add_column_sums(d, gradient.f32());
  count_elements(state, d.size(), static_cast<double>(size_of(type)));
}

void embedding_forward(State& state, const Shape& s, DType) {
  const Tensor words = random_tensor(s.vocabulary, s.hidden),
               places = random_tensor(s.length, s.hidden), x = random_tensor(s.rows(), s.hidden);
  const auto tokens = random_tokens(s.rows(), s.vocabulary);
  for (auto _ : state)
    host_kernels().embedding_forward({tokens.data(), s.length, 0}, words, places, true, x);
  count_elements(state, x.size(), 12.0);
}

void embedding_backward(State& state, const Shape& s, DType) {
  const Tensor words = random_tensor(s.vocabulary, s.hidden),
               places = random_tensor(s.length, s.hidden), x = random_tensor(s.rows(), s.hidden);
  const auto tokens = random_tokens(s.rows(), s.vocabulary);
  for (auto _ : state)
    host_kernels().embedding_backward({tokens.data(), s.length, 0}, x, words, places);
  count_elements(state, x.size(), 20.0);
}

void cross_entropy(State& state, const Shape& s, DType) {
  const Tensor logits = random_tensor(s.rows(), s.vocabulary),
               statistics = random_tensor(3, s.rows());
  const auto targets = random_targets(s.rows(), s.vocabulary);
  const auto vector = [&](std::size_t row) { return statistics.matrix().at<float>(row); };
  double loss = 0;
  for (auto _ : state) {
    host_kernels().cross_entropy_max(logits, vector(0));
    host_kernels().cross_entropy_sum(logits, Targets{targets.data()}, vector(0), vector(1),
                                     vector(2));
    host_kernels().cross_entropy_loss(vector(0), vector(1), vector(2), s.rows(), &loss, 0.0);
    host_kernels().cross_entropy_gradient(logits, Targets{targets.data()}, vector(0), vector(1),
                                          {});
  }
  benchmark::DoNotOptimize(loss);
  count_elements(state, logits.size(), 16.0);
}

constexpr std::size_t num_parameters = 8 << 20;

void adamw(State& state, bool copies) {
  const Tensor p = random_tensor(1, num_parameters), g = random_tensor(1, num_parameters),
               m = random_tensor(1, num_parameters), v = random_tensor(1, num_parameters),
               copy = random_tensor(1, num_parameters, DType::bf16);
  for (std::size_t i = 0; i < num_parameters; ++i) v.f32()[i] *= v.f32()[i];
  const UpdateRun run{p.f32(),        g.f32(), m.f32(), v.f32(), copies ? copy.matrix() : Matrix(),
                      num_parameters, 0.1f};
  for (auto _ : state)
    host_kernels().update(&run, 1, AdamWStep{1e-4f, 0.9f, 0.95f, 1e-8f, 1.0f, 0.5f, 0.5f});
  count_elements(state, num_parameters, copies ? 30.0 : 28.0);
}

void sum_of_squares(State& state) {
  const Tensor x = random_tensor(1, num_parameters);
  double sum = 0;
  for (auto _ : state) host_kernels().sum_of_squares(x.f32(), num_parameters, &sum);
  benchmark::DoNotOptimize(sum);
  count_elements(state, num_parameters, 4.0);
}

void add(State& state) {
  const Tensor x = random_tensor(1, num_parameters), y = random_tensor(1, num_parameters);
  for (auto _ : state) host_kernels().add(x.f32(), y.f32(), num_parameters);
  count_elements(state, num_parameters, 12.0);
}

void convert(State& state, DType from, DType to) {
  const Tensor x = random_tensor(1024, num_parameters / 1024, from),
               y = random_tensor(1024, num_parameters / 1024, to);
  for (auto _ : state) host_kernels().convert(x, y);
  count_elements(state, num_parameters, 6.0);
}

using Kernel = void (*)(State&, const Shape&, DType);

void register_kernel(const std::string& name, Kernel kernel, const Shape& shape, bool has_bf16) {
  for (const DType type : {DType::f32, DType::bf16}) {
    if (type == DType::bf16 && !has_bf16) continue;
    const std::string full = name + "/" + shape.name + (type == DType::f32 ? "/f32" : "/bf16");
    benchmark::RegisterBenchmark(full.c_str(), [=](State& state) { kernel(state, shape, type); });
  }
}

void register_all() {
  for (const Shape& shape : shapes) {
    for (const Product& product : products_of(shape)) {
      for (const DType type : {DType::f32, DType::bf16}) {
        const std::string name =
            "gemm_" + product.name + "/" + shape.name + (type == DType::f32 ? "/f32" : "/bf16");
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](State& state) { gemm(state, product, type); });
      }
    }
    register_kernel("attention_forward", attention_forward<1>, shape, true);
    register_kernel("attention_backward", attention_backward<1>, shape, true);
    register_kernel("shared_key_attention_forward", attention_forward<4>, shape, true);
    register_kernel("shared_key_attention_backward", attention_backward<4>, shape, true);
    register_kernel("residual_layer_norm_forward", residual_layer_norm_forward, shape, true);
    register_kernel("layer_norm_backward", layer_norm_backward, shape, true);
    register_kernel("rms_norm_forward", rms_norm_forward, shape, true);
    register_kernel("rms_norm_backward", rms_norm_backward, shape, true);
    register_kernel("rotate", rotate, shape, true);
    register_kernel("residual_add", residual_add, shape, false);
    register_kernel("gelu_forward", activation_forward<Activation::gelu_tanh>, shape, true);
    register_kernel("gelu_backward", activation_backward<Activation::gelu_tanh>, shape, true);
    register_kernel("gelu_erf_forward", activation_forward<Activation::gelu>, shape, true);
    register_kernel("gelu_erf_backward", activation_backward<Activation::gelu>, shape, true);
    register_kernel("silu_gate_forward", silu_gate_forward, shape, true);
    register_kernel("silu_gate_backward", silu_gate_backward, shape, true);
    register_kernel("add_column_sums", add_column_sums, shape, true);
    register_kernel("embedding_forward", embedding_forward, shape, false);
    register_kernel("embedding_backward", embedding_backward, shape, false);
    register_kernel("cross_entropy", cross_entropy, shape, false);
  }
  benchmark::RegisterBenchmark("adamw/8Mi/f32", [](State& s) { adamw(s, false); });
  benchmark::RegisterBenchmark("adamw/8Mi/bf16", [](State& s) { adamw(s, true); });
  benchmark::RegisterBenchmark("sum_of_squares/8Mi/f32", sum_of_squares);
  benchmark::RegisterBenchmark("add/8Mi/f32", add);
  benchmark::RegisterBenchmark("convert/8Mi/f32_to_bf16",
                               [](State& s) { convert(s, DType::f32, DType::bf16); });
  benchmark::RegisterBenchmark("convert/8Mi/bf16_to_f32",
                               [](State& s) { convert(s, DType::bf16, DType::f32); });
}

}  // namespace

int main(int argc, char** argv) {
  omp_set_num_threads(1);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("gemm", host_gemm().name());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
