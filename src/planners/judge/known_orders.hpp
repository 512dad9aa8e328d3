#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "schedule/schedule.hpp"

namespace pptrain {

/// Orders of tasks that were searched, for whoever needs the same again: plans with the same times
/// and memory, and simulators of several threads. What is kept fills some 50 MB at most.
class KnownOrders {
 public:
  /// Schedule, V, unit, stages, micro-batches and what else their order depends on.
  using Key = std::tuple<std::string, int, int, int, std::int64_t, OrderOptions>;

  /// The orders with this key; null where they are not known.
  std::shared_ptr<const FoundOrders> find(const Key& key) const;
  /// Keeps orders, unless another thread has kept the same; returns what is kept.
  std::shared_ptr<const FoundOrders> add(Key key, FoundOrders orders);

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<const FoundOrders>> orders_;
  std::size_t kept_tasks_ = 0;
};

}  // namespace pptrain
