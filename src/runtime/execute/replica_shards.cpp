#include "runtime/execute/replica_shards.hpp"

#include <memory>
#include <utility>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Ends when no sum is open: one unit is summed while the gradients of the next come about.
class Room final : public Pending {
 public:
  explicit Room(GradientReduction& reduction) : reduction_(reduction) {}
  bool test() override {
    reduction_.test();
    return reduction_.num_open() == 0;
  }
  std::string missing() const override { return reduction_.missing(); }

 private:
  GradientReduction& reduction_;
};

}  // namespace

ReplicaShards::ReplicaShards(ParameterStore& store, PartGroups& groups, Waiter& waiter)
    : store_(store),
      gather_(groups.gather()),
      waiter_(waiter),
      shared_slices_(groups.shared_slices()),
      reduction_(groups.data()) {
  for (const PartGroups::SharedSlice& slice : shared_slices_) across_.emplace_back(*slice.owners);
}

ReplicaShards::~ReplicaShards() {
  // Also where an error ends the job on all ranks: others may still read what this one sends.
  try {
    settle();
  } catch (const Error&) {
    // Nobody needs these weights any more, and who did not answer is named elsewhere.
  }
}

bool ReplicaShards::Sums::test() {
  bool ended = shards_.reduction_.test();
  for (GradientReduction& across : shards_.across_) ended = across.test() && ended;
  return ended;
}

std::string ReplicaShards::Sums::missing() const {
  std::string missing = shards_.reduction_.missing();
  for (const GradientReduction& across : shards_.across_) {
    if (missing == "nothing") missing = across.missing();
  }
  return missing;
}

void ReplicaShards::drop_summed() {
  reduction_.drop_ended();
  for (GradientReduction& across : across_) across.drop_ended();
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
  if (store_.sharding().shards_gradients() && store_.has_gradients(unit)) start_reduction(unit);
}

void ReplicaShards::start_reduction(std::size_t unit) {
  Room room(reduction_);
  wait(room, "summing the gradients of a layer");
  reduction_.drop_ended();
  // The buffer lives until its sum has come and the next one begins.
  const auto whole = std::make_shared<Tensor>(store_.take_gradients(unit));
  const Interval own = store_.slices(unit)[static_cast<std::size_t>(store_.sharding().replica)];
  reduction_.add_reduce_scatter(whole->f32(), store_.slices(unit),
                                [this, unit, whole, own] { store_.add_own_gradients(unit, whole->f32() + own.begin); });
}

void ReplicaShards::reduce(ChunkId chunk) {
  const ReplicaSharding& sharding = store_.sharding();
  float* first = nullptr;  // whole gradients of a chunk lie in one piece
  std::size_t size = 0;
  for (std::size_t unit = 0; unit < store_.num_units(); ++unit) {
    if (store_.chunk_of(unit) != chunk) continue;
    if (sharding.shards_gradients()) {
      contribute(unit);
    } else if (sharding.shards_optimizer()) {
      reduction_.add_reduce_scatter(store_.unit_gradients(unit), store_.slices(unit));
    } else if (across_.empty()) {
      if (first == nullptr) first = store_.unit_gradients(unit);
      size += store_.unit_size(unit);
    }
    if (!across_.empty()) reduction_.then([this, unit] { sum_across(unit); });
  }
  if (first != nullptr) reduction_.add_all_reduce(first, size);
}

void ReplicaShards::sum_across(std::size_t unit) {
  const ReplicaSharding& sharding = store_.sharding();
  const Interval own = store_.slices(unit)[static_cast<std::size_t>(sharding.replica)];
  float* slice = sharding.shards_gradients() ? store_.own_gradients(unit) : store_.unit_gradients(unit) + own.begin;
  for (std::size_t i = 0; i < across_.size(); ++i) {
    const auto place = [&](const Fraction& f) { return slice_end(store_.unit_size(unit), f.k, f.n); };
    const std::int64_t begin = place(shared_slices_[i].begin);
    const std::int64_t end = place(shared_slices_[i].end);
    across_[i].add_all_reduce(slice + (begin - own.begin), static_cast<std::size_t>(end - begin));
  }
}

void ReplicaShards::gather_gradients(std::size_t unit) {
  const ReplicaSharding& sharding = store_.sharding();
  if (!sharding.shards_optimizer()) return;
  float* whole = store_.unit_gradients(unit);
  if (sharding.shards_gradients()) {
    const Interval own = store_.slices(unit)[static_cast<std::size_t>(sharding.replica)];
    std::copy_n(store_.own_gradients(unit), own.size(), whole + own.begin);
  }
  wait(*gather_.start_all_gather(whole, store_.slices(unit)), "gathering the gradients of the shared embedding");
}

void ReplicaShards::scatter_gradients(std::size_t unit) {
  const ReplicaSharding& sharding = store_.sharding();
  if (!sharding.shards_gradients()) return;
  const Tensor whole = store_.take_gradients(unit);
  store_.set_own_gradients(unit, whole.f32() + store_.slices(unit)[static_cast<std::size_t>(sharding.replica)].begin);
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
