#pragma once

#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/parts.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What a device does for one payload of one micro-batch at one cut, or for the tied gradients: instructions whose
/// micro-batch is to be filled in.
struct Crossing {
  std::vector<Instruction> receives;  ///< as posts
  std::vector<Instruction> gathers;   ///< of the received slices: one, or none
  std::vector<Instruction> sends;
};

/// The messages of a plan, resolved to devices. Each is found once and serves all micro-batches.
class Crossings {
 public:
  /// `plan` and `places` must outlive it.
  Crossings(const Plan& plan, const std::vector<ChunkPlace>& places, const TransferForms& forms);

  /// What crosses a cut at the device of a program; the two chunks beside the cut lie on different stages.
  const Crossing& at(const Program& program, Payload payload, int cut);

  /// Whether one part of a stage has the first and the last layer, so that it holds what they share once.
  bool ends_are_one() const;
  /// The ends of the shared parameter on the stage of a program, each with a copy of its own.
  std::vector<ChunkId> tied_ends(const Program& program) const;
  /// Both ends send each other their gradients of the shared parameter, already summed over their replicas: what the
  /// device does for the end `end`. What it has at the other end itself it hands over, among the sends there.
  Crossing tied(const Program& program, ChunkId end, std::int64_t vocabulary_size);

  /// The division of the first layer of a chunk, and of the last: the cuts before and behind it are between these.
  const Stage& entry_of(int chunk) const;
  const Stage& exit_of(int chunk) const;

 private:
  const Stage& mesh_of(ChunkId end) const {
    return end == tied_first ? entry_of(0) : exit_of(static_cast<int>(places_.size()) - 1);
  }
  const Passage& across(Payload payload, int cut);
  const Passage& tied_to(ChunkId end, std::int64_t vocabulary_size);

  const Plan& plan_;
  const std::vector<ChunkPlace>& places_;
  TransferForms forms_;
  std::deque<StageParts> parts_;                                 // by stage
  std::map<std::pair<Payload, int>, Passage> passages_;          // by payload and cut; of tied gradients: the end
  std::map<std::tuple<Payload, int, int>, Crossing> crossings_;  // by payload, cut and device
};

}  // namespace pptrain
