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

  /// Of the device of a program; the two chunks beside the cut lie on different stages.
  const Crossing& at(const Program& program, Payload payload, int cut);

  /// First and last chunk each send what the other holds of the shared parameter's gradient, already summed over
  /// their replicas. Nothing on other stages, or where both lie on one.
  Crossing tied(const Program& program, std::int64_t vocabulary_size);

  /// The division of the first layer of a chunk, and of the last: the cuts before and behind it are between these.
  const Stage& entry_of(int chunk) const;
  const Stage& exit_of(int chunk) const;

 private:
  const Stage& stage_of(int chunk) const {
    return plan_.stages[places_[static_cast<std::size_t>(chunk)].stage.index()];
  }
  const Passage& across(Payload payload, int cut);
  const Passage& tied_to(int chunk, std::int64_t vocabulary_size);

  const Plan& plan_;
  const std::vector<ChunkPlace>& places_;
  TransferForms forms_;
  std::deque<StageParts> parts_;                                 // by stage
  std::map<std::pair<Payload, int>, Passage> passages_;          // by payload and cut; of tied gradients: the receiver
  std::map<std::tuple<Payload, int, int>, Crossing> crossings_;  // by payload, cut and device
};

}  // namespace pptrain
