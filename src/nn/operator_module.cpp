#include "nn/operator_module.hpp"

#include "base/error.hpp"

namespace pptrain {

FeatureMaps& OperatorModule::feature_maps() const {
  PPTRAIN_ASSERT(place_.context.backend.feature_maps != nullptr,
                 "a feature map on a device that computes none");
  return *place_.context.backend.feature_maps;
}

std::size_t OperatorModule::columns(ValueIndex v) const {
  const Value& of = value(v);
  return static_cast<std::size_t>(of.has_all_columns() ? of.columns : of.divided.size_of(part(v)));
}

Tensor OperatorModule::new_value(const Batch& batch, ValueIndex v) const {
  return {arena(), rows(batch, v), columns(v), type_of(value(v).element)};
}

Tensor OperatorModule::new_gradient(const Batch& batch, ValueIndex v) const {
  return {arena(), rows(batch, v), columns(v),
          value(v).is_whole() ? DType::f32 : type_of(value(v).element)};
}

void OperatorModule::add_gradient(Pass& pass, ValueIndex v, Gradient gradient) const {
  Gradient& sum = pass.gradients[v];
  if (!sum) {
    sum = std::move(gradient);
    return;
  }
  PPTRAIN_ASSERT(sum.matrix.type == DType::f32 && gradient.matrix.type == DType::f32,
                 "gradients of value {}", v);
  if (!sum.is_own() && gradient.is_own()) std::swap(sum, gradient);
  kernels().add(gradient.matrix.f32(), own_gradient(pass, v).f32(), sum.matrix.size());
}

Matrix OperatorModule::own_gradient(Pass& pass, ValueIndex v) const {
  Gradient& gradient = pass.gradients[v];
  gradient.converted = nullptr;  // whoever writes makes other numbers
  if (gradient.is_own()) return gradient.matrix;
  Tensor copy(arena(), gradient.matrix.rows, gradient.matrix.columns, gradient.matrix.type);
  kernels().convert(gradient.matrix, copy);
  gradient = make_gradient(std::move(copy));
  return gradient.matrix;
}

Matrix OperatorModule::as_type(DType type, const Matrix& x, Tensor& copy) const {
  if (x.type == type) return x;
  copy = Tensor(arena(), x.rows, x.columns, type);
  kernels().convert(x, copy);
  return copy;
}

}  // namespace pptrain
