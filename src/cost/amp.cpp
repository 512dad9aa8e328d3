#include <algorithm>
#include <numeric>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// e_i = 2 (bytes / bandwidth + latency) of the slowest pair: activations down, gradients up.
double cut_seconds(const Instance& instance, const Mesh& sender, const Mesh& receiver,
                   double bytes_per_sample) {
  double slowest = 0.0;
  for_each_pair(sender, receiver, [&](DeviceId a, DeviceId b, double samples) {
    const Link link = instance.cluster.path(a, b);
    slowest = std::max(slowest, 2.0 * (samples * bytes_per_sample / link.bandwidth + link.latency));
  });
  return slowest;
}

double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}
double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

AmpTerms amp_terms(const Instance& instance, const Plan& plan) {
  AmpTerms terms;
  for (const Stage& stage : plan.stages) {
    const StageParts parts(stage);
    terms.stages.push_back(stage_seconds(instance, parts));
    terms.stage_seconds.push_back(terms.stages.back().total);
    terms.gradient_seconds.push_back(gradient_seconds(instance, parts));
  }
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  for (std::size_t c = 1; c < chunks.size(); ++c) {
    const double bytes = instance.profile.layers[chunks[c].layers.begin - 1].output_bytes;
    const StageParts sender(plan.stages[chunks[c - 1].stage], {chunks[c - 1].layers});
    const StageParts receiver(plan.stages[chunks[c].stage], {chunks[c].layers});
    terms.cut_seconds.push_back(
        cut_seconds(instance, sender.last_mesh(), receiver.first_mesh(), bytes));
  }
  terms.iteration_seconds =
      static_cast<double>(plan.micro_batches - 1) * largest(terms.stage_seconds) +
      sum(terms.cut_seconds) + sum(terms.stage_seconds) + largest(terms.gradient_seconds);
  return terms;
}

TimeParts time_parts(const Instance& instance, const Plan& plan) {
  return time_parts(amp_terms(instance, plan), plan);
}

TimeParts time_parts(const AmpTerms& terms, const Plan& plan) {
  const auto slowest = std::max_element(terms.stage_seconds.begin(), terms.stage_seconds.end());
  const PassSeconds& busy = terms.stages[slowest - terms.stage_seconds.begin()];
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  TimeParts parts;
  parts.compute = micro_batches * (busy.total - busy.tensor - busy.gather);
  parts.tensor_communication = micro_batches * busy.tensor;
  parts.parameter_gathers = micro_batches * busy.gather;
  parts.pipeline_communication = sum(terms.cut_seconds);
  parts.gradient_synchronization = largest(terms.gradient_seconds);
  parts.bubble = sum(terms.stage_seconds) - *slowest;
  return parts;
}

}  // namespace pptrain
