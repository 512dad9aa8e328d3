#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "model/folds/kept_values.hpp"
#include "nn/fusions.hpp"
#include "nn/pass.hpp"

namespace pptrain {

/// What an operator's module runs on, and where it stands in its layer. The layer's context
/// outlives it.
struct OperatorPlace {
  LayerContext& context;
  const OperatorList& list;
  FusedOperator fused;
  std::size_t index = 0;
  std::vector<std::size_t> parameters;  ///< of the layer, in the store
};

/// Runs the three passes of one operator over a `Pass`. The functions are Collective over the
/// tensor-parallel group.
class OperatorModule {
 public:
  explicit OperatorModule(OperatorPlace place) : place_(std::move(place)) {}
  virtual ~OperatorModule() = default;

  /// Makes the result, in `pass`, from the inputs there; a loss is added to what `batch` names.
  /// What B needs beside values goes to `Pass::statistics`.
  virtual void forward(Batch& batch, Pass& pass) = 0;
  /// Makes the gradients of the inputs from the result's. What W needs of values that were not kept
  /// is made again.
  virtual void backward_input(const Batch& batch, Pass& pass) = 0;
  /// Adds the gradients of the operator's parameters to the store's, after `backward_input`. By
  /// default there are none.
  virtual void backward_weight(const Batch& /*batch*/, Pass& /*pass*/) {}
  /// Whether W reads the gradient of the result.
  virtual bool weight_reads_gradient() const { return false; }

  /// The operator, and which other kernels compute part of its work.
  const FusedOperator& fused() const { return place_.fused; }

 protected:
  LayerContext& context() const { return place_.context; }
  Kernels& kernels() const { return place_.context.backend.kernels; }
  ExpertKernels& experts() const { return place_.context.backend.experts; }
  FeatureMaps& feature_maps() const;
  Arena& arena() const { return place_.context.arena; }
  Communicator& group() const { return place_.context.tensor_group; }
  ParameterStore& store() const { return place_.context.parameters; }
  const Operator& op() const { return place_.fused.op; }
  ValueIndex input(std::size_t i = 0) const { return op().inputs[i]; }
  ValueIndex output() const { return *op().output; }
  const OperatorList& list() const { return place_.list; }
  const Value& value(ValueIndex v) const { return place_.list.values[v]; }

  /// Index in the store of the operator's parameter `i`, and its values.
  std::size_t parameter(std::size_t i) const { return place_.parameters[op().parameters[i]]; }
  const float* weight(std::size_t i) const { return store().weight(parameter(i)); }
  std::size_t parameter_of_layer(std::size_t i) const { return place_.parameters[i]; }

  DType type_of(Element element) const {
    return element == Element::fp32 ? DType::f32 : context().type;
  }
  std::size_t rows(const Batch& batch, ValueIndex v) const {
    return batch.samples * static_cast<std::size_t>(value(v).rows);
  }
  /// Columns of a value that this member has.
  std::size_t columns(ValueIndex v) const;
  /// The part of the value's axis that this member has.
  Interval part(ValueIndex v) const { return context().part(value(v).divided.axis); }
  /// Whether B writes the result once more, since it is not kept.
  bool makes_again() const { return needs_of(op(), place_.list, context().recompute).made_again; }
  /// Whether the input are numbers of the samples, or a part of them.
  bool reads_samples() const { return are_samples(place_.list, input()); }
  /// A tensor for a value, or for its gradient.
  Tensor new_value(const Batch& batch, ValueIndex v) const;
  Tensor new_gradient(const Batch& batch, ValueIndex v) const;

  std::vector<Tensor>& statistics(Pass& pass) const { return pass.statistics[place_.index]; }

  /// Adds a gradient of a value that is there as a whole.
  void add_gradient(Pass& pass, ValueIndex v, Gradient gradient) const;
  /// The gradient of a value as memory that may be written.
  Matrix own_gradient(Pass& pass, ValueIndex v) const;
  /// The matrix in an element type: itself, or a converted copy that `copy` holds.
  Matrix as_type(DType type, const Matrix& x, Tensor& copy) const;
  /// The matrix in the element type of products: itself, or a converted copy that `copy` holds.
  Matrix as_compute(const Matrix& x, Tensor& copy) const {
    return as_type(context().type, x, copy);
  }

 private:
  OperatorPlace place_;
};

/// The module of an operator.
std::unique_ptr<OperatorModule> make_operator(OperatorPlace place);

/// Makes the module of an operator, as `make_operator` does.
using OperatorFactory = std::function<std::unique_ptr<OperatorModule>(OperatorPlace)>;

}  // namespace pptrain
