// Arrays of more than 2^31 elements, and of more than 2^32 bytes. They repeat a small one, whose
// results the other tests hold to the host's, so that an index that loses bits shows as another
// row, or as one that nobody wrote. On the stand-in the same with small arrays.
#include <algorithm>
#include <cmath>

#include "cuda/attention.hpp"
#include "cuda/gemm.hpp"
#include "cuda/hardware.hpp"
#include "cuda/twin.hpp"
#include "kernels/bodies/update_steps.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr std::size_t period = 61;  // rows; no power of two is a multiple

std::size_t sized(std::size_t on_gpus, std::size_t on_stand_in) {
  return hardware() == Hardware::gpus ? on_gpus : on_stand_in;
}

/// Whole periods of rows, at least three, that have more than 2^31 elements together.
std::size_t rows_of(std::size_t columns) {
  const std::size_t elements = sized(std::size_t{1} << 31, 1);
  return (std::max(elements / columns, 2 * period) / period + 1) * period;
}

/// Whether the GPU has so much memory to spare; else the case is left out, and says so.
bool has_memory(const Gpu& gpu, double gib) {
  if (hardware() == Hardware::stand_in) return true;
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  if (static_cast<double>(free) >= gib * 1024 * 1024 * 1024) return true;
  WARN("left out on " << gpu.device.name() << ", which has less than " << gib << " GiB to spare");
  return false;
}

/// A matrix on the GPU whose rows repeat those of a small one.
class Tiled {
 public:
  /// Poison, for results.
  Tiled(Gpu& gpu, std::size_t rows, std::size_t columns, DType type)
      : gpu_(gpu), block_(gpu.arena, rows, columns, type) {}
  /// Random numbers within 1 of the centre.
  Tiled(Gpu& gpu, std::size_t rows, std::size_t columns, DType type, std::uint64_t seed,
        double centre = 0.0)
      : Tiled(gpu, rows, columns, type) {
    TestMatrix tile(std::min(rows, period), columns, type);
    tile.randomise(seed, 1.0, centre);
    const std::size_t bytes = tile.bytes().size();
    gpu_.device.upload(matrix().data, tile.matrix().data, bytes);
    auto* first = static_cast<std::byte*>(matrix().data);
    for (std::size_t done = bytes; done < block_.bytes(); done *= 2) {
      gpu_.device.copy(first + done, first, std::min(done, block_.bytes() - done));
    }
  }

  const Matrix& matrix() const { return block_.matrix(); }
  float* f32() const { return block_.f32(); }
  std::size_t size() const { return block_.size(); }

  /// A period of rows from `first` on, or all where there are fewer.
  TestMatrix fetch(std::size_t first) const {
    TestMatrix rows(std::min(period, matrix().rows), matrix().columns, matrix().type);
    gpu_.device.download(rows.matrix().data, matrix().rows_from(first, rows.matrix().rows).data,
                         rows.bytes().size());
    return rows;
  }

 private:
  Gpu& gpu_;
  Tensor block_;
};

/// The rows of `large` are those of `small`, again and again: at both ends, and about the places
/// where an index of 31 or 32 bits, or an offset of so many bytes, ends.
void check_repeats(const Tiled& large, const Tiled& small, double tolerance = 0.0) {
  const TestMatrix expected = small.fetch(0);
  const Matrix& all = large.matrix();
  const std::size_t row_bytes = all.columns * size_of(all.type), last = all.rows - period;
  for (const std::size_t place :
       {std::size_t{0}, (std::size_t{1} << 31) / row_bytes, (std::size_t{1} << 32) / row_bytes,
        (std::size_t{1} << 31) / all.columns, last}) {
    const std::size_t first = std::min(place < period / 2 ? 0 : place - period / 2, last);
    const TestMatrix rows = large.fetch(first);
    CAPTURE(first);
    std::size_t wrong = 0;
    for (std::size_t r = 0; r < period; ++r) {
      for (std::size_t c = 0; c < all.columns; ++c) {
        const double found = rows.get(r, c), wanted = expected.get((first + r) % period, c);
        wrong += std::abs(found - wanted) <= tolerance ? 0U : 1U;  // NaN is wrong
      }
    }
    REQUIRE(wrong == 0);
  }
}

