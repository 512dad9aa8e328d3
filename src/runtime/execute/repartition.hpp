#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "comm/waiter.hpp"
#include "plan/parts.hpp"
#include "runtime/places/role.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// Activations between two parts of a stage that are divided differently, over the same devices:
/// each device keeps of what it has what it needs, and gets the samples that it lacks from one of
/// the devices that hold them.
class Repartition {
 public:
  struct Context {
    const RankMap& map;
    Transport& transport;
    Waiter& waiter;
    Arena& arena;
    int device_of_stage;  ///< this one
    int tag;              ///< two, of messages between the devices of the stage
    std::size_t sample_rows;
  };
  Repartition(const Mesh& before, const Mesh& after, const Context& context);

  /// x: the samples of `before`; returns those of `after`, H columns. Collective over the stage;
  /// `beside` is moved on while this waits.
  Tensor forward(Tensor x, Pending& beside) const;
  /// The gradient, from `after` to `before`.
  Tensor backward(Tensor gradient, Pending& beside) const;

 private:
  struct Part {
    RankId peer;
    Interval samples;
  };
  /// What this device does in one direction.
  struct Moves {
    Interval held;
    Interval needed;
    std::vector<Part> sends;
    std::vector<Part> receives;
    int tag = 0;
  };
  Moves moves(const Mesh& from, const Mesh& to, int tag) const;
  Tensor run(const Moves& moves, Tensor x, Pending& beside) const;
  void wait(Pending& pending, Pending& beside) const;

  Context context_;
  Moves forward_;
  Moves backward_;
};

}  // namespace pptrain
