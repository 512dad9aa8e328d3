#pragma once

#include <mpi.h>

#include <vector>

#include "comm/waiter.hpp"
#include "runtime/replan/state_moves.hpp"
#include "runtime/replan/training_state.hpp"

namespace pptrain {

/// What one rank holds of one quantity of a parameter, with the place of each element where that is
/// this rank. Of what it holds again (two parts of a stage may have a tied embedding each) the
/// first place counts; the others are copies of it.
class Elements {
 public:
  struct Copy {
    Interval elements;  ///< within one run
    float* values;
  };

  Elements() = default;
  /// One run of elements in the memory of `device`; both may be null.
  Elements(Interval run, float* values, Device* device)
      : runs_{run}, values_{values}, device_(device) {}

  /// Adds the elements of a part of the quantity `parameter`. All parts must lie in the memory of
  /// one device.
  void add(const StatePart& part, const ParameterSpec& parameter);
  /// Elements that are held, each once, as rising intervals without overlap.
  const Runs& runs() const { return runs_; }
  /// Further places of elements that `runs` has already; values are null where they are not of this
  /// rank.
  const std::vector<Copy>& copies() const { return copies_; }
  /// Number of elements in `runs`; copies do not count.
  std::int64_t size() const;
  /// The device in whose memory they all are; null where they are not of this rank.
  Device* device() const { return device_; }
  /// The elements that lie in an interval.
  Elements within(Interval interval) const;
  /// The element lies in one run, of this rank.
  float* at(std::int64_t element) const;

 private:
  void add(Interval run, float* values);

  Runs runs_;
  std::vector<float*> values_;  ///< of each run
  std::vector<Copy> copies_;
  Device* device_ = nullptr;
};

/// The parts that all ranks of a session hold. This rank's have values.
class HeldParts {
 public:
  /// Collective.
  HeldParts(MPI_Comm world, Waiter& waiter, const std::vector<StatePart>& own);

  /// Number of ranks of `world`.
  int num_ranks() const { return static_cast<int>(of_rank_.size()); }
  /// What each rank has of one quantity of a parameter; to be asked in increasing order.
  std::vector<Elements> take(int parameter, int quantity, const ParameterSpec& spec);

 private:
  std::vector<std::vector<StatePart>> of_rank_;
  std::vector<std::size_t> next_;
};

}  // namespace pptrain
