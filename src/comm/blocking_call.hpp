#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace pptrain {

/// How long calls of MPI that wait for other ranks without an end (starting it, making
/// communicators) may take, in this process; 0, as in the beginning: for ever.
class BlockingTimeout {
 public:
  /// Until it is destroyed; then what was before.
  explicit BlockingTimeout(double seconds);
  ~BlockingTimeout();
  /// What it is now.
  static double seconds();
  BlockingTimeout(const BlockingTimeout&) = delete;
  BlockingTimeout& operator=(const BlockingTimeout&) = delete;

 private:
  double before_;
};

/// While it lives this rank is in such a call. When that takes too long the process says so, names
/// the ranks of this host that are stopped, and ends with exit code 4, as no function of MPI could
/// be called beside.
class BlockingCall {
 public:
  /// `doing` is for the message: "making communicators".
  explicit BlockingCall(std::string doing);
  ~BlockingCall();
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

 private:
  void watch(double seconds);

  std::string doing_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace pptrain
