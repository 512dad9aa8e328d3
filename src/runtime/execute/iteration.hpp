#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "data/dataset.hpp"
#include "kernels/targets.hpp"
#include "program/trace.hpp"
#include "runtime/execute/stop_wish.hpp"

namespace pptrain {

/// Writes one sample of the current step's global batch.
using SampleSource = std::function<void(std::int64_t sample, const SampleSlot& slot)>;

/// What an iteration works on.
struct Iteration {
  SampleSource samples;
  std::int64_t step = 0;
  double learning_rate = 0.0;
  double gradient_clip = 0.0;
  Trace* trace = nullptr;  ///< where tasks and waits are left, in place of what it held; null:
                           ///< nowhere
  std::function<StopWish()> stop_wish = {};  ///< whether this rank wants the training to stop;
                                             ///< empty: never
  double loss_scale = 1.0;                   ///< of the gradients
  std::int64_t skipped_steps = 0;            ///< steps so far that the optimizer has not seen
  std::optional<std::uint64_t> dropout_seed = {};  ///< nothing: no element is dropped
  LossForm loss_form = {};                         ///< as `Batch` has it
  double router_aux_loss = 0.0;                    ///< weight of the balance of experts in the loss
  bool needs_documents = false;  ///< attention stays within documents, so layers are told where
                                 ///< these begin
  bool has_padding = false;      ///< layers are told where it begins in the tokens of a sample
  /// How many samples of the global batch, the first ones, the loss is over; the others only fill
  /// it up. Nothing: all.
  std::optional<std::int64_t> counted_samples = {};
};

/// What came out of it. Loss and norm are known on every rank.
struct IterationResult {
  double loss = 0.0;  ///< mean over all targets of the global batch that count, before the update
  double balance = 0.0;  ///< of experts, its mean over layers and micro-batches; with its weight
                         ///< part of the loss
  std::vector<double> expert_rows = {};  ///< how many went to each expert, as `ExpertLoads` has
                                         ///< them; training alone
  std::int64_t targets = 0;              ///< how many these are
  double grad_norm = 0.0;                ///< before clipping, without the loss scale
  double loss_scale = 1.0;
  bool skipped = false;  ///< no update: gradients were not finite; known on every rank
  double seconds = 0.0;
  double communication_seconds = 0.0;  ///< waiting in collectives, by the device's clock; so the
                                       ///< next one
  double idle_seconds = 0.0;           ///< waiting for another stage
  StopWish stop = StopWish::none;      ///< the strongest wish of some rank; known on every rank
  double cpu_seconds = 0.0;  ///< of this thread, waiting left out; of a GPU: compute_seconds()
  int peak_stored = 0;  ///< most (micro-batch, chunk) activations between start of F and end of W
  /// Seconds of the iteration in which the device waited for nobody.
  double compute_seconds() const { return seconds - communication_seconds - idle_seconds; }
};

}  // namespace pptrain
