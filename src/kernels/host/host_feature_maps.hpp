#pragma once

#include <memory>

#include "kernels/feature_maps.hpp"
#include "kernels/host/host_convolutions.hpp"

namespace pptrain {

/// By oneDNN and Kokkos, or products where oneDNN is missing.
class HostFeatureMaps final : public FeatureMaps {
 public:
  HostFeatureMaps();

  Convolutions& convolutions() override { return *convolutions_; }
  void max_pool_forward(const Window& window, const Matrix& x, const Matrix& y,
                        std::int32_t* chosen) override;
  void max_pool_backward(const Window& window, const Matrix& dy, const std::int32_t* chosen,
                         const Matrix& dx) override;
  void average_pool_forward(const Window& window, const Matrix& x, const Matrix& y) override;
  void average_pool_backward(const Window& window, const Matrix& dy, const Matrix& dx) override;
  void flatten(std::size_t samples, const Matrix& x, const Matrix& y, bool back) override;
  void enlarge(EnlargeKind kind, const MapSize& map, const Matrix& x, const Matrix& y) override;
  void enlarge_backward(EnlargeKind kind, const MapSize& map, const Matrix& dy,
                        const Matrix& dx) override;
  void order_tiles(const MapSize& map, std::int64_t side, const Matrix& x, const Matrix& y,
                   bool back) override;
  void square_loss(const Matrix& x, const float* goal, double factor, double* loss) override;
  void square_loss_gradient(const Matrix& x, const float* goal, float factor) override;
  void batch_moments(const Matrix& x, float* moments) override;
  void join_moments(const float* moments, const std::vector<double>& rows, std::size_t channels,
                    float* mean, float* variance) override;
  void update_running(float* running, const float* value, float share, float factor,
                      std::size_t channels) override;
  void count(float* counter) override;
  void batch_norm_forward(const BatchNormInput& input, const float* gain, const float* offset,
                          const Matrix& y) override;
  void batch_norm_sums(const BatchNormInput& input, const Matrix& dy, float* sums) override;
  void batch_norm_backward(const BatchNormInput& input, const Matrix& dy, const float* gain,
                           const float* sums, double rows, const Matrix& dx) override;

 private:
  std::unique_ptr<Convolutions> convolutions_;
};

}  // namespace pptrain
