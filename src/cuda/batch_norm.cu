#include <cmath>

#include "cuda/feature_maps.hpp"
#include "cuda/maps.hpp"
#include "cuda/sums.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

constexpr unsigned channel_threads = 128;

/// A thread sums up a channel of a chunk of rows, in double.
template <class Term>
__global__ void sum_channel_chunks(Term term, std::size_t channels, RowChunks chunks,
                                   double* partial_sums) {
  const std::size_t channel = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  const std::size_t first = blockIdx.y * chunks.rows_of_chunk, end = first + chunks.rows_of_chunk;
  const std::size_t last = end < chunks.rows ? end : chunks.rows;
  double sum = 0;
  for (std::size_t row = first; row < last; ++row) sum += term(row, channel);
  partial_sums[blockIdx.y * channels + channel] = sum;
}

/// A thread adds the chunks of a channel in their order: sums[c] = factor(c) * their sum.
template <class Factor>
__global__ void add_channel_chunks(const double* partial_sums, std::size_t channels,
                                   std::size_t chunks, Factor factor, float* sums) {
  const std::size_t channel = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  double sum = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk)
    sum += partial_sums[chunk * channels + channel];
  sums[channel] = static_cast<float>(sum * factor(channel));
}

template <class Term, class Factor>
void sum_channels(ComputeStream& stream, Scratch& scratch, const Matrix& x, const Term& term,
                  const Factor& factor, float* sums) {
  const RowChunks chunks(x.rows);
  const auto blocks = static_cast<unsigned>((x.columns + channel_threads - 1) / channel_threads);
  if (blocks == 0) return;
  auto* partial_sums = scratch.take<double>(std::max<std::size_t>(chunks.count(), 1) * x.columns);
  if (chunks.count() > 0) {
    launch(stream, dim3(blocks, static_cast<unsigned>(chunks.count())), channel_threads, 0,
           sum_channel_chunks<Term>, term, x.columns, chunks, partial_sums);
  }
  launch(stream, blocks, channel_threads, 0, add_channel_chunks<Factor>, partial_sums, x.columns,
         chunks.count(), factor, sums);
}

PPTRAIN_FUNCTION inline float inverse_deviation(float variance, float epsilon) {
  return 1.0f / std::sqrt(variance + epsilon);
}

struct Constant {
  double value;
  PPTRAIN_FUNCTION double operator()(std::size_t) const { return value; }
};
struct InverseDeviation {
  const float* variance;
  float epsilon;
  PPTRAIN_FUNCTION double operator()(std::size_t c) const {
    return static_cast<double>(inverse_deviation(variance[c], epsilon));
  }
};

struct Number {
  Rows<const float> x;
  PPTRAIN_FUNCTION double operator()(std::size_t row, std::size_t c) const {
    return static_cast<double>(x.row(row)[c]);
  }
};
struct SquaredDistance {
  Rows<const float> x;
  const float* mean;
  PPTRAIN_FUNCTION double operator()(std::size_t row, std::size_t c) const {
    const double distance = static_cast<double>(x.row(row)[c]) - static_cast<double>(mean[c]);
    return distance * distance;
  }
};
struct GradientTimesDistance {
  Rows<const float> x, dy;
  const float* mean;
  PPTRAIN_FUNCTION double operator()(std::size_t row, std::size_t c) const {
    return static_cast<double>(dy.row(row)[c]) * static_cast<double>(x.row(row)[c] - mean[c]);
  }
};

struct JoinMoments {
  const float* moments;
  const double* rows;
  std::size_t devices, channels;
  float *mean, *variance;

  PPTRAIN_FUNCTION void operator()(std::size_t, std::size_t c) const {
    double count = 0.0, joined = 0.0, squares = 0.0;
    for (std::size_t d = 0; d < devices; ++d) {
      if (rows[d] == 0.0) continue;
      const float* own = moments + 2 * channels * d;
      const double all = count + rows[d];
      const double distance = static_cast<double>(own[c]) - joined;
      joined += distance * rows[d] / all;
      squares +=
          static_cast<double>(own[channels + c]) + distance * distance * count * rows[d] / all;
      count = all;
    }
    mean[c] = static_cast<float>(joined);
    variance[c] = static_cast<float>(count == 0.0 ? 0.0 : squares / count);
  }
};

