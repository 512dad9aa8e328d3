#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "plan/plan.hpp"

namespace pptrain {

/// A list of numbers as a key of a hash table.
struct NumbersHash {
  std::size_t operator()(const std::vector<std::int64_t>& numbers) const noexcept;
};

/// Numbers plans that are different (`same_plan`) by the order in which they come. Of thousands of
/// plans the devices and samples of stages, which few of them differ in, are kept once.
class KnownPlans {
 public:
  /// The plan's number; nothing when it was not added.
  std::optional<std::size_t> find(const Plan& plan) const;
  /// Adds the plan if it is not known; returns its number.
  std::size_t add(const Plan& plan);
  std::size_t size() const { return plans_.size(); }

 private:
  using Key = std::vector<std::int64_t>;
  using Numbers = std::unordered_map<Key, std::int64_t, NumbersHash>;

  template <class NumberOf>
  static Key key_of(const Plan& plan, const NumberOf& number_of);

  Numbers plans_;
  Numbers placements_;  // of stages
};

}  // namespace pptrain