/// Sums over the rows of a large matrix are those of a small one, as often as it is repeated; the
/// small sums are of random terms up to 1, and rounding grows with their number.
void check_sums(const Tiled& large, const Tiled& small, std::size_t rows, double tolerance) {
  const TestMatrix found = large.fetch(0), expected = small.fetch(0);
  const double times = static_cast<double>(rows) / static_cast<double>(period);
  for (std::size_t r = 0; r < found.matrix().rows; ++r) {
    for (std::size_t c = 0; c < found.matrix().columns; ++c) {
      REQUIRE(std::abs(found.get(r, c) - times * expected.get(r, c)) <=
              tolerance * static_cast<double>(rows));
    }
  }
}

/// One row that sums are added to.
Tiled zeros(Gpu& gpu, std::size_t columns) {
  Tiled row(gpu, 1, columns, DType::f32);
  gpu.kernels.fill_zero(row.f32(), columns);
  return row;
}

struct Flat {
  Tiled x, y;
  double squares = 0;

  Flat(Gpu& gpu, std::size_t rows, std::uint64_t seed)
      : x(gpu, rows, 1024, DType::f32, seed), y(gpu, rows, 1024, DType::f32, seed + 1) {
    gpu.kernels.add(x.f32(), y.f32(), x.size());
    gpu.kernels.scale(y.f32(), 0.75F, y.size());
    const Buffer sum(gpu.arena, sizeof(squares));
    gpu.device.fill(sum.data(), 0, sizeof(squares));
    gpu.kernels.sum_of_squares(y.f32(), y.size(), static_cast<double*>(sum.data()));
    gpu.device.download(&squares, sum.data(), sizeof(squares));
    gpu.kernels.fill_zero(x.f32(), x.size());
  }
};

struct Gelu {
  Tiled u, out, du;

  Gelu(Gpu& gpu, std::size_t rows, std::uint64_t seed)
      : u(gpu, rows, 1024, DType::bf16),
        out(gpu, rows, 1024, DType::bf16),
        du(gpu, rows, 1024, DType::bf16) {
    {
      const Tiled wide(gpu, rows, 1024, DType::f32, seed);
      gpu.kernels.convert(wide.matrix(), u.matrix());
    }
    gpu.kernels.activation_forward(Activation::gelu_tanh, u.matrix(), out.matrix());
    gpu.kernels.activation_backward(Activation::gelu_tanh, u.matrix(), out.matrix(), du.matrix(),
                                    out.matrix());
  }
};

struct LayerNorm {
  static constexpr std::size_t columns = 1024;
  Tiled x, normalised, dx, gains, offsets, biases;

  LayerNorm(Gpu& gpu, std::size_t rows, std::uint64_t seed)
      : x(gpu, rows, columns, DType::f32, seed),
        normalised(gpu, rows, columns, DType::bf16),
        dx(gpu, rows, columns, DType::f32, seed + 1),
        gains(zeros(gpu, columns)),
        offsets(zeros(gpu, columns)),
        biases(zeros(gpu, columns)) {
    const Tiled gain(gpu, 1, columns, DType::f32, seed + 2),
        offset(gpu, 1, columns, DType::f32, seed + 3);
    const Tiled mean(gpu, rows, 1, DType::f32), rstd(gpu, rows, 1, DType::f32);
    // In place of x + y + bias: the sum is where x is.
    gpu.kernels.residual_norm_forward({{},
                                       x.matrix(),
                                       dx.matrix(),
                                       gain.f32(),
                                       x.matrix(),
                                       gain.f32(),
                                       offset.f32(),
                                       normalised.matrix(),
                                       mean.f32(),
                                       rstd.f32()});
    gpu.kernels.norm_backward({{},
                               normalised.matrix(),
                               x.matrix(),
                               mean.f32(),
                               rstd.f32(),
                               gain.f32(),
                               offset.f32(),
                               dx.matrix(),
                               dx.matrix(),
                               gains.f32(),
                               offsets.f32(),
                               {}});
    gpu.kernels.add_column_sums(dx.matrix(), biases.f32());
  }
};

struct CrossEntropy {
  Tiled logits, most, sum, of_target;
  double loss = 0;

