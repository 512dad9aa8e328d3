#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program/program.hpp"
#include "runtime/execute/executor_parts.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// What crosses cuts to this device and from it, and the gradients of tied parameters that other
/// ends have: receives into whole micro-batches, sends of parts of them.
class BoundaryMessages {
 public:
  /// What comes together: a payload at a cut, or of a tie.
  using Key = std::pair<Payload, Place>;

  explicit BoundaryMessages(const ExecutorParts& parts);

  /// Starts receiving; the task that needs the data takes it by `take_input` when it has come.
  void post_receive(const Instruction& instruction);
  /// Waits until that receive has arrived, while what was started between the replicas goes on.
  void wait_receive(const Instruction& instruction);
  /// Waits until all that need the same have each other's slices of it. Collective over these.
  void gather_received(const Instruction& instruction);
  /// Starts sending a part of the output of the task before, or of a tied gradient.
  void send(const Instruction& instruction);
  /// Makes the output of the task before the input of a later task of this device; for a tied
  /// gradient what this device has at another end.
  void hand_over(const Instruction& instruction);
  /// Adds up the gradients of all ends in the order of the ends, so that every end has the same
  /// sum.
  void add_tied_gradients(int end);

  /// What has come for a task, which owns it from now on.
  Tensor take_input(const Key& key);
  /// What a task gives; the sends that follow it in the program share it until they end.
  void put_output(const Key& key, Tensor output);
  /// Lets go of what the last task gave, which no more sends follow.
  void drop_output() { output_.reset(); }

  /// Waits for a transfer, while what was started between the replicas goes on.
  void wait(Pending& transfer);
  /// Waits until everything that was sent has left; `doing` is for the message of a timeout.
  void wait_for_sends(const std::function<std::string()>& doing);
  /// Frees the memory of sends that have ended.
  void release_sent();

 private:
  struct Incoming {
    Tensor data;
    std::map<std::int64_t, PendingPtr> parts;  // by first sample or row
  };
  struct Outgoing {
    std::shared_ptr<Tensor> data;
    PendingPtr pending;
  };
  /// An end of a tied parameter on this device: the part that has it, and the parameter's place and
  /// rows there.
  struct TiedCopy {
    PartModel& part;
    const Tie& tie;
    Interval rows;
    /// Unit of the tied parameter in the part's store.
    std::size_t unit() const { return part.tied_unit(tie); }
    /// Gradient of this copy, in the device's memory, where sums over the replicas lie.
    Matrix gradient() const { return part.parameters().gradient_in_unit(part.tied_parameter(tie)); }
  };
  TiedCopy tied_copy(int end) const;
  bool is_last_of_unit(int end) const;
  Interval held(const Instruction& instruction) const;
  Port unit_of(const Instruction& instruction) const;
  Interval elements_of(const Instruction& instruction, Interval interval, Interval held) const;
  Incoming& incoming_of(const Instruction& instruction);
  Tensor repartitioned(const Instruction& instruction, Tensor x) const;
  int tag_of(const Instruction& instruction) const;

  ExecutorParts parts_;
  std::vector<TieEnd> ends_;     ///< of the tied parameters
  std::vector<Port> cut_ports_;  ///< what crosses behind each chunk but the last
  std::map<Key, Incoming> incoming_;
  Key output_key_;                  ///< of the last task; its sends follow it in the program
  std::shared_ptr<Tensor> output_;  ///< shared with the sends under way
  std::list<Outgoing> outgoing_;
};

}  // namespace pptrain
