#pragma once

#include "kernels/feature_maps.hpp"
#include "kernels/gemm.hpp"

/// C++17.
namespace pptrain::kernels {

/// Convolutions as products: the patches of some samples at a time are (places, C * window), a row
/// as (channel, row, column), so that the forward pass and both gradients are products with the
/// weight as it is. A window of one pixel at every pixel needs no patches: they are the map. A
/// device says how patches are made.
class PatchConvolutions : public Convolutions {
 public:
  explicit PatchConvolutions(Gemm& gemm) : gemm_(gemm) {}

  void forward(const ConvolutionForm& form, const Matrix& x, const Matrix& weight,
               const float* bias, const Matrix& y) override;
  void backward_input(const ConvolutionForm& form, const Matrix& dy, const Matrix& weight,
                      const Matrix& dx) override;
  void backward_weight(const ConvolutionForm& form, const Matrix& x, const Matrix& dy,
                       float* dweight) override;

 protected:
  /// Room for patches, until the next call.
  virtual Matrix room(std::size_t rows, std::size_t columns, DType type) = 0;
  /// patches = what lies under each place of the window of x, zeros in the padding, in the type of
  /// `patches`.
  virtual void gather(const Window& window, const Matrix& x, const Matrix& patches) = 0;
  /// dx = the sum of the patches that each number of the map is in, place by place; patches are
  /// f32.
  virtual void scatter(const Window& window, const Matrix& patches, const Matrix& dx) = 0;
  /// The map in the type of factors: itself, or a copy until the next call.
  virtual Matrix rounded(const Matrix& map, DType factors) = 0;

 private:
  Matrix patches_of(const ConvolutionForm& form, const Matrix& x, std::size_t places);

  Gemm& gemm_;
};

}  // namespace pptrain::kernels
