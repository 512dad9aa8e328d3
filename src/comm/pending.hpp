#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace pptrain {

/// What a transfer that has ended misses.
inline constexpr const char* nothing_missing = "nothing";

/// A transfer or collective that has been started.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Makes what progress it can without blocking; true once it has ended.
  virtual bool test() = 0;
  /// Orders what this rank's device is told from now on behind the transfer; true once that is so,
  /// which on a device that orders transfers itself is before they have ended. Never blocks.
  virtual bool join() { return test(); }
  /// What is still missing, for the message of a timeout: "rank 3 of the group [1, 3]".
  virtual std::string missing() const = 0;
};

using PendingPtr = std::unique_ptr<Pending>;

/// A transfer beside which something else goes on: testing it moves that on too.
class PendingBeside final : public Pending {
 public:
  PendingBeside(Pending& transfer, std::function<void()> beside)
      : transfer_(transfer), beside_(std::move(beside)) {}
  bool test() override {
    beside_();
    return transfer_.test();
  }
  bool join() override {
    beside_();
    return transfer_.join();
  }
  std::string missing() const override { return transfer_.missing(); }

 private:
  Pending& transfer_;
  std::function<void()> beside_;
};

}  // namespace pptrain
