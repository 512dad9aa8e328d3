#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/execute/session.hpp"

namespace pptrain::test {

/// A value that tells parameter, quantity and element; exact in fp32.
inline float code(const std::string& name, int quantity, std::int64_t element) {
  const std::size_t key = std::hash<std::string>()(name) * 31 + static_cast<std::size_t>(quantity) * 7919;
  return static_cast<float>(1 + (key + static_cast<std::size_t>(element) * 5) % 0xfffff0);
}

/// Where a rank holds a value: twice where parts of a stage have a tied embedding each.
struct Places {
  std::vector<float*> all;
  void set(float value) const {
    for (float* place : all) *place = value;
  }
  bool hold(float value) const {
    return std::all_of(all.begin(), all.end(), [value](const float* place) { return *place == value; });
  }
};

/// By parameter, quantity and element.
using Values = std::map<std::tuple<std::string, int, std::int64_t>, Places>;

inline void add_values(const ParameterStore& store, const std::vector<std::vector<float*>>& state,
                       std::size_t first_run, Values& values) {
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
        values[{store.parameters()[p].spec.name, 0, elements[p][i]}].all.push_back(store.weight(p) + i);
      }
    }
  }
  const std::vector<OwnPart> own = store.own_parts();
  for (std::size_t run = 0; run < own.size(); ++run) {
    const OwnPart& part = own[run];
    const std::string& name = store.parameters()[part.parameter].spec.name;
    for (std::size_t i = 0; i < part.size; ++i) {
      const std::int64_t element = elements[part.parameter][static_cast<std::size_t>(part.begin) + i];
      if (store.sharding().shards_weights()) values[{name, 0, element}].all.push_back(part.weights + i);
      for (std::size_t k = 0; k < state.size(); ++k) {
        values[{name, static_cast<int>(k) + 1, element}].all.push_back(state[k][first_run + run] + i);
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
