#include "runtime/execute/replica_shards.hpp"

#include <memory>
#include <utility>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Ends when no sum is open: one unit is summed while the gradients of the next come about.
class Room final : public Pending {
 public:
  explicit Room(GradientSums& sums) : sums_(sums) {}
  bool test() override {
    sums_.test();
    return sums_.num_open() == 0;
  }
  bool join() override {
    sums_.join();
    return sums_.num_open() == 0;
  }
  std::string missing() const override { return sums_.missing(); }

 private:
  GradientSums& sums_;
};

}  // namespace

ReplicaShards::ReplicaShards(ParameterStore& store, PartGroups& groups, Waiter& waiter,
                             const GradientWire& wire, Communicator* members)
    : store_(store),
      gather_(groups.gather()),
      waiter_(waiter),
      members_(members),
      sums_(groups, wire) {}

ReplicaShards::~ReplicaShards() {
  // Also where an error ends the job on all ranks: others may still read what this one sends.
  try {
    settle();
  } catch (const Error&) {
    // Nobody needs these weights any more, and who did not answer is named elsewhere.
  }
}

void ReplicaShards::wait(Pending& pending, const char* doing) {
  waiter_.wait(pending, [doing] { return std::string(doing); });
}

void ReplicaShards::prefetch(std::size_t unit) {
  if (!store_.sharding().shards_weights()) return;
  uses_.resize(store_.num_units());
  Use& use = uses_[unit];
  if (use.users > 0 || use.pending) return;
  store_.begin_gather(unit);
  use.pending = gather_.start_all_gather(store_.gathered_weights(unit), store_.slices(unit));
  ++num_gathers_;
}

void ReplicaShards::hold(std::size_t unit) {
  if (!store_.sharding().shards_weights()) return;
  prefetch(unit);
  ++uses_[unit].users;
}

void ReplicaShards::acquire(std::size_t unit) {
  if (!store_.sharding().shards_weights()) return;
  hold(unit);
  Use& use = uses_[unit];
  if (!use.pending) return;
  wait(*use.pending, "gathering the weights of a layer");
  use.pending.reset();
  store_.end_gather(unit);
}

void ReplicaShards::release(std::size_t unit) {
  if (!store_.sharding().shards_weights()) return;
  PPTRAIN_ASSERT(uses_[unit].users > 0, "unit {} is not in use", unit);
  if (--uses_[unit].users == 0) store_.drop_weights(unit);
}

void ReplicaShards::progress() {
  sums_.test();
  for (std::size_t unit = 0; unit < uses_.size(); ++unit) {
    const bool here = uses_[unit].pending && uses_[unit].pending->test();
    if (here && !store_.sharding().shards_weights()) settle(unit);
  }
}

void ReplicaShards::contribute(std::size_t unit) {
  const UnitGradients which =
      pass_ == GradientPass::completes ? UnitGradients::all : UnitGradients::matrices;
  if (store_.sharding().shards_gradients()) reduce_divided(unit, which);
  if (pass_ == GradientPass::completes) complete(unit);
}

/// Each member has the gradients of its own samples.
void ReplicaShards::sum_over_members(std::size_t unit, UnitGradients which) {
  if (members_ == nullptr) return;
  for (std::size_t p = 0; p < store_.parameters().size(); ++p) {
    const LocalParameter& parameter = store_.parameters()[p];
    if (!store_.is_among(parameter, unit, which) || parameter.spec.axis != ShardAxis::none)
      continue;
    members_->all_reduce_sum(store_.gradient_matrix(p).f32(), parameter.size());
  }
}

/// What other chunks gave is summed by itself, as the last of the chunk's own may have been summed
/// before it was there.
void ReplicaShards::reduce_divided(std::size_t unit, UnitGradients which) {
  start_reduction(unit, which);
  if (which != UnitGradients::all) return;
  store_.join_gradients(unit);
  start_reduction(unit, which);
}

void ReplicaShards::start_reduction(std::size_t unit, UnitGradients which) {
  if (!store_.has_gradients(unit, which)) return;
  sum_over_members(unit, which);
  Room room(sums_);
  wait(room, "summing the gradients of a layer");
  sums_.drop_ended();
  // The buffer lives until its sum has come and the next one begins.
  const auto whole = std::make_shared<Tensor>(store_.take_gradients(unit, which));
  const Interval own = store_.slices(unit)[static_cast<std::size_t>(store_.sharding().replica)];
  sums_.add_reduce_scatter(whole->f32(), store_.slices(unit), [this, unit, whole, own] {
    store_.add_own_gradients(unit, whole->f32() + own.begin);
  });
}

