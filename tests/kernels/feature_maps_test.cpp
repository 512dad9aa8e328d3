// Convolutions by oneDNN against those by products, and the statistics of feature maps against
// double.
#include "kernels/feature_maps.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/host/host_convolutions.hpp"
#include "kernels/host/onednn_matmul.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

std::vector<float> numbers(const std::string& name, std::int64_t n, float shift = 0.0F) {
  std::vector<float> values(static_cast<std::size_t>(n));
  CounterRandom(3, name).fill_normal(0, values.size(), values.data());
  for (float& value : values) value += shift;
  return values;
}

Matrix as_map(std::vector<float>& values, std::int64_t channels) {
  return {values.data(), values.size() / static_cast<std::size_t>(channels),
          static_cast<std::size_t>(channels)};
}

/// Whether what is multiplied are numbers of bf16 from the outset.
enum class Rounded { no, yes };

/// What the three passes of a convolution give.
std::vector<std::vector<float>> passes(Convolutions& by, const ConvolutionForm& form,
                                       std::int64_t samples, bool bias,
                                       Rounded rounded = Rounded::no) {
  const Window& w = form.window;
  std::vector<float> x = numbers("x", samples * w.pixels() * form.channels),
                     weight = numbers("w", form.weights());
  std::vector<float> dy = numbers("dy", samples * w.out_pixels() * form.out),
                     offset = numbers("b", form.out);
  if (rounded == Rounded::yes) {
    for (std::vector<float>* factor : {&x, &weight, &dy}) {
      for (float& value : *factor) value = BFloat16(value);
    }
  }
  std::vector<float> y(dy.size()), dx(x.size()), dweight(weight.size(), 7.0F);
  const auto rows = static_cast<std::size_t>(form.out), columns = weight.size() / rows;
  std::vector<BFloat16> narrow(weight.begin(), weight.end());
  const Matrix factor = form.factors == DType::bf16
                            ? Matrix(narrow.data(), rows, columns, DType::bf16)
                            : Matrix(weight.data(), rows, columns);
  by.forward(form, as_map(x, form.channels), factor, bias ? offset.data() : nullptr,
             as_map(y, form.out));
  by.backward_input(form, as_map(dy, form.out), factor, as_map(dx, form.channels));
  by.backward_weight(form, as_map(x, form.channels), as_map(dy, form.out), dweight.data());
  return {y, dx, dweight};
}

void check_close(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0.0F, difference = 0.0F;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    const float d = std::abs(a[i] - b[i]);
    difference = d <= difference ? difference : d;
  }
  CHECK(difference <= 5e-6F * largest);
}

}  // namespace

TEST_CASE("maps are enlarged as torch does it") {
  // torch 2.15: interpolate(scale_factor=2, mode="bicubic") of 2 x 3 pixels.
  std::vector<float> x = {1.0F, 2.0F, -1.0F, 3.0F, 5.0F, 0.5F}, y(24);
  host_feature_maps().enlarge(EnlargeKind::bicubic, {2, 3}, as_map(x, 1), as_map(y, 1));
  check_close(y, {0.6947174F, 1.091637F, 1.780647F, 1.134094F, -0.4829102F, -1.457924F,
                  1.323761F,  1.848434F, 2.754044F, 2.052368F, 0.1396484F,  -1.012405F,
                  2.359833F,  3.094925F, 4.357285F, 3.564819F, 1.165039F,   -0.2786102F,
                  2.988876F,  3.851723F, 5.330681F, 4.483093F, 1.787598F,   0.1669083F});
  // PixelShuffle(2) of two pixels of eight channels, (row, column, channel) here and (channel, row,
  // column) there.
  std::vector<float> pixels(16), shuffled(16);
  for (std::size_t c = 0; c < 8; ++c) {
    for (std::size_t p = 0; p < 2; ++p) pixels[p * 8 + c] = static_cast<float>(2 * c + p);
  }
  host_feature_maps().enlarge(EnlargeKind::shuffle, {1, 2}, as_map(pixels, 8), as_map(shuffled, 2));
  const std::vector<float> torch = {0.0F, 2.0F,  1.0F, 3.0F,  4.0F,  6.0F,  5.0F,  7.0F,
                                    8.0F, 10.0F, 9.0F, 11.0F, 12.0F, 14.0F, 13.0F, 15.0F};
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t p = 0; p < 8; ++p) CHECK(shuffled[p * 2 + c] == torch[c * 8 + p]);
  }
}

const std::vector<ConvolutionForm> forms = {
    {{32, 32, 7, 7, 2, 3}, 3, 4},   {{9, 9, 3, 3, 1, 1}, 5, 17},    {{8, 6, 1, 1, 2, 0}, 16, 32},
    {{5, 7, 3, 2, 2, 0}, 2, 3},     {{14, 14, 3, 3, 2, 1}, 64, 16}, {{1, 1, 1, 1, 1, 0}, 48, 5},
    {{2, 2, 1, 1, 1, 0}, 256, 256}, {{4, 2, 3, 3, 2, 1}, 64, 48},   {{6, 5, 1, 1, 1, 0}, 40, 24}};

