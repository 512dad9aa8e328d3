// RMSNorm and the forms of LayerNorm that GPT-2 does not have, against the host's.
#include <vector>

#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// How far two sums of n values of about one may be apart: each is formed in at most n roundings on
/// the way.
double sum_bound(std::size_t n) { return 1.2e-7 * static_cast<double>(n) + 1e-6; }

struct NormCase {
  NormForm form;
  bool has_offset;
  std::size_t rows, columns;
};
const std::vector<NormCase> norm_cases{{{NormKind::rms, 1e-6f, false}, false, 70, 16},
                                       {{NormKind::rms, 1e-5f, true}, false, 17, 770},
                                       {{NormKind::rms, 1e-6f, false}, false, 5, 3001},
                                       {{NormKind::layer, 0.25f, true}, true, 9, 33},
                                       {{NormKind::layer, 1e-12f, false}, false, 9, 64}};

/// Both passes of a norm on both sides: x, its gradient and the output of one type, or x of fp32.
struct NormRun {
  NormCase c;
  Twin x, y, sum, gain, offset, normalised, mean, rstd, d, dx, dgain, doffset, again;

  NormRun(Gpu& gpu, const NormCase& sizes, DType x_type, DType type, std::uint64_t seed)
      : c(sizes),
        x(gpu, c.rows, c.columns, x_type, {3, 0}),
        y(gpu, c.rows, c.columns),
        sum(gpu, c.rows, c.columns, x_type, {1, 0}),
        gain(gpu, 1, c.columns),
        offset(gpu, 1, c.columns),
        normalised(gpu, c.rows, c.columns, type, {8, 0}),
        mean(gpu, 1, c.rows),
        rstd(gpu, 1, c.rows),
        d(gpu, c.rows, c.columns, type, {5, 0}),
        dx(gpu, c.rows, c.columns, x_type, {2, 0}),
        dgain(gpu, 1, c.columns),
        doffset(gpu, 1, c.columns),
        again(gpu, c.rows, c.columns, type, {1, 0}) {
    for (Twin* input : {&x, &y, &gain, &offset, &d, &dgain, &doffset})
      input->randomise(++seed, 1.5, 0.25);
  }

  /// By `kernels` on what `matrix` and `vector` give of a twin; y is added, without a bias, where x
  /// is fp32.
  template <class MatrixOf, class VectorOf>
  void run(Kernels& kernels, const MatrixOf& matrix, const VectorOf& vector) {
    const bool is_layer = c.form.kind == NormKind::layer, adds = matrix(x).type == DType::f32;
    const float* offsets = c.has_offset ? vector(offset) : nullptr;
    float* means = is_layer ? vector(mean) : nullptr;
    kernels.residual_norm_forward({c.form, matrix(x), adds ? matrix(y) : Matrix(), nullptr,
                                   matrix(adds ? sum : x), vector(gain), offsets,
                                   matrix(normalised), means, vector(rstd)});
    kernels.norm_backward({c.form,
                           matrix(d),
                           matrix(adds ? sum : x),
                           means,
                           vector(rstd),
                           vector(gain),
                           offsets,
                           {},
                           matrix(dx),
                           vector(dgain),
                           c.has_offset ? vector(doffset) : nullptr,
                           matrix(again)});
    kernels.norm_backward({c.form,
                           matrix(d),
                           matrix(adds ? sum : x),
                           means,
                           vector(rstd),
                           vector(gain),
                           offsets,
                           {},
                           adds ? matrix(dx) : matrix(d),
                           vector(dgain),
                           nullptr,
                           {}});
  }
};

void check_norm(Gpu& gpu, const NormCase& c, DType x_type, DType type, std::uint64_t seed) {
  CAPTURE(c.rows, c.columns, c.form.epsilon, type_name(x_type), type_name(type), seed);
  NormRun run(gpu, c, x_type, type, seed);
  run.run(
      host_kernels(), [](const Twin& t) { return t.host(); },
      [](const Twin& t) { return t.host_f32(); });
  run.run(
      gpu.kernels, [](const Twin& t) { return t.device(); },
      [](const Twin& t) { return t.device_f32(); });
  const double bound = 8 * sum_bound(c.columns) / static_cast<double>(c.columns) + 8e-6;
  const auto error = [](const Twin& t) {
    return largest_error(t.device_values(), t.host_values());
  };
  REQUIRE(error(run.rstd) < bound);
  REQUIRE(error(run.normalised) < 4 * bound + 2 * rounding(type));
  REQUIRE(error(run.again) < 4 * bound + 2 * rounding(type));
  REQUIRE(error(run.dx) < 4 * bound + 2 * rounding(x_type));
  REQUIRE(error(run.d) < 4 * bound + 2 * rounding(type));
  REQUIRE(error(run.dgain) < 16 * sum_bound(c.rows));
  REQUIRE(error(run.doffset) < 4 * sum_bound(c.rows));
  for (const Twin* result : {&run.normalised, &run.again, &run.dx, &run.d}) {
    REQUIRE(result->surroundings_are_untouched());
  }
}

}  // namespace

TEST_CASE("the GPU computes the other forms of norms as the host", "[cuda]") {
  Gpu gpu;
  for (const NormCase& c : norm_cases) {
    for (const DType type : all_types) {
      check_norm(gpu, c, DType::f32, type, fresh_seed());
      check_norm(gpu, c, type, type, fresh_seed());
    }
  }
}
