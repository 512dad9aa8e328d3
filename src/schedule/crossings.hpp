#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/parts.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What a device does for one payload of one micro-batch at one cut, or for the tied gradients:
/// instructions whose micro-batch is to be filled in.
struct Crossing {
  std::vector<Instruction> receives;  ///< as posts
  std::vector<Instruction> gathers;   ///< of the received slices: one, or none
  std::vector<Instruction> sends;
};

/// The messages of a passage by the devices at their ends, each device's in the order of the
/// passage.
class PassageEnds {
 public:
  PassageEnds() = default;
  explicit PassageEnds(Passage passage);

  /// The passage with all messages, whatever devices they are of.
  const Passage& passage() const { return passage_; }
  /// Calls `use(message)` for each message from a device, those to itself included.
  template <class Use>
  void for_each_from(DeviceId device, const Use& use) const {
    for_each(by_sender_, device, use);
  }
  /// Calls `use(message)` for each message to a device, those from itself included.
  template <class Use>
  void for_each_to(DeviceId device, const Use& use) const {
    for_each(by_receiver_, device, use);
  }

 private:
  using Index = std::vector<std::pair<DeviceId, int>>;  // ascending

  template <class Use>
  void for_each(const Index& index, DeviceId device, const Use& use) const {
    for (auto i = std::lower_bound(index.begin(), index.end(), std::pair(device, 0));
         i != index.end() && i->first == device; ++i) {
      use(passage_.messages[static_cast<std::size_t>(i->second)]);
    }
  }

  Passage passage_;
  Index by_sender_;
  Index by_receiver_;
};

/// The messages of a plan, resolved to devices. Each is found once and serves all micro-batches.
class Crossings {
 public:
  /// `plan` and `places` must outlive it.
  Crossings(const Plan& plan, const std::vector<ChunkPlace>& places, const CompileOptions& options);

  /// What crosses a cut at the device of a program; the two chunks beside the cut lie on different
  /// stages.
  const Crossing& at(const Program& program, Payload payload, int cut);

  /// Ends of the plan's tied parameters, by whose places `tied` calls them.
  const std::vector<TieEnd>& tie_ends() const { return ends_; }
  /// The ends of a tied parameter send each other their gradients of it, already summed over their
  /// replicas: what the device of a program has to do at the end `end` for what comes from, and
  /// goes to, the end `other`. What it has at the other end itself it hands over, among the sends
  /// there.
  Crossing tied(const Program& program, int end, int other);

  /// The division of the first layer of a chunk, and of the last: the cuts before and behind it are
  /// between these.
  const Mesh& entry_of(int chunk) const;
  /// Division of the last layer of a chunk.
  const Mesh& exit_of(int chunk) const;

 private:
  const Mesh& mesh_of(const TieEnd& end) const {
    return parts_[end.stage.index()].mesh_at(end.layer);
  }
  const PassageEnds& across(Payload payload, int cut);
  const PassageEnds& tied_to(int end, int from);

  const Plan& plan_;
  const std::vector<ChunkPlace>& places_;
  CompileOptions options_;
  std::vector<TieEnd> ends_;
  std::deque<StageParts> parts_;  // by stage
  using PassageKey = std::tuple<const Mesh*, const Mesh*, TransferForm>;
  std::map<PassageKey, PassageEnds> passages_;  // by the division that sends and the one that
                                                // receives
  std::map<std::pair<int, int>, PassageEnds> tied_passages_;     // by the end that receives and the
                                                                 // one that sends
  std::map<std::tuple<Payload, int, int>, Crossing> crossings_;  // by payload, cut and device
};

}  // namespace pptrain
