#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace pptrain {

/// How data that several devices need alike comes to them.
enum class TransferForm {
  whole,   ///< a copy for each of them
  slices,  ///< a slice for each of them, which they then gather over their own links: each byte is
           ///< sent once
};

/// What crosses a cut. Without tensor parallelism on either side both forms are the same.
struct CutForms {
  TransferForm activation = TransferForm::whole;
  TransferForm gradient = TransferForm::whole;
  bool operator==(const CutForms&) const = default;
};

/// The forms of all transfers of a plan.
struct TransferForms {
  std::vector<CutForms> cuts = {};      ///< by the chunk before the cut; empty: whole
  std::vector<TransferForm> ties = {};  ///< of the gradients of each tied parameter; those not
                                        ///< there are whole
  /// Forms of what crosses the cut behind chunk `cut`.
  CutForms at(int cut) const {
    return cuts.empty() ? CutForms{} : cuts[static_cast<std::size_t>(cut)];
  }
  /// Form in which ends of tied parameter `tie`, by its place in the list of ties, exchange
  /// gradients.
  TransferForm of_tie(int tie) const {
    const auto place = static_cast<std::size_t>(tie);
    return place < ties.size() ? ties[place] : TransferForm::whole;
  }
};

/// Devices that hold, or need, the same interval of an axis.
struct EqualCopies {
  Interval interval;
  std::vector<DeviceId> devices;
};

/// Samples of a micro-batch: the tensor-parallel members of each replica hold equal copies of what
/// crosses a cut.
std::vector<EqualCopies> sample_copies(const Mesh& stage);

/// Part of an axis, from one device to another.
struct Message {
  DeviceId from;
  DeviceId to;
  Interval interval;
};

/// The messages that bring an axis from one division to another.
struct Passage {
  TransferForm form = TransferForm::whole;
  int units = 1;  ///< of the intervals, in one sample or row: slices may end inside one
  std::vector<Message> messages;
};

/// Whole: a receiver that holds the same is served by itself, receiver k of some that need the same
/// by sender k mod n of those that hold it. Slices: equal copies are divided evenly over those who
/// hold them and over those who need them, and the overlaps of the two divisions are sent, so that
/// all senders' and all receivers' links carry an equal part.
Passage passage(const std::vector<EqualCopies>& senders, const std::vector<EqualCopies>& receivers,
                TransferForm form);

}  // namespace pptrain
