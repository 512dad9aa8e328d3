#include "planners/judge/known_orders.hpp"

#include <utility>

namespace pptrain {

std::shared_ptr<const FoundOrders> KnownOrders::find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = orders_.find(key);
  return found == orders_.end() ? nullptr : found->second;
}

std::shared_ptr<const FoundOrders> KnownOrders::add(Key key, FoundOrders orders) {
  constexpr std::size_t most_kept_tasks = 4'000'000;
  std::size_t tasks = 0;
  for (const TaskOrder& order : orders.orders) tasks += order.size();
  auto kept = std::make_shared<const FoundOrders>(std::move(orders));
  const std::lock_guard lock(mutex_);
  if (kept_tasks_ + tasks > most_kept_tasks) {
    orders_.clear();
    kept_tasks_ = 0;
  }
  const auto [entry, is_new] = orders_.try_emplace(std::move(key), std::move(kept));
  if (is_new) kept_tasks_ += tasks;
  return entry->second;
}

}  // namespace pptrain
