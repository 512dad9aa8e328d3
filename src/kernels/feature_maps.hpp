#pragma once

#include <vector>

#include "model/forms.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A convolution of feature maps: S samples of P pixels with C channels become Q =
/// `window.out_pixels()` pixels with O.
struct ConvolutionForm {
  Window window;
  std::int64_t channels = 0;
  std::int64_t out = 0;
  DType factors = DType::f32;  ///< of what is multiplied; sums are fp32

  /// Elements of the weight.
  std::int64_t weights() const { return out * channels * window.area(); }
};

/// Convolutions of one device. Maps are (S * P, C) or (S * Q, O) f32 without gaps between rows, and
/// are rounded to the form's type of factors where they are multiplied; the weight is (O, C *
/// window) of that type, each row as (channel, row, column). Results are f32 and may overlap no
/// argument. Equal calls give equal bits.
class Convolutions {
 public:
  virtual ~Convolutions() = default;
  /// The type of factors that this device multiplies where products of matrices take `compute`.
  virtual DType factors(DType compute) const = 0;
  /// y = the convolution of x. bias (O), or null: none.
  virtual void forward(const ConvolutionForm& form, const Matrix& x, const Matrix& weight,
                       const float* bias, const Matrix& y) = 0;
  /// dx = the gradient of x.
  virtual void backward_input(const ConvolutionForm& form, const Matrix& dy, const Matrix& weight,
                              const Matrix& dx) = 0;
  /// dweight (O, C * window) f32 = its gradient, not added.
  virtual void backward_weight(const ConvolutionForm& form, const Matrix& x, const Matrix& dy,
                               float* dweight) = 0;
};

/// Maps of which a batch norm takes the distance from the mean over the deviation.
struct BatchNormInput {
  Matrix x;               ///< (R, C)
  const float* mean;      ///< (C)
  const float* variance;  ///< (C), biased
  float epsilon;
};

/// What one device computes of feature maps beside convolutions. Maps are f32 and as above; C
/// channels. Every sum is formed in a fixed order.
class FeatureMaps {
 public:
  virtual ~FeatureMaps() = default;
  /// Convolutions of the same device, which live as long as this.
  virtual Convolutions& convolutions() = 0;

  /// y (S * Q, C) = the largest number under each window; chosen (S * Q, C) is its place in the
  /// window, row by row: the first of equal ones, or of NaNs.
  virtual void max_pool_forward(const Window& window, const Matrix& x, const Matrix& y,
                                std::int32_t* chosen) = 0;
  /// dx = the sum of what comes to each pixel.
  virtual void max_pool_backward(const Window& window, const Matrix& dy, const std::int32_t* chosen,
                                 const Matrix& dx) = 0;
  /// y = the mean under each window, without padding.
  virtual void average_pool_forward(const Window& window, const Matrix& x, const Matrix& y) = 0;
  /// dx = for each pixel the sum of dy / `window.area()` over the places that it is under.
  virtual void average_pool_backward(const Window& window, const Matrix& dy, const Matrix& dx) = 0;

  /// Turns the pixels of `samples` maps: x (S * P, C) as y (S, C * P), channel by channel; `back`
  /// the other way.
  virtual void flatten(std::size_t samples, const Matrix& x, const Matrix& y, bool back) = 0;

  /// y (S * 4 P, C or C / 4) = maps of twice the side.
  virtual void enlarge(EnlargeKind kind, const MapSize& map, const Matrix& x, const Matrix& y) = 0;
  /// dx = the sum of what comes to each number.
  virtual void enlarge_backward(EnlargeKind kind, const MapSize& map, const Matrix& dy,
                                const Matrix& dx) = 0;
  /// Orders pixels: x (S * P, C) row by row of the map as y (S * P, C) square by square of `side`
  /// pixels a side; `back` the other way.
  virtual void order_tiles(const MapSize& map, std::int64_t side, const Matrix& x, const Matrix& y,
                           bool back) = 0;
  /// *loss += the sum over x (R, C) of factor * (x - goal)^2; goal (R, C) without gaps.
  virtual void square_loss(const Matrix& x, const float* goal, double factor, double* loss) = 0;
  /// x becomes its gradient: 2 * factor * (x - goal).
  virtual void square_loss_gradient(const Matrix& x, const float* goal, float factor) = 0;

  /// Computes moments (2, C) of each channel of x (R, C): moments[c] is the mean, moments[C + c]
  /// the sum of the squared distances from it.
  virtual void batch_moments(const Matrix& x, float* moments) = 0;
  /// Joins the moments of several devices, (2, C) each one behind the other, of rows[d] rows each,
  /// in their order: mean and biased variance of all of them (Chan, Golub and LeVeque, "Updating
  /// formulae", 1979). Devices without rows count for nothing; all are 0 where none has any.
  virtual void join_moments(const float* moments, const std::vector<double>& rows,
                            std::size_t channels, float* mean, float* variance) = 0;
  /// running = (1 - share) * running + share * factor * value.
  virtual void update_running(float* running, const float* value, float share, float factor,
                              std::size_t channels) = 0;
  /// *counter += 1.
  virtual void count(float* counter) = 0;

  /// y = (x - mean) / sqrt(variance + epsilon) * gain + offset; y (R, C), gain and offset (C).
  virtual void batch_norm_forward(const BatchNormInput& input, const float* gain,
                                  const float* offset, const Matrix& y) = 0;
  /// sums[c] = the sum of dy over the rows, sums[C + c] that of dy * (x - mean) / sqrt(variance +
  /// epsilon).
  virtual void batch_norm_sums(const BatchNormInput& input, const Matrix& dy, float* sums) = 0;
  /// dx from the sums over all `rows` of the micro-batch.
  virtual void batch_norm_backward(const BatchNormInput& input, const Matrix& dy, const float* gain,
                                   const float* sums, double rows, const Matrix& dx) = 0;
};

/// The host's.
FeatureMaps& host_feature_maps();

}  // namespace pptrain
