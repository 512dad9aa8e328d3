#pragma once

#include <memory>
#include <string>

namespace pptrain {

/// A transfer or collective that has been started.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Makes what progress it can without blocking; true once it has ended.
  virtual bool test() = 0;
  /// What is still missing, for the message of a timeout: "rank 3 of the group [1, 3]".
  virtual std::string missing() const = 0;
};

using PendingPtr = std::unique_ptr<Pending>;

}  // namespace pptrain
