#pragma once

#include <cstdint>
#include <vector>

#include "base/interval.hpp"

namespace pptrain {

/// Elements that one rank sends to another.
struct Move {
  int from = 0;
  int to = 0;
  Interval elements;
  bool operator==(const Move&) const = default;
};

/// Sorted intervals without overlap: elements of a parameter that a rank holds or needs.
using Runs = std::vector<Interval>;

/// What both hold, and what of `a` is not in `b`; each result lies within one run of `a`.
Runs common_runs(const Runs& a, const Runs& b);
Runs without(const Runs& a, const Runs& b);

/// Chooses who sends what, so that every element goes once to every rank that needs it and does not
/// hold it: of those that hold it one on the receiver's node where there is one, of these the one
/// that has been given least to send so far. All ranks that ask in the same order get the same
/// answer.
class MoveChoice {
 public:
  /// `nodes[r]` is the node of rank r.
  explicit MoveChoice(std::vector<int> nodes) : nodes_(std::move(nodes)), sent_(nodes_.size(), 0) {}

  /// Moves of one quantity of a parameter; rank r has held[r] and needs needed[r]. Each move lies
  /// within one run of its sender and one of its receiver. Throws `Error` (exit code 4) when nobody
  /// holds what is needed.
  std::vector<Move> choose(const std::vector<Runs>& held, const std::vector<Runs>& needed);

 private:
  int choose_sender(const std::vector<int>& holders, int receiver) const;

  std::vector<int> nodes_;
  std::vector<std::int64_t> sent_;  ///< elements, by rank
};

}  // namespace pptrain