struct UpdateRunning {
  float* running;
  const float* value;
  float share, factor;
  PPTRAIN_FUNCTION void operator()(std::size_t, std::size_t c) const {
    running[c] = (1.0f - share) * running[c] + share * (factor * value[c]);
  }
};
struct CountUp {
  float* counter;
  PPTRAIN_FUNCTION void operator()(std::size_t, std::size_t) const { *counter += 1.0f; }
};

struct BatchNormForward {
  Rows<const float> x;
  const float *mean, *variance, *gain, *offset;
  float epsilon;
  Rows<float> y;
  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t c) const {
    const float factor = inverse_deviation(variance[c], epsilon) * gain[c];
    y.row(row)[c] = (x.row(row)[c] - mean[c]) * factor + offset[c];
  }
};
struct BatchNormBackward {
  Rows<const float> x, dy;
  const float *mean, *variance, *gain, *sums;
  float epsilon;
  double rows;
  std::size_t channels;
  Rows<float> dx;
  PPTRAIN_FUNCTION void operator()(std::size_t row, std::size_t c) const {
    const float inverse = inverse_deviation(variance[c], epsilon);
    const auto mean_gradient = static_cast<float>(sums[c] / rows);
    const auto slope = static_cast<float>(sums[channels + c] * inverse / rows);
    dx.row(row)[c] =
        gain[c] * inverse * (dy.row(row)[c] - mean_gradient - (x.row(row)[c] - mean[c]) * slope);
  }
};

}  // namespace

void CudaFeatureMaps::batch_moments(const Matrix& x, float* moments) {
  const double share = x.rows == 0 ? 0.0 : 1.0 / static_cast<double>(x.rows);
  const auto rows = read_rows<float>(x);
  sum_channels(device_.stream(), scratch_, x, Number{rows}, Constant{share}, moments);
  sum_channels(device_.stream(), scratch_, x, SquaredDistance{rows, moments}, Constant{1.0},
               moments + x.columns);
}

void CudaFeatureMaps::join_moments(const float* moments, const std::vector<double>& rows,
                                   std::size_t channels, float* mean, float* variance) {
  auto* of_devices = scratch_.take<double>(rows.size());
  device_.upload(of_devices, rows.data(), rows.size() * sizeof(double));
  launch_numbers(device_.stream(), 1, channels,
                 JoinMoments{moments, of_devices, rows.size(), channels, mean, variance});
}

void CudaFeatureMaps::update_running(float* running, const float* value, float share, float factor,
                                     std::size_t channels) {
  launch_numbers(device_.stream(), 1, channels, UpdateRunning{running, value, share, factor});
}

void CudaFeatureMaps::count(float* counter) {
  launch_numbers(device_.stream(), 1, 1, CountUp{counter});
}

void CudaFeatureMaps::batch_norm_forward(const BatchNormInput& input, const float* gain,
                                         const float* offset, const Matrix& y) {
  launch_numbers(device_.stream(), input.x.rows, input.x.columns,
                 BatchNormForward{read_rows<float>(input.x), input.mean, input.variance, gain,
                                  offset, input.epsilon, write_rows<float>(y)});
}

void CudaFeatureMaps::batch_norm_sums(const BatchNormInput& input, const Matrix& dy, float* sums) {
  const auto gradients = read_rows<float>(dy);
  sum_channels(device_.stream(), scratch_, input.x, Number{gradients}, Constant{1.0}, sums);
  sum_channels(device_.stream(), scratch_, input.x,
               GradientTimesDistance{read_rows<float>(input.x), gradients, input.mean},
               InverseDeviation{input.variance, input.epsilon}, sums + input.x.columns);
}

void CudaFeatureMaps::batch_norm_backward(const BatchNormInput& input, const Matrix& dy,
                                          const float* gain, const float* sums, double rows,
                                          const Matrix& dx) {
  launch_numbers(
      device_.stream(), input.x.rows, input.x.columns,
      BatchNormBackward{read_rows<float>(input.x), read_rows<float>(dy), input.mean, input.variance,
                        gain, sums, input.epsilon, rows, input.x.columns, write_rows<float>(dx)});
}

}  // namespace pptrain
