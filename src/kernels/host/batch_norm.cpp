#include <algorithm>
#include <cmath>

#include "kernels/host/host_feature_maps.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

/// Channels whose sums are formed together, in double, over all rows in their order.
constexpr std::size_t channels_together = 64;

/// add(row, first channel, channels, sums) for every row in its order, then write(channel, its
/// place in the sums, sums).
template <std::size_t count, class Add, class Write>
void sum_rows(const char* name, std::size_t rows, std::size_t channels, const Add& add,
              const Write& write) {
  Kokkos::parallel_for(name, pieces((channels + channels_together - 1) / channels_together),
                       [=](std::size_t p) {
                         const std::size_t begin = p * channels_together,
                                           width = std::min(channels_together, channels - begin);
                         double sums[count][channels_together] = {};
                         for (std::size_t row = 0; row < rows; ++row) add(row, begin, width, sums);
                         for (std::size_t c = 0; c < width; ++c) write(begin + c, c, sums);
                       });
}

float inverse_deviation(float variance, float epsilon) {
  return 1.0F / std::sqrt(variance + epsilon);
}

}  // namespace

void HostFeatureMaps::batch_moments(const Matrix& x, float* moments) {
  const std::size_t channels = x.columns;
  const double share = x.rows == 0 ? 0.0 : 1.0 / static_cast<double>(x.rows);
  sum_rows<1>(
      "batch_means", x.rows, channels,
      [=](std::size_t row, std::size_t begin, std::size_t width,
          double(&sums)[1][channels_together]) {
        const float* from = x.at<float>(row, begin);
        for (std::size_t c = 0; c < width; ++c) sums[0][c] += static_cast<double>(from[c]);
      },
      [=](std::size_t channel, std::size_t c, const double(&sums)[1][channels_together]) {
        moments[channel] = static_cast<float>(sums[0][c] * share);
      });
  sum_rows<1>(
      "batch_squares", x.rows, channels,
      [=](std::size_t row, std::size_t begin, std::size_t width,
          double(&sums)[1][channels_together]) {
        const float *from = x.at<float>(row, begin), *mean = moments + begin;
        for (std::size_t c = 0; c < width; ++c) {
          const double distance = static_cast<double>(from[c]) - static_cast<double>(mean[c]);
          sums[0][c] += distance * distance;
        }
      },
      [=](std::size_t channel, std::size_t c, const double(&sums)[1][channels_together]) {
        moments[channels + channel] = static_cast<float>(sums[0][c]);
      });
}

void HostFeatureMaps::join_moments(const float* moments, const std::vector<double>& rows,
                                   std::size_t channels, float* mean, float* variance) {
  for (std::size_t c = 0; c < channels; ++c) {
    double count = 0.0, joined = 0.0, squares = 0.0;
    for (std::size_t d = 0; d < rows.size(); ++d) {
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
}

void HostFeatureMaps::update_running(float* running, const float* value, float share, float factor,
                                     std::size_t channels) {
  for (std::size_t c = 0; c < channels; ++c)
    running[c] = (1.0F - share) * running[c] + share * (factor * value[c]);
}

void HostFeatureMaps::count(float* counter) { *counter += 1.0F; }

void HostFeatureMaps::batch_norm_forward(const BatchNormInput& input, const float* gain,
                                         const float* offset, const Matrix& y) {
  std::vector<float> factors(input.x.columns);
  for (std::size_t c = 0; c < input.x.columns; ++c)
    factors[c] = inverse_deviation(input.variance[c], input.epsilon) * gain[c];
  const float* factor = factors.data();
  const std::size_t channels = input.x.columns;
  launch_rows("batch_norm_forward", 0, input.x.rows, [=](const SerialTeam& team, std::size_t row) {
    const float* from = input.x.at<float>(row);
    float* to = y.at<float>(row);
    team.for_each(channels, [=](std::size_t c) {
      to[c] = (from[c] - input.mean[c]) * factor[c] + offset[c];
    });
  });
}

void HostFeatureMaps::batch_norm_sums(const BatchNormInput& input, const Matrix& dy, float* sums) {
  const std::size_t channels = input.x.columns;
  sum_rows<2>(
      "batch_norm_sums", input.x.rows, channels,
      [=](std::size_t row, std::size_t begin, std::size_t width,
          double(&of_rows)[2][channels_together]) {
        const float *from = input.x.at<float>(row, begin), *gradient = dy.at<float>(row, begin),
                    *centre = input.mean + begin;
        for (std::size_t c = 0; c < width; ++c) {
          of_rows[0][c] += static_cast<double>(gradient[c]);
          of_rows[1][c] +=
              static_cast<double>(gradient[c]) * static_cast<double>(from[c] - centre[c]);
        }
      },
      [=](std::size_t channel, std::size_t c, const double(&of_rows)[2][channels_together]) {
        sums[channel] = static_cast<float>(of_rows[0][c]);
        sums[channels + channel] = static_cast<float>(
            of_rows[1][c] * inverse_deviation(input.variance[channel], input.epsilon));
      });
}

void HostFeatureMaps::batch_norm_backward(const BatchNormInput& input, const Matrix& dy,
                                          const float* gain, const float* sums, double rows,
                                          const Matrix& dx) {
  const std::size_t channels = input.x.columns;
  std::vector<float> factors(3 * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const float inverse = inverse_deviation(input.variance[c], input.epsilon);
    factors[c] = gain[c] * inverse;
    factors[channels + c] = static_cast<float>(sums[c] / rows);
    factors[2 * channels + c] = static_cast<float>(sums[channels + c] * inverse / rows);
  }
  const float *factor = factors.data(), *mean_gradient = factor + channels,
              *slope = mean_gradient + channels;
  launch_rows("batch_norm_backward", 0, input.x.rows, [=](const SerialTeam& team, std::size_t row) {
    const float *from = input.x.at<float>(row), *gradient = dy.at<float>(row);
    float* to = dx.at<float>(row);
    team.for_each(channels, [=](std::size_t c) {
      to[c] = factor[c] * (gradient[c] - mean_gradient[c] - (from[c] - input.mean[c]) * slope[c]);
    });
  });
}

}  // namespace pptrain
