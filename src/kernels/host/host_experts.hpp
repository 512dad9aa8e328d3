#pragma once

#include "kernels/experts.hpp"

namespace pptrain {

/// The shared bodies, launched by Kokkos.
class HostExperts final : public ExpertKernels {
 public:
  void choose(const Matrix& logits, bool normalised, const Matrix& choice) override;
  void limit(std::size_t experts, std::size_t sample, std::size_t capacity,
             const Matrix& choice) override;
  void choose_backward(const Matrix& logits, const Matrix& choice, bool normalised,
                       const Matrix& dchoice, const Matrix& dlogits) override;
  void sum(const Matrix& logits, const Matrix& choice, double* sums) override;
  void weighted_softmax_gradient(const Matrix& logits, const float* weights, double factor,
                                 const Matrix& dlogits) override;
  void count(const Matrix& choice, std::int64_t first, std::size_t experts,
             std::int32_t* counts) override;
  void place(const Matrix& choice, std::int64_t first, std::size_t experts,
             const std::int32_t* begins, std::int32_t* places) override;
  void dispatch(const ExpertPlaces& places, const Matrix& x, const Matrix& out) override;
  void combine(const ExpertPlaces& places, const Matrix& x, const Matrix& out) override;
  void take_weights(const ExpertPlaces& places, const Matrix& choice, float* weights) override;
  void give_weights(const ExpertPlaces& places, const float* of_places,
                    const Matrix& dchoice) override;
  void pack_choices(const ExpertPlaces& places, const Matrix& choice, float sender,
                    const Matrix& packed) override;
  void weigh(const Matrix& x, const float* weights, const Matrix& out) override;
  void row_products(const Matrix& x, const Matrix& y, float* products) override;
  void sigmoid(const Matrix& logits, float* weights) override;
  void sigmoid_backward(const float* dweights, const float* weights,
                        const Matrix& dlogits) override;
};

}  // namespace pptrain