TEST_CASE("convolutions of the library and of the host are those by products") {
  const std::unique_ptr<Convolutions> plain = kernels::make_patch_convolutions();
  const std::unique_ptr<Convolutions> library = kernels::make_onednn_convolutions();
  for (const ConvolutionForm& form : forms) {
    for (const bool bias : {false, true}) {
      INFO(form.window.height << " x " << form.window.width << ", " << form.channels << " to "
                              << form.out);
      const auto expected = passes(*plain, form, 3, bias);
      for (Convolutions* by : {&host_feature_maps().convolutions(), library.get()}) {
        if (by == nullptr) continue;
        const auto found = passes(*by, form, 3, bias);
        for (std::size_t i = 0; i < expected.size(); ++i) check_close(expected[i], found[i]);
        CHECK(found == passes(*by, form, 3, bias));
      }
    }
  }
}

TEST_CASE("convolutions of bf16 jobs have fp32 factors on processors without matrix units") {
  const char* played = std::getenv("ONEDNN_MAX_CPU_ISA");  // as kernels.without_tiles sets it
  if (played == nullptr || std::string(played) != "AVX512_CORE_BF16") return;
  CHECK(host_feature_maps().convolutions().factors(DType::bf16) == DType::f32);
}

TEST_CASE("convolutions in bf16 are those of rounded factors, summed in fp32") {
  Convolutions& host = host_feature_maps().convolutions();
  CHECK(host.factors(DType::f32) == DType::f32);
  CHECK(host.factors(DType::f16) == DType::f32);
  if (!kernels::onednn_has_bf16()) return;  // this processor has none
  const std::unique_ptr<Convolutions> plain = kernels::make_patch_convolutions();
  const std::unique_ptr<Convolutions> library = kernels::make_onednn_convolutions();
  for (ConvolutionForm form : forms) {
    INFO(form.window.height << " x " << form.window.width << ", " << form.channels << " to "
                            << form.out);
    const auto expected = passes(*plain, form, 3, true, Rounded::yes);
    form.factors = DType::bf16;
    for (Convolutions* by : {&host, plain.get(), library.get()}) {
      const auto found = passes(*by, form, 3, true, Rounded::yes);
      for (std::size_t i = 0; i < expected.size(); ++i) check_close(expected[i], found[i]);
      const auto unrounded = passes(*by, form, 3, true);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(unrounded[i] == found[i]);
    }
  }
}

TEST_CASE(
    "the largest pixel under a window is the first of equal ones, and a NaN where there is one") {
  const Window window = {2, 2, 2, 2, 1, 1};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x = {1.0F, 1.0F, nan, 1.0F}, y(9), dx(4);
  std::vector<std::int32_t> chosen(9);
  host_feature_maps().max_pool_forward(window, as_map(x, 1), as_map(y, 1), chosen.data());
  CHECK(y[0] == 1.0F);
  CHECK(y[1] == 1.0F);
  CHECK(chosen[1] == 2);  // the left one of the lower row
  CHECK(std::isnan(y[4]));
  CHECK(chosen[4] == 2);
  const std::vector<float> ones(9, 1.0F);
  std::vector<float> dy = ones;
  host_feature_maps().max_pool_backward(window, as_map(dy, 1), chosen.data(), as_map(dx, 1));
  CHECK(dx == std::vector<float>{2.0F, 2.0F, 4.0F, 1.0F});
}

TEST_CASE("moments of parts join to those of the whole, far from zero too") {
  constexpr std::size_t channels = 70, rows = 100;
  std::vector<float> x = numbers("x", channels * rows, 1000.0F);
  const Matrix all = as_map(x, channels);
  std::vector<float> moments(4 * 2 * channels), mean(channels), variance(channels);
  const std::vector<double> parts = {13, 0, 60, 27};
  std::size_t first = 0;
  for (std::size_t d = 0; d < parts.size(); ++d) {
    const auto count = static_cast<std::size_t>(parts[d]);
    host_feature_maps().batch_moments(all.rows_from(first, count),
                                      moments.data() + 2 * channels * d);
    first += count;
  }
  host_feature_maps().join_moments(moments.data(), parts, channels, mean.data(), variance.data());
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0.0, squares = 0.0;
    for (std::size_t r = 0; r < rows; ++r) sum += static_cast<double>(x[r * channels + c]) / rows;
    for (std::size_t r = 0; r < rows; ++r)
      squares += std::pow(static_cast<double>(x[r * channels + c]) - sum, 2) / rows;
    CHECK(mean[c] == Approx(sum).epsilon(1e-7));
    CHECK(variance[c] == Approx(squares).epsilon(1e-5));
  }
}
