#include "program/model_ties.hpp"

#include "base/error.hpp"

namespace pptrain {

std::vector<Tie> ties_of(const Model& model, double gradient_bytes) {
  std::vector<Tie> ties;
  for (const SharedParameter& shared : model.shared_parameters()) {
    const ParameterSpec& spec = *shared.spec;
    const bool is_divided = spec.axis != ShardAxis::none;
    PPTRAIN_ASSERT(!is_divided || (spec.dimension == 0 && spec.groups == 1 && spec.unit == 1 &&
                                   spec.sharing == 1),
                   "{} is tied and not divided row by row", spec.name);
    const auto rows = spec.shape.front();
    ties.push_back({spec.name, shared.layers, is_divided ? to_string(spec.axis) : "", rows,
                    static_cast<double>(spec.size() / rows) * gradient_bytes});
  }
  return ties;
}

}  // namespace pptrain
