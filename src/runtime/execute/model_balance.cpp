#include "runtime/execute/model_balance.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "nn/expert_balance.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

/// The balance of a layer's experts, or null where it has none.
const op::ExpertBalance* balance_of(const Layer& layer) {
  for (const Operator& op : layer.operators.operators) {
    if (const auto* balance = op.as<op::ExpertBalance>()) return balance;
  }
  return nullptr;
}

}  // namespace

ModelBalance::ModelBalance(MPI_Comm world, const Model& model, const Plan& plan, const RankMap& map,
                           std::optional<Role> role)
    : transport_(world), num_micro_batches_(static_cast<int>(plan.micro_batches)) {
  for (const Layer& layer : model.layers) {
    if (const op::ExpertBalance* balance = balance_of(layer)) form_ = *balance;
  }
  const std::vector<ChunkPlace> places = chunk_places(plan);
  for (std::size_t c = 0; c < places.size(); ++c) {
    const auto first = model.layers.begin() + places[c].layers.begin;
    if (std::any_of(first, first + places[c].layers.size(), balance_of))
      chunks_.push_back({ChunkId(static_cast<int>(c)), places[c].stage});
  }
  for (const Stage& stage : plan.stages) {
    std::vector<RankId>& ranks = ranks_.emplace_back();
    for (const std::vector<DeviceId>& replica : stage.devices) {
      for (const DeviceId device : replica) ranks.push_back(map.rank_of(device));
    }
  }
  if (!role) return;
  stage_ = role->stage;
  place_ = static_cast<std::size_t>(role->replica * plan.stages[stage_->index()].tensor_parallel +
                                    role->shard);
  PPTRAIN_ASSERT(
      static_cast<std::int64_t>(places.size()) * num_micro_batches_ <= transport_.num_tags(),
      "{} chunks of {} micro-batches", places.size(), num_micro_batches_);
}

void ModelBalance::start() {
  counts_.clear();
  of_model_.clear();
}

bool ModelBalance::has_experts(ChunkId chunk) const {
  return std::any_of(chunks_.begin(), chunks_.end(), [&](const Chunk& c) { return c.id == chunk; });
}

int ModelBalance::tag_of(ChunkId chunk, MicroBatchId micro_batch) const {
  return chunk.value * num_micro_batches_ + micro_batch.value;
}

std::vector<double>& ModelBalance::counts_of(ChunkId chunk, MicroBatchId micro_batch) {
  std::vector<double>& counts = counts_[{chunk.value, micro_batch.value}];
  counts.resize(static_cast<std::size_t>(2 * form_.form.experts));
  return counts;
}

double* ModelBalance::counts(ChunkId chunk, MicroBatchId micro_batch) {
  return has_experts(chunk) ? counts_of(chunk, micro_batch).data() : nullptr;
}

/// The devices of a stage share those of every other one among them.
void ModelBalance::send(ChunkId chunk, MicroBatchId micro_batch) {
  sends_.remove_if([](const PendingPtr& sent) { return sent->test(); });
  if (!has_experts(chunk)) return;
  const std::vector<double>& counts = counts_of(chunk, micro_batch);
  for (std::size_t s = 0; s < ranks_.size(); ++s) {
    if (s == stage_->index()) continue;
    for (std::size_t to = place_; to < ranks_[s].size(); to += ranks_of(*stage_).size()) {
      sends_.push_back(transport_.send(ranks_[s][to], tag_of(chunk, micro_batch), counts.data(),
                                       counts.size() * sizeof(double)));
    }
  }
}

void ModelBalance::receive(MicroBatchId micro_batch, const std::function<void(Pending&)>& wait) {
  std::vector<PendingPtr> pending;
  for (const Chunk& chunk : chunks_) {
    if (chunk.stage == *stage_) continue;
    std::vector<double>& counts = counts_of(chunk.id, micro_batch);
    const std::vector<RankId>& ranks = ranks_of(chunk.stage);
    pending.push_back(transport_.receive(ranks[place_ % ranks.size()],
                                         tag_of(chunk.id, micro_batch), counts.data(),
                                         counts.size() * sizeof(double)));
  }
  for (const PendingPtr& one : pending) wait(*one);
}

const double* ModelBalance::chosen_rows(MicroBatchId micro_batch,
                                        const std::function<void(Pending&)>& wait) {
  std::vector<double>& sum = of_model_[micro_batch.value];
  if (!sum.empty()) return sum.data();
  receive(micro_batch, wait);
  sum.resize(static_cast<std::size_t>(2 * form_.form.experts));
  for (const Chunk& chunk : chunks_) {
    const std::vector<double>& counts = counts_of(chunk.id, micro_batch);
    std::transform(sum.begin(), sum.end(), counts.begin(), sum.begin(), std::plus<>());
  }
  return sum.data();
}

double ModelBalance::balance(const std::vector<double>& counts) const {
  const std::vector<double> weights = balance_weights(form_, counts.data());
  return std::inner_product(weights.begin(), weights.end(), counts.begin() + form_.form.experts,
                            0.0);
}

double ModelBalance::sum() const {
  double sum = 0.0;
  if (stage_ != StageId(0) || place_ != 0) return sum;
  for (const auto& [micro_batch, counts] : of_model_) sum += balance(counts);
  return sum;
}

void ModelBalance::finish(const std::function<void(Pending&)>& wait) {
  for (const PendingPtr& sent : sends_) wait(*sent);
  sends_.clear();
}

}  // namespace pptrain