  CrossEntropy(Gpu& gpu, std::size_t rows, std::size_t columns, std::uint64_t seed)
      : logits(gpu, rows, columns, DType::bf16, seed),
        most(gpu, rows, 1, DType::f32),
        sum(gpu, rows, 1, DType::f32),
        of_target(gpu, rows, 1, DType::f32) {
    std::vector<std::int32_t> classes(rows);
    for (std::size_t r = 0; r < rows; ++r)
      classes[r] = static_cast<std::int32_t>((r % period) * (columns / period));
    const DeviceValues targets(gpu, classes);
    gpu.kernels.cross_entropy_max(logits.matrix(), most.f32());
    gpu.kernels.cross_entropy_sum(logits.matrix(), Targets{targets.data()}, most.f32(), sum.f32(),
                                  of_target.f32());
    const DeviceValues total(gpu, std::vector<double>{0.0});
    gpu.kernels.cross_entropy_loss(most.f32(), sum.f32(), of_target.f32(), rows, total.data(), 0.0);
    loss = total.fetch().front();
    gpu.kernels.cross_entropy_gradient(logits.matrix(), Targets{targets.data()}, most.f32(),
                                       sum.f32(), {8.0F});
  }
};

struct Embedding {
  static constexpr std::size_t columns = 1024;
  Tiled x, gradient;

  Embedding(Gpu& gpu, std::size_t rows, std::uint64_t seed)
      : x(gpu, rows, columns, DType::f32), gradient(gpu, period, columns, DType::f32) {
    const Tiled words(gpu, period, columns, DType::f32, seed);
    std::vector<std::uint32_t> numbers(rows);
    for (std::size_t r = 0; r < rows; ++r) numbers[r] = static_cast<std::uint32_t>(7 * r % period);
    const DeviceValues tokens(gpu, numbers);
    gpu.kernels.embedding_forward({tokens.data(), period, 0}, words.matrix(), {}, false,
                                  x.matrix());
    gpu.kernels.fill_zero(gradient.f32(), gradient.size());
    gpu.kernels.embedding_backward({tokens.data(), period, 0}, x.matrix(), gradient.matrix(), {});
  }
};

struct AdamW {
  Tiled p, m, v, copy;

  AdamW(Gpu& gpu, std::size_t rows, std::uint64_t seed)
      : p(gpu, rows, 1024, DType::f32, seed),
        m(gpu, rows, 1024, DType::f32, seed + 1),
        v(gpu, rows, 1024, DType::f32, seed + 2, 1.0),
        copy(gpu, rows, 1024, DType::bf16) {
    const Tiled g(gpu, rows, 1024, DType::f32, seed + 3);
    const Matrix flat(copy.matrix().data, 1, copy.size(), DType::bf16);
    const UpdateRun run{p.f32(), g.f32(), m.f32(), v.f32(), flat, p.size(), 0.1F};
    REQUIRE(gpu.kernels.update(&run, 1, AdamWStep{0.01F, 0.9F, 0.95F, 1e-8F, 0.5F, 0.1F, 0.05F}) ==
            1);
  }
};

/// c = a b and the gradient of b from c's, with c the large one.
struct Products {
  Tiled c, gradient;

  Products(Gpu& gpu, Gemm& gemm, std::size_t rows, std::size_t columns, std::uint64_t seed)
      : c(gpu, rows, columns, DType::bf16), gradient(gpu, 32, columns, DType::f32) {
    const Tiled a(gpu, rows, 32, DType::bf16, seed), b(gpu, 32, columns, DType::bf16, seed + 1);
    gemm.multiply(Transpose::no, a.matrix(), Transpose::no, b.matrix(), c.matrix());
    gemm.multiply(Transpose::yes, a.matrix(), Transpose::no, c.matrix(), gradient.matrix());
  }
};

/// Sequences of as many tokens as a period has rows.
struct Attended {
  Tiled out, dqkv;

  Attended(Gpu& gpu, Attention& attention, DType type, std::size_t rows, std::uint64_t seed)
      : out(gpu, rows, width, type), dqkv(gpu, rows, 3 * width, type) {
    const std::size_t samples = rows / period;
    const Tiled qkv(gpu, rows, 3 * width, type, seed), dout(gpu, rows, width, type, seed + 1);
    const Tiled log_sum(gpu, rows * heads, 1, DType::f32);
    const AttentionForm form = multi_head(samples, period, heads, width / heads);
    const auto part = [](const Tiled& tiled, std::size_t which) {
      return tiled.matrix().columns_from(which * width, width);
    };
    attention.forward({form, part(qkv, 0), part(qkv, 1), part(qkv, 2), out.matrix(), log_sum.f32()},
                      gpu.arena);
    attention.backward({form, part(qkv, 0), part(qkv, 1), part(qkv, 2), out.matrix(), log_sum.f32(),
                        dout.matrix(), part(dqkv, 0), part(dqkv, 1), part(dqkv, 2)},
                       gpu.arena);
  }

