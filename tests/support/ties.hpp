#pragma once

#include "plan/plan.hpp"
#include "program/ties.hpp"

namespace pptrain::test {

inline std::int64_t num_layers(const Plan& plan) {
  std::int64_t end = 0;
  for (const Stage& stage : plan.stages) {
    for (const Interval& layers : stage.layers) end = std::max(end, layers.end);
  }
  return end;
}

/// A table of tokens that the first and the last of so many layers share; `row_bytes` of its
/// gradient.
inline std::vector<Tie> token_tie(std::int64_t num_layers, std::int64_t rows,
                                  double row_bytes = 4.0) {
  if (num_layers < 2) return {};
  return {{"wte.weight", {0, num_layers - 1}, "vocabulary", rows, row_bytes}};
}

/// A table of tokens that the first, a middle and the last of so many layers read, and a parameter
/// that all members of a group have whole and every second layer reads.
inline std::vector<Tie> many_ties(std::int64_t num_layers, std::int64_t rows,
                                  double row_bytes = 4.0) {
  std::vector<Tie> ties = token_tie(num_layers, rows, row_bytes);
  if (num_layers > 2) ties[0].layers.insert(ties[0].layers.begin() + 1, num_layers / 2);
  Tie whole = {"bias.weight", {}, "", 32, row_bytes};
  for (std::int64_t layer = 1; layer < num_layers; layer += 2) whole.layers.push_back(layer);
  if (whole.layers.size() > 1) ties.push_back(whole);
  return ties;
}

/// Ties of all layers of a plan's model.
inline std::vector<Tie> token_tie(const Plan& plan, std::int64_t rows) {
  return token_tie(num_layers(plan), rows);
}
inline std::vector<Tie> many_ties(const Plan& plan, std::int64_t rows) {
  return many_ties(num_layers(plan), rows);
}

}  // namespace pptrain::test
