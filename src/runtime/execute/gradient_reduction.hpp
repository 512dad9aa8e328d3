#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "cost/two_level_sum.hpp"
#include "runtime/execute/narrow_bucket.hpp"

namespace pptrain {

/// Sums of long arrays over a group (and what follows them), in buckets. Of those that keep memory
/// a few are under way at once: the buffers stay small, and the second half of one bucket overlaps
/// the first half of the next. Others, of a group that queues its collectives on the device, start
/// as soon as they are added, so that they run beside the tasks that the device was told meanwhile.
/// Arrays are summed in the order in which they are added, which must be the same on all members.
///
/// A bucket keeps its buffer, and what `ended` of a reduce-scatter holds, until another takes its
/// place or `drop_ended`: what a rank holds does not depend on when its peers came.
class GradientReduction final : public Pending {
 public:
  static constexpr std::size_t bucket_elements = gradient_bucket_elements;  ///< 4 MiB of fp32
  static constexpr std::size_t buckets_in_flight = 2;  ///< of those that keep memory
  /// Elements of a bucket that keeps none: 24 MiB, which fast links want.
  static constexpr std::size_t queued_elements = 6 * bucket_elements;

  /// For a wire in bf16 a bucket's values are rounded to it before they go and where they are
  /// summed; with them the buffer is as large as in fp32.
  explicit GradientReduction(Communicator& group, const GradientWire& wire = {})
      : group_(group), wire_(wire) {}

  /// All members get the sum of all of it; `ended` is called when it has come.
  void add_all_reduce(float* data, std::size_t n, std::function<void()> ended = {});
  /// Member k gets the sum of slices[k]; `ended` is called when this member's has come.
  void add_reduce_scatter(float* data, const std::vector<Interval>& slices,
                          std::function<void()> ended = {});
  /// Every member's slice data[slices[k]] is sent to all.
  void add_all_gather(float* data, const std::vector<Interval>& slices);

  /// Calls `ended` once everything that was added before has ended.
  void then(std::function<void()> ended);
  /// Lets go of buckets that have ended, up to the first one that has not, with their buffers;
  /// never blocks.
  void drop_ended();

  bool test() override { return advance(&Pending::test); }
  bool join() override { return advance(&Pending::join); }
  std::string missing() const override;
  /// Arrays of reduce-scatters that have not ended.
  int num_open() const { return num_open_; }

 private:
  struct Bucket {
    std::optional<Collective> collective = {};  ///< nothing: only what comes at its end
    float* data = nullptr;
    std::vector<Interval> slices = {};
    bool keeps_memory = true;
    bool is_last = false;  ///< of the array of a reduce-scatter
    /// Called when the bucket has ended; may be empty.
    std::function<void()> ended = {};
  };
  struct Running {
    PendingPtr pending;  ///< null: nothing to wait for
    bool keeps_memory;
    bool is_last;
    /// Called when the bucket has ended; may be empty.
    std::function<void()> ended;
    bool has_ended = false;
  };
  /// Starts a bucket in bf16; what the bucket calls at its end brings the sums back first.
  PendingPtr start_narrow(Bucket& bucket);
  /// Whether a bucket of f32 values on the wire needs no memory beside its data.
  bool is_queued() const;
  /// How many buckets that keep memory are under way, or have ended and still keep it.
  std::size_t num_keepers() const;
  /// Lets go of what has ended, up to the first bucket that keeps memory; whether there was one.
  bool drop_first_keeper();
  using Question = bool (Pending::*)();  ///< whether one has ended, or may count as ended
  bool advance(Question ended);
  // Whether there was one to end or to start.
  bool end_next(Question ended);
  bool start_next();

  Communicator& group_;
  GradientWire wire_;
  std::deque<Bucket> waiting_;
  std::deque<Running> running_;  // and, before those, ended
  int num_open_ = 0;
};

}  // namespace pptrain
