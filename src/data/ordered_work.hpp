#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace pptrain {

/// Work on several threads whose results come in the order of the items.
///
/// `Next` is called as `std::optional<Item> next()`, by one thread at a time; nothing ends the
/// work. `MakeWorker` is called by each thread and returns what makes a `Result` of an `Item`
/// there. An exception comes out where its result would have, so that the first item at fault is
/// told whatever the number of threads.
template <class Item, class Result, class Next, class MakeWorker>
class OrderedWork {
 public:
  OrderedWork(int num_threads, Next next, MakeWorker make_worker)
      : next_(std::move(next)),
        make_worker_(std::move(make_worker)),
        most_ahead_(4 * static_cast<std::size_t>(num_threads)) {
    for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~OrderedWork() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  /// The next result; nothing when all items are done.
  std::optional<Result> result() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_.contains(used_) || (stopped_ && used_ == given_); });
    const auto found = done_.find(used_);
    if (found == done_.end()) return std::nullopt;
    Outcome outcome = std::move(found->second);
    done_.erase(found);
    ++used_;
    lock.unlock();
    changed_.notify_all();
    if (outcome.error) std::rethrow_exception(outcome.error);
    return std::move(outcome.result);
  }

 private:
  struct Outcome {
    std::optional<Result> result = {};
    std::exception_ptr error = {};
  };

  /// The next item with its place, when the results so far are not too many.
  std::optional<std::pair<std::size_t, Item>> item() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || given_ - used_ < most_ahead_; });
    if (stopped_) return std::nullopt;
    std::optional<Item> next;
    try {
      next = next_();
    } catch (...) {
      done_.insert({given_++, {{}, std::current_exception()}});
    }
    if (next) return std::pair(given_++, std::move(*next));
    stopped_ = true;
    lock.unlock();
    changed_.notify_all();
    return std::nullopt;
  }

  void work() {
    auto worker = make_worker_();
    while (std::optional<std::pair<std::size_t, Item>> given = item()) {
      Outcome outcome;
      try {
        outcome.result = worker(given->second);
      } catch (...) {
        outcome.error = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        done_.insert({given->first, std::move(outcome)});
      }
      changed_.notify_all();
    }
  }

  Next next_;
  MakeWorker make_worker_;
  std::size_t most_ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Outcome> done_;
  std::size_t given_ = 0;
  std::size_t used_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pptrain
