#include "nn/operators/modules.hpp"

namespace pptrain {

std::unique_ptr<OperatorModule> make_operator(OperatorPlace place) {
  const Operator::Kind kind = place.fused.op.kind;
  return std::visit([&](const auto& of_kind) { return make_module(of_kind, std::move(place)); },
                    kind);
}

}  // namespace pptrain
