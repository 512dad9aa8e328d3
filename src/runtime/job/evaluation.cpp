#include "runtime/job/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pptrain {
namespace {

std::int64_t batches_of(std::int64_t samples, std::int64_t batch) {
  return (samples + batch - 1) / batch;
}

}  // namespace

Evaluation evaluate(Session& session, const Dataset& held_back) {
  const std::int64_t batch = session.config().training.global_batch_size;
  const std::int64_t limit = session.config().metrics.evaluation_batches;
  const std::int64_t all = held_back.num_windows();
  const std::int64_t samples = limit > 0 ? std::min(all, limit * batch) : held_back.num_held_back();
  Evaluation evaluation;
  if (limit > 0 && samples < all)
    evaluation.part = fmt::format("{} of {} batches", limit, batches_of(all, batch));
  double sum = 0.0, targets = 0.0;
  for (std::int64_t first = 0; first < samples && evaluation.stop == StopWish::none;
       first += batch) {
    const auto source = [&](std::int64_t sample, const SampleSlot& slot) {
      held_back.window((first + sample) % samples, slot);
    };
    const IterationResult result = session.evaluate_batch(source, std::min(batch, samples - first));
    sum += static_cast<double>(result.targets) * result.loss;
    targets += static_cast<double>(result.targets);
    evaluation.stop = result.stop;
    evaluation.is_whole = first + batch >= samples;
  }
  evaluation.loss = targets > 0.0 ? sum / targets : 0.0;
  return evaluation;
}

}  // namespace pptrain