  static constexpr std::size_t heads = 4, width = heads * 64;
};

}  // namespace

TEST_CASE("arrays of more than 2^31 elements are added, scaled, squared and cleared",
          "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 18)) return;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const std::size_t rows = rows_of(1024);
  const Flat small(gpu, period, seed), large(gpu, rows, seed);
  check_repeats(large.x, small.x);
  check_repeats(large.y, small.y);
  CHECK(large.squares == Approx(small.squares * static_cast<double>(rows / period)).epsilon(1e-9));
}

TEST_CASE("activations of more than 2^31 elements go through GELU", "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 23)) return;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const Gelu small(gpu, period, seed), large(gpu, rows_of(1024), seed);
  check_repeats(large.out, small.out);
  check_repeats(large.du, small.du);
}

TEST_CASE("activations of more than 2^31 elements go through LayerNorm", "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 23)) return;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const std::size_t rows = rows_of(LayerNorm::columns);
  const LayerNorm small(gpu, period, seed), large(gpu, rows, seed);
  check_repeats(large.normalised, small.normalised);
  check_repeats(large.dx, small.dx);
  check_sums(large.gains, small.gains, rows, 1e-3);
  check_sums(large.offsets, small.offsets, rows, 1e-3);
  check_sums(large.biases, small.biases, rows, 1e-3);
}

TEST_CASE("logits of more than 2^31 elements give the loss and their gradient", "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 6)) return;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const std::size_t columns = sized(50304, 200), rows = rows_of(columns);
  const CrossEntropy small(gpu, period, columns, seed), large(gpu, rows, columns, seed);
  check_repeats(large.logits, small.logits);
  check_repeats(large.sum, small.sum);
  CHECK(large.loss == Approx(small.loss * static_cast<double>(rows / period)).epsilon(1e-9));
}

TEST_CASE("embeddings give and take more than 2^31 elements", "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 10)) return;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const std::size_t rows = rows_of(Embedding::columns);
  const Embedding small(gpu, period, seed), large(gpu, rows, seed);
  check_repeats(large.x, small.x);
  check_sums(large.gradient, small.gradient, rows, 1e-3);
}

TEST_CASE("AdamW updates more than 2^31 elements in a run", "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 40)) return;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const AdamW small(gpu, period, seed), large(gpu, rows_of(1024), seed);
  check_repeats(large.p, small.p);
  check_repeats(large.m, small.m);
  check_repeats(large.v, small.v);
  check_repeats(large.copy, small.copy);
}

TEST_CASE("products have more than 2^31 elements", "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 8)) return;
  const auto gemm = make_cuda_gemm(gpu.device, gpu.kernels);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const std::size_t columns = sized(32768, 64), rows = rows_of(columns);
  const Products small(gpu, *gemm, period, columns, seed), large(gpu, *gemm, rows, columns, seed);
  // Sums of 32 products up to 1, in another order perhaps, rounded to 8 bits.
  check_repeats(large.c, small.c, 32.0 / 256);
  check_sums(large.gradient, small.gradient, rows, 1e-2);
}

TEST_CASE("attention reads and writes more than 2^31 elements", "[cuda][large]") {
  Gpu gpu;
  if (!has_memory(gpu, 20)) return;
  const std::uint64_t seed = fresh_seed();
  for (const FusedAttention fused : {FusedAttention::own, FusedAttention::cudnn_where_it_can}) {
    const auto attention = make_cuda_attention(gpu.device, fused);
    CAPTURE(seed, attention->name());
    const std::size_t rows = rows_of(3 * Attended::width);
    const Attended small(gpu, *attention, DType::bf16, period, seed),
        large(gpu, *attention, DType::bf16, rows, seed);
    // cuDNN may choose another engine for other sizes, and rounds between its products.
    const double tolerance = fused == FusedAttention::own ? 0.0 : 3e-2;
    check_repeats(large.out, small.out, tolerance);
    check_repeats(large.dqkv, small.dqkv, tolerance);
  }
}
