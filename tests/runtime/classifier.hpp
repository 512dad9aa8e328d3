#pragma once

#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "comm/mpi.hpp"
#include "data/synthetic_clusters.hpp"
#include "runtime/execute/session.hpp"

/// Training of the classifier by the runtime, and written out in double without any of its tricks.
namespace pptrain::test {

struct ClassifierJob {
  ClassifierJob() {
    config.model.name = "mlp-classifier";
    config.model.layers = 3;
    config.model.input_size = 9;
    config.model.hidden_size = 12;
    config.model.classes = 23;
    config.training.global_batch_size = 16;
    config.training.steps = 10;
    config.optimizer.kind = OptimizerKind::sgd;
    config.optimizer.learning_rate = 0.05;
    config.optimizer.gradient_clip = 1.0;
    config.job.timeout = 600.0;
  }

  Model model() const { return build_model(config.model, config.training, "test"); }
  SyntheticClusters table() const {
    return SyntheticClusters({config.model.input_size, config.model.classes, 5});
  }
  /// Neither weights nor biases are 0 or small.
  static void weights(const ParameterSpec& spec, Interval run, float* out) {
    const auto count = static_cast<std::size_t>(run.size());
    CounterRandom(11, spec.name).fill_normal(static_cast<std::uint64_t>(run.begin), count, out);
    for (std::size_t i = 0; i < count; ++i) out[i] *= 0.3F;
  }

  Config config;
};

struct ClassifierCurve {
  std::vector<double> losses;
  std::vector<double> grad_norms;
  double evaluation = 0.0;     ///< after the last step, on the first batch
  std::size_t peak_bytes = 0;  ///< of this rank's arena
  std::size_t resting_bytes = 0;
};

/// Collective over `world`, whose size is that of the plan.
inline ClassifierCurve train_classifier(const ClassifierJob& job, const Plan& plan) {
  const Model model = job.model();
  const MpiComm world = MpiComm::duplicate(MPI_COMM_WORLD);
  Session session(world.get(), job.config, model, plan, RankMap::identity(size_of(world.get())));
  session.arena().poison(true);
  if (session.device() != nullptr) session.device()->fill(ClassifierJob::weights);
  const SyntheticClusters table = job.table();
  const std::int64_t batch = job.config.training.global_batch_size;
  ClassifierCurve curve;
  for (std::int64_t step = 0; step < job.config.training.steps; ++step) {
    const IterationResult result =
        session.train(step, [&](std::int64_t sample, const SampleSlot& slot) {
          table.row(step * batch + sample, slot);
        });
    curve.losses.push_back(result.loss);
    curve.grad_norms.push_back(result.grad_norm);
  }
  curve.evaluation = session.evaluate(
      [&](std::int64_t sample, const SampleSlot& slot) { table.row(sample, slot); });
  curve.peak_bytes = session.arena().peak_bytes();
  curve.resting_bytes = session.arena().bytes_in_use();
  return curve;
}

/// Training of the classifier in double by SGD.
class PlainClassifier {
 public:
  explicit PlainClassifier(const ClassifierJob& job) : job_(job) {
    for (const Layer& layer : job.model().layers) {
      Linear linear;
      for (const ParameterSpec& spec : layer.parameters) {
        std::vector<float> values(static_cast<std::size_t>(spec.size()));
        ClassifierJob::weights(spec, {0, spec.size()}, values.data());
        (spec.shape.size() == 2 ? linear.weight : linear.bias).assign(values.begin(), values.end());
      }
      layers_.push_back(linear);
    }
  }

  ClassifierCurve train() {
    const std::int64_t batch = job_.config.training.global_batch_size;
    ClassifierCurve curve;
    for (std::int64_t step = 0; step < job_.config.training.steps; ++step) {
      std::vector<Linear> gradient = layers_;
      for (Linear& g : gradient) {
        g.weight.assign(g.weight.size(), 0.0);
        g.bias.assign(g.bias.size(), 0.0);
      }
      double loss = 0.0;
      for (std::int64_t s = 0; s < batch; ++s) loss += sample(step * batch + s, &gradient);
      curve.losses.push_back(loss / static_cast<double>(batch));
      curve.grad_norms.push_back(update(gradient, 1.0 / static_cast<double>(batch)));
    }
    for (std::int64_t s = 0; s < batch; ++s)
      curve.evaluation += sample(s, nullptr) / static_cast<double>(batch);
    return curve;
  }

 private:
  using Values = std::vector<double>;
  struct Linear {
    Values weight;  // (out, in)
    Values bias;
  };

  static double gelu(double x) {
    return 0.5 * x * (1.0 + std::tanh(root * (x + 0.044715 * x * x * x)));
  }
  static double gelu_derivative(double x) {
    const double t = std::tanh(root * (x + 0.044715 * x * x * x));
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x);
  }
  static Values product(const Linear& l, const Values& x) {
    Values y = l.bias;
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += l.weight[o * x.size() + i] * x[i];
    }
    return y;
  }

  /// The loss of a sample; adds its gradients where they are wanted.
  double sample(std::int64_t row, std::vector<Linear>* gradient) const {
    std::vector<float> features(static_cast<std::size_t>(job_.config.model.input_size));
    std::int32_t label = 0;
    job_.table().row(row, {nullptr, &label, features.data()});
    std::vector<Values> inputs = {Values(features.begin(), features.end())};
    std::vector<Values> before;
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
      before.push_back(product(layers_[l], inputs.back()));
      inputs.push_back(before.back());
      for (double& value : inputs.back()) value = gelu(value);
    }
    Values d = product(layers_.back(), inputs.back());
    double sum = 0.0;
    for (const double logit : d) sum += std::exp(logit);
    const double loss = std::log(sum) - d[static_cast<std::size_t>(label)];
    if (gradient == nullptr) return loss;
    for (double& logit : d) logit = std::exp(logit) / sum;
    d[static_cast<std::size_t>(label)] -= 1.0;
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const Values& x = inputs[l];
      Values dx(x.size(), 0.0);
      for (std::size_t o = 0; o < d.size(); ++o) {
        (*gradient)[l].bias[o] += d[o];
        for (std::size_t i = 0; i < x.size(); ++i) {
          (*gradient)[l].weight[o * x.size() + i] += d[o] * x[i];
          dx[i] += layers_[l].weight[o * x.size() + i] * d[o];
        }
      }
      for (std::size_t i = 0; l > 0 && i < dx.size(); ++i)
        dx[i] *= gelu_derivative(before[l - 1][i]);
      d = dx;
    }
    return loss;
  }

  /// Clips, steps and returns the norm before clipping.
  double update(const std::vector<Linear>& gradient, double scale) {
    double squares = 0.0;
    for (const Linear& g : gradient) {
      for (const double value : g.weight) squares += value * value;
      for (const double value : g.bias) squares += value * value;
    }
    const double norm = std::sqrt(squares) * scale;
    const double clip = job_.config.optimizer.gradient_clip;
    const double factor = norm > clip ? clip / norm : 1.0;
    const double rate = job_.config.optimizer.learning_rate * factor * scale;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (std::size_t i = 0; i < layers_[l].weight.size(); ++i)
        layers_[l].weight[i] -= rate * gradient[l].weight[i];
      for (std::size_t i = 0; i < layers_[l].bias.size(); ++i)
        layers_[l].bias[i] -= rate * gradient[l].bias[i];
    }
    return norm;
  }

  static constexpr double root = 0.7978845608028654;  // sqrt(2 / pi)

  const ClassifierJob& job_;
  std::vector<Linear> layers_;
};

}  // namespace pptrain::test
