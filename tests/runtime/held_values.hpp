#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/execute/session.hpp"

namespace pptrain::test {

/// An element of a quantity of a parameter.
struct ValueKey {
  std::size_t parameter;  ///< hash of its name
  int quantity;
  std::int64_t element;
  auto operator<=>(const ValueKey&) const = default;
};

/// A value that tells parameter, quantity and element; exact in fp32.
inline float code(const ValueKey& key) {
  const std::size_t number = key.parameter * 31 + static_cast<std::size_t>(key.quantity) * 7919;
  return static_cast<float>(1 + (number + static_cast<std::size_t>(key.element) * 5) % 0xfffff0);
}

/// Values that a rank holds, by key. A value has two places where parts of a stage have a tied
/// embedding each.
class HeldValues {
 public:
  using Place = std::pair<ValueKey, float*>;

  explicit HeldValues(std::vector<Place> places) : places_(std::move(places)) {
    std::ranges::sort(places_);
  }

  /// All places, those of one value one after the other.
  const std::vector<Place>& places() const { return places_; }
  bool contains(const ValueKey& key) const {
    const auto place = std::ranges::lower_bound(places_, key, {}, &Place::first);
    return place != places_.end() && place->first == key;
  }

 private:
  std::vector<Place> places_;
};

inline void add_places(const ParameterStore& store, const std::vector<std::vector<RunState>>& state,
                       std::size_t first_run, std::vector<HeldValues::Place>& places) {
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
        places.push_back(
            {{hash(store.parameters()[p].spec.name), 0, elements[p][i]}, store.weight(p) + i});
      }
    }
  }
  const BufferStore& buffers = store.buffers();
  for (std::size_t b = 0; b < buffers.specs().size(); ++b) {
    for (std::int64_t e = 0; e < buffers.specs()[b].size(); ++e) {
      places.push_back({{hash(buffers.specs()[b].name), 0, e}, buffers.values(b) + e});
    }
  }
  const std::vector<OwnPart> own = store.own_parts();
  for (std::size_t run = 0; run < own.size(); ++run) {
    const OwnPart& part = own[run];
    const std::size_t name = hash(store.parameters()[part.parameter].spec.name);
    for (std::size_t i = 0; i < part.size; ++i) {
      const std::int64_t element =
          elements[part.parameter][static_cast<std::size_t>(part.begin) + i];
      if (store.sharding().shards_weights())
        places.push_back({{name, 0, element}, part.weights + i});
      const std::vector<RunState>& kept = state[first_run + run];
      for (std::size_t k = 0; k < kept.size(); ++k) {
        places.push_back({{name, static_cast<int>(k) + 1, element}, kept[k].values + i});
      }
    }
  }
}

/// Every value that this rank holds; walks over the stores in its own way.
inline HeldValues values_of(Session& session) {
  std::vector<HeldValues::Place> places;
  if (session.device() == nullptr) return HeldValues({});
  std::size_t run = 0;  // of the optimizer, over all parts
  for (const auto& part : session.device()->parts()) {
    add_places(part->parameters(), session.optimizer()->state(), run, places);
    run += part->parameters().own_parts().size();
  }
  return HeldValues(std::move(places));
}

}  // namespace pptrain::test
