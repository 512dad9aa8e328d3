#pragma once

#include <memory>
#include <vector>

#include "kernels/expert_order.hpp"
#include "nn/layer.hpp"

namespace pptrain {

/// The gradient of a value, or a part of one that several values share.
struct Gradient {
  std::shared_ptr<Tensor> owner;
  Matrix matrix;
  /// The same numbers in the type of products, where somebody has made them; else null.
  std::shared_ptr<Tensor> converted;

  /// Whether there is a gradient yet.
  explicit operator bool() const { return owner != nullptr; }
  /// Whether nobody else reads it, so that it may be written.
  bool is_own() const { return owner.use_count() == 1 && matrix.data == owner->matrix().data; }
};

Gradient make_gradient(Tensor tensor);

/// What one micro-batch has of the values of a layer's operators, from the forward to the backward
/// passes.
class Pass final : public Saved {
 public:
  Pass(std::size_t num_values, std::size_t num_operators, std::optional<ValueIndex> input)
      : values(num_values),
        parts(num_values),
        gradients(num_values),
        statistics(num_operators),
        orders(num_values),
        input_(input) {}

  Tensor take_input() override { return input_ ? std::move(values[*input_]) : Tensor(); }
  std::vector<Tensor*> kept() override;

  /// Gives back the memory of all values and gradients, which nothing reads any more.
  void clear();

  /// A value as operators read it.
  Matrix matrix(ValueIndex v) const;

  /// Columns of a value that are those of another one, whose memory may move.
  struct Part {
    std::optional<ValueIndex> of;
    std::size_t first = 0;
    std::size_t columns = 0;  ///< with `of` nothing: that are seen of the value's own tensor; 0:
                              ///< all
    Matrix samples;           ///< with data: memory of the batch
  };

  std::vector<Tensor> values;
  std::vector<Part> parts;
  std::vector<Gradient> gradients;
  std::vector<std::vector<Tensor>> statistics;  ///< of each operator: what B needs beside values
  std::vector<std::shared_ptr<const ExpertOrder>> orders;  ///< of rows, by the router's result;
                                                           ///< null: not yet made

 private:
  std::optional<ValueIndex> input_;
};

}  // namespace pptrain
