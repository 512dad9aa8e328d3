#pragma once

#include <map>
#include <vector>

#include "nn/layer.hpp"
#include "tensor/arena.hpp"

namespace pptrain {

/// What layers keep from forward to backward, in memory of the host: a layer's goes there while the
/// next layer runs, and comes back while the layer runs whose backward pass is before its own. So a
/// device holds that of the layer at work and of one neighbour, however many micro-batches are
/// under way; when it lets go of memory follows from the program alone.
class ActivationOffload {
 public:
  /// `device`: the arena of the layers.
  explicit ActivationOffload(Arena& device)
      : device_(device), host_(0, {}, device.device().host_memory()) {}
  ActivationOffload(const ActivationOffload&) = delete;
  ActivationOffload& operator=(const ActivationOffload&) = delete;

  /// The layer's forward has been called: starts sending what it keeps.
  void send(Saved& saved);
  /// A pass of another layer has been called since the last `send`: what that sends is let go of
  /// once it is away.
  void let_go();
  /// Starts bringing back what was sent.
  void fetch(Saved& saved);
  /// What is called from now on finds it there. Does nothing where it was not sent.
  void require(Saved& saved);

 private:
  /// One tensor.
  struct Kept {
    Tensor* tensor;
    Matrix shape;
    Buffer host;
    DeviceWorkPtr copy;  ///< there or back
  };
  enum class Place { leaving, host, coming };
  struct Sent {
    Place place = Place::leaving;
    std::vector<Kept> tensors;
  };

  void let_go(Sent& sent);

  Arena& device_;
  Arena host_;
  std::map<Saved*, Sent> sent_;
};

}  // namespace pptrain