void ReplicaShards::reduce(ChunkId chunk) {
  PPTRAIN_ASSERT(!last_complete_ || store_.chunk_of(*last_complete_) == chunk,
                 "gradients of chunk {} are complete", store_.chunk_of(*last_complete_).value);
  enter(chunk);
  for (std::size_t unit = store_.num_units(); unit-- > 0;) {
    const bool is_open = !last_complete_ || unit < *last_complete_;
    if (store_.chunk_of(unit) == chunk && is_open) complete(unit);
  }
  sum_complete();
  last_complete_.reset();
  pass_ = GradientPass::adds;
}

/// Units of a chunk in descending order, as the backward pass comes to them.
void ReplicaShards::complete(std::size_t unit) {
  last_complete_ = unit;
  if (!store_.sharding().shards_gradients()) {
    store_.join_gradients(unit);
    sum_over_members(unit, UnitGradients::all);
  }
  complete_.push_back(unit);
  num_complete_ += store_.unit_size(unit);
  if (num_complete_ >= GradientReduction::bucket_elements) sum_complete();
}

void ReplicaShards::sum_complete() {
  if (complete_.empty()) return;
  if (store_.sharding().zero_stage == 0) {
    // Whole gradients of a chunk lie in one piece.
    sums_.add_all_reduce(store_.unit_gradients(complete_.back()), num_complete_);
  } else {
    for (const std::size_t unit : complete_) sum(unit);
  }
  complete_.clear();
  num_complete_ = 0;
}

/// Sums a unit over the replicas; of a divided one this replica gets the sum of its slice alone.
void ReplicaShards::sum(std::size_t unit) {
  const ReplicaSharding& sharding = store_.sharding();
  const Interval own = store_.slices(unit)[static_cast<std::size_t>(sharding.replica)];
  if (sharding.shards_gradients()) {
    reduce_divided(unit, UnitGradients::all);
    return sums_.add_across(store_.own_gradients(unit), own, store_.unit_size(unit));
  }
  float* whole = store_.unit_gradients(unit);
  if (sharding.shards_optimizer()) sums_.add_reduce_scatter(whole, store_.slices(unit));
  sums_.add_across(whole + own.begin, own, store_.unit_size(unit));
}

void ReplicaShards::gather_gradients(std::size_t unit) {
  const ReplicaSharding& sharding = store_.sharding();
  if (!sharding.shards_optimizer()) return;
  float* whole = store_.unit_gradients(unit);
  if (sharding.shards_gradients()) {
    const Interval own = store_.slices(unit)[static_cast<std::size_t>(sharding.replica)];
    store_.copy(whole + own.begin, store_.own_gradients(unit), own.size());
  }
  wait(*gather_.start_all_gather(whole, store_.slices(unit)),
       "gathering the gradients of the shared embedding");
}

void ReplicaShards::scatter_gradients(std::size_t unit) {
  const ReplicaSharding& sharding = store_.sharding();
  if (!sharding.shards_gradients()) return;
  const Tensor whole = store_.take_gradients(unit);
  store_.set_own_gradients(
      unit, whole.f32() + store_.slices(unit)[static_cast<std::size_t>(sharding.replica)].begin);
}

void ReplicaShards::publish_weights(std::size_t unit) {
  const ReplicaSharding& sharding = store_.sharding();
  if (!sharding.shards_optimizer() || sharding.shards_weights()) return;
  uses_.resize(store_.num_units());
  uses_[unit].pending = gather_.start_all_gather(store_.unit_weights(unit), store_.slices(unit));
  store_.expect_weights(unit, [this, unit] { settle(unit); });
}

void ReplicaShards::settle(std::size_t unit) {
  if (!uses_[unit].pending) return;
  wait(*uses_[unit].pending, "gathering the weights after the optimizer step");
  uses_[unit].pending.reset();
  store_.refresh_copies(unit);
}

void ReplicaShards::settle() {
  if (store_.sharding().shards_weights()) return;
  for (std::size_t unit = 0; unit < uses_.size(); ++unit) settle(unit);
}

void ReplicaShards::carry() {
  for (const std::size_t unit : announced_) hold(unit);
  carried_ = std::exchange(announced_, {});
}

void ReplicaShards::take_over() {
  for (const std::size_t unit : carried_) release(unit);
  carried_.clear();
}

}  // namespace pptrain
