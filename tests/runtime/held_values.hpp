#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/execute/session.hpp"

namespace pptrain::test {

/// An element of a quantity of a parameter.
struct ValueKey {
  std::size_t parameter;  ///< hash of its name
  int quantity;
  std::int64_t element;
  bool operator==(const ValueKey&) const = default;
};

struct HashValueKey {
  std::size_t operator()(const ValueKey& key) const {
    return key.parameter + static_cast<std::size_t>(key.quantity) * 7919 +
           static_cast<std::size_t>(key.element) * 0x9e3779b97f4a7c15;
  }
};

/// A value that tells parameter, quantity and element; exact in fp32.
inline float code(const ValueKey& key) {
  const std::size_t number = key.parameter * 31 + static_cast<std::size_t>(key.quantity) * 7919;
  return static_cast<float>(1 + (number + static_cast<std::size_t>(key.element) * 5) % 0xfffff0);
}

/// Where a rank holds a value: twice where parts of a stage have a tied embedding each.
class Places {
 public:
  void add(float* place) { (first_ == nullptr ? first_ : second_) = place; }
  void set(float value) const {
    *first_ = value;
    if (second_ != nullptr) *second_ = value;
  }
  bool hold(float value) const { return *first_ == value && (second_ == nullptr || *second_ == value); }

 private:
  float* first_ = nullptr;
  float* second_ = nullptr;
};

using Values = std::unordered_map<ValueKey, Places, HashValueKey>;

inline void add_values(const ParameterStore& store, const std::vector<std::vector<RunState>>& state,
                       std::size_t first_run, Values& values) {
  const std::hash<std::string> hash;
  std::vector<std::vector<std::int64_t>> elements;
  for (const LocalParameter& parameter : store.parameters()) {
    elements.emplace_back();
    for (const Interval& run : parameter.elements) {
      for (std::int64_t e = run.begin; e < run.end; ++e) elements.back().push_back(e);
    }
  }
  if (!store.sharding().shards_weights()) {
    for (std::size_t p = 0; p < elements.size(); ++p) {
      for (std::size_t i = 0; i < elements[p].size(); ++i) {
        values[{hash(store.parameters()[p].spec.name), 0, elements[p][i]}].add(store.weight(p) + i);
      }
    }
  }
  const BufferStore& buffers = store.buffers();
  for (std::size_t b = 0; b < buffers.specs().size(); ++b) {
    for (std::int64_t e = 0; e < buffers.specs()[b].size(); ++e) {
      values[{hash(buffers.specs()[b].name), 0, e}].add(buffers.values(b) + e);
    }
  }
  const std::vector<OwnPart> own = store.own_parts();
  for (std::size_t run = 0; run < own.size(); ++run) {
    const OwnPart& part = own[run];
    const std::size_t name = hash(store.parameters()[part.parameter].spec.name);
    for (std::size_t i = 0; i < part.size; ++i) {
      const std::int64_t element = elements[part.parameter][static_cast<std::size_t>(part.begin) + i];
      if (store.sharding().shards_weights()) values[{name, 0, element}].add(part.weights + i);
      const std::vector<RunState>& kept = state[first_run + run];
      for (std::size_t k = 0; k < kept.size(); ++k) {
        values[{name, static_cast<int>(k) + 1, element}].add(kept[k].values + i);
      }
    }
  }
}

/// Every value that this rank holds; walks over the stores in its own way.
inline Values values_of(Session& session) {
  Values values;
  if (session.device() == nullptr) return values;
  std::size_t run = 0;  // of the optimizer, over all parts
  for (const auto& part : session.device()->parts()) {
    add_values(part->parameters(), session.optimizer()->state(), run, values);
    run += part->parameters().own_parts().size();
  }
  return values;
}

}  // namespace pptrain::test
