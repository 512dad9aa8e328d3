#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "kernels/test_matrix.hpp"
#include "nn/layer.hpp"
#include "tensor/device_copy.hpp"

namespace pptrain::test {

/// A model's layers on one device.
class Side {
 public:
  Side(const Backend& backend, const Model& model, DType type, Recompute recompute)
      : model_(model), arena_(0, "", backend.device), context_{backend, arena_, group_, store_,
                                                               model_,  type,   {},     recompute} {
    arena_.poison(true);
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      layers_.push_back(make_layer(model_.layers[i], ChunkId(static_cast<int>(i)), context_));
    }
    store_.allocate(arena_, backend.kernels, type);
    fill_random(store_, 5);
    store_.start_step();
  }

  /// A forward and a backward pass over a micro-batch; gradients add up.
  void run(std::size_t samples, std::uint64_t seed) {
    const std::size_t rows = samples * static_cast<std::size_t>(model_.sample.rows);
    const CounterRandom random(seed, "batch");
    DeviceCopy<std::uint32_t> tokens;
    DeviceCopy<std::int32_t> targets;
    DeviceCopy<float> features;
    const auto classes = static_cast<std::size_t>(model_.sample.classes);
    for (std::size_t r = 0; r < rows; ++r) {
      tokens.host(rows)[r] =
          static_cast<std::uint32_t>(random.uniform(2 * r) * static_cast<double>(classes));
      targets.host(rows)[r] =
          static_cast<std::int32_t>(random.uniform(2 * r + 1) * static_cast<double>(classes));
    }
    const std::size_t numbers = rows * static_cast<std::size_t>(model_.sample.features);
    for (std::size_t i = 0; i < numbers; ++i) {
      features.host(numbers)[i] = static_cast<float>(random.uniform(2 * rows + i)) - 0.5F;
    }
    const Buffer loss(arena_, sizeof(double));
    arena_.device().fill(loss.data(), 0, sizeof(double));
    Batch batch;
    batch.samples = samples;
    batch.tokens = tokens.upload(arena_);
    batch.targets = targets.upload(arena_);
    batch.loss_scale = 0.1F;
    batch.loss = static_cast<double*>(loss.data());
    if (!model_.sample.tokens()) batch.features = features.upload(arena_);
    pass(batch);
    double value = 0;
    arena_.device().download(&value, loss.data(), sizeof(value));
    loss_ += value;
  }

  double loss() const { return loss_; }
  std::size_t num_parameters() const { return store_.parameters().size(); }
  const std::string& name(std::size_t parameter) const {
    return store_.parameters()[parameter].spec.name;
  }
  Values gradient(std::size_t parameter) {
    const Matrix matrix = store_.gradient_matrix(parameter);
    std::vector<float> values(matrix.size());
    arena_.device().download(values.data(), matrix.data, values.size() * sizeof(float));
    return {values.begin(), values.end()};
  }

 private:
  void pass(Batch& batch) {
    std::vector<SavedPtr> saved(layers_.size());
    Tensor x;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      x = layers_[i]->forward(batch, std::move(x), &saved[i]);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      x = layers_[i]->backward_input(batch, std::move(x), *saved[i]);
      layers_[i]->backward_weight(batch, *saved[i]);
    }
  }

  Model model_;
  Arena arena_;
  SilentCommunicator group_;
  ParameterStore store_;
  LayerContext context_;
  std::vector<std::unique_ptr<LayerModule>> layers_;
  double loss_ = 0;
};

}  // namespace pptrain::test
