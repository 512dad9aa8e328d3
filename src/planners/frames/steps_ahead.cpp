#include "planners/frames/steps_ahead.hpp"

#include <algorithm>

namespace pptrain {

TriedStep try_step(PlanSimulator& simulator, const Step& step) {
  TriedStep tried;
  tried.can = simulator.can(step.plan);
  if (!tried.can) return tried;
  if (step.orders) {
    tried.in_order = simulator.in_orders(step.plan, *step.orders);
    if (tried.in_order->iteration_seconds >= step.most_seconds || !tried.in_order->why_not.empty())
      return tried;
  }
  tried.own = simulator.against(step.plan, step.best);
  return tried;
}

class StepsAhead::Task {
 public:
  explicit Task(Step step) : step(std::move(step)) {}

  Step step;
  TriedStep result;
  std::exception_ptr failure;
  bool done = false;
};

bool StepsAhead::is_served() {
  const std::lock_guard lock(mutex_);
  return num_serving_ > 0;
}

std::shared_ptr<StepsAhead::Task> StepsAhead::offer(Step step) {
  auto task = std::make_shared<Task>(std::move(step));
  const std::lock_guard lock(mutex_);
  waiting_.push_back(task);
  changed_.notify_all();
  return task;
}

void StepsAhead::withdraw(const std::shared_ptr<Task>& task) {
  const std::lock_guard lock(mutex_);
  std::erase(waiting_, task);
}

TriedStep StepsAhead::result_of(const std::shared_ptr<Task>& task, PlanSimulator& simulator) {
  std::unique_lock lock(mutex_);
  while (!task->done) {
    const auto place = std::find(waiting_.begin(), waiting_.end(), task);
    if (place == waiting_.end() && waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const std::shared_ptr<Task> next = place != waiting_.end() ? task : waiting_.front();
    std::erase(waiting_, next);
    run(next, simulator, lock);
  }
  if (task->failure) std::rethrow_exception(task->failure);
  return std::move(task->result);
}

void StepsAhead::end_search() {
  const std::lock_guard lock(mutex_);
  --num_searches_;
  changed_.notify_all();
}

void StepsAhead::serve(PlanSimulator& simulator) {
  std::unique_lock lock(mutex_);
  ++num_serving_;
  changed_.notify_all();
  while (num_searches_ > 0) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const std::shared_ptr<Task> next = waiting_.front();
    waiting_.pop_front();
    run(next, simulator, lock);
  }
}

void StepsAhead::run(const std::shared_ptr<Task>& task, PlanSimulator& simulator,
                     std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  TriedStep result;
  std::exception_ptr failure;
  try {
    result = try_step(simulator, task->step);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  task->result = std::move(result);
  task->failure = failure;
  task->done = true;
  changed_.notify_all();
}

}  // namespace pptrain
