#pragma once

#include "nn/operator_module.hpp"

/// The table of operators: for every kind of `model/operators.hpp` what makes its module.
namespace pptrain {

std::unique_ptr<OperatorModule> make_module(const op::Embedding& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Features& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Scaling& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Norm& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Linear& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Rotary& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::SelfAttention& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Activate& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Gate& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Addition& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Conversion& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Enter& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Sum& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Gather& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Take& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Split& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Join& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Loss& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::ClassToken& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Dropout& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Router& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Dispatch& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::ExpertLinear& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::WeightedGate& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Combine& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::ExpertBalance& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::SendChoices& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::SendRows& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::ReturnRows& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Convolution& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::BatchNorm& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Pool& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Flatten& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Reshape& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Places& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Enlarge& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::Tiles& kind, OperatorPlace place);
std::unique_ptr<OperatorModule> make_module(const op::SquareLoss& kind, OperatorPlace place);

}  // namespace pptrain
