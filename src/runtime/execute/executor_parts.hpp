#pragma once

#include <optional>
#include <vector>

#include "kernels/kernels.hpp"
#include "model/model.hpp"
#include "optim/optimizer.hpp"
#include "program/ties.hpp"
#include "runtime/execute/device_model.hpp"
#include "runtime/execute/groups.hpp"
#include "runtime/execute/model_balance.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {

/// What an executor works with, which outlives it. On a rank that the plan leaves out `device` and
/// `optimizer` may be null; such a rank takes part in sums over all ranks only.
struct ExecutorParts {
  const Model& model;
  const Plan& plan;
  const std::vector<Tie>& ties;
  const RankMap& map;
  std::optional<Role> role;
  DeviceModel* device;
  Optimizer* optimizer;
  RankGroups& groups;
  Waiter& waiter;
  Arena& arena;
  Kernels& kernels;
  ModelBalance* model_balance = nullptr;  ///< of a job whose experts are balanced over all layers;
                                          ///< else null
};

}  // namespace pptrain
