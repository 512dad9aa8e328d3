#include <numeric>

#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Normalises the channels of a micro-batch, of which the replicas of the stage have parts: each
/// gathers the moments of all, in the order of the plan, and sums what B needs over all. Both are
/// done where a replica has no samples too.
class BatchNormModule final : public OperatorModule {
 public:
  BatchNormModule(op::BatchNorm kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(std::move(kind)) {}

  void forward(Batch& batch, Pass& pass) override {
    const Matrix x = pass.matrix(input());
    Tensor y = new_value(batch, output());
    if (batch.use == BatchUse::evaluation) {
      normalise(batch, x, own(buffer(".running_mean")), own(buffer(".running_var")), y);
    } else {
      std::vector<Tensor>& s = statistics(pass);
      s.clear();
      s.emplace_back(arena(), 2, x.columns);
      find_statistics(batch, x, mean(s), variance(s));
      if (batch.use == BatchUse::training) update_running(batch, mean(s), variance(s));
      normalise(batch, x, mean(s), variance(s), y);
    }
    pass.values[output()] = std::move(y);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    const Matrix x = pass.matrix(input()), dy = pass.gradients[output()].matrix;
    const std::vector<Tensor>& s = statistics(pass);
    const std::size_t channels = x.columns;
    Tensor sums(arena(), 2, channels);
    feature_maps().batch_norm_sums({x, mean(s), variance(s), epsilon()}, dy, sums.f32());
    kernels().add(sums.f32(), store().adding(parameter(1)), channels);
    kernels().add(sums.f32() + channels, store().adding(parameter(0)), channels);
    replicas().all_reduce_sum(sums.f32(), sums.size());
    Tensor dx = new_gradient(batch, input());
    if (batch.samples > 0) {
      feature_maps().batch_norm_backward({x, mean(s), variance(s), epsilon()}, dy, weight(0),
                                         sums.f32(), num_rows(batch), dx);
    }
    add_gradient(pass, input(), make_gradient(std::move(dx)));
  }

 private:
  float epsilon() const { return static_cast<float>(kind_.epsilon); }
  static float* mean(const std::vector<Tensor>& s) { return s.front().f32(); }
  static float* variance(const std::vector<Tensor>& s) {
    return s.front().f32() + s.front().columns();
  }
  float* buffer(const char* what) const { return store().buffers().values(kind_.name + what); }
  /// The first of this member's channels, where `all` has a number for every channel.
  float* own(float* all) const {
    const Value& of = value(input());
    return of.is_whole() ? all : all + of.divided.unit * part(input()).begin;
  }
  Communicator& replicas() { return context().replicas != nullptr ? *context().replicas : alone_; }

  /// Rows of the map that each replica has of the micro-batch.
  std::vector<double> rows_of_replicas(const Batch& batch) const {
    const auto pixels = static_cast<double>(value(input()).rows);
    if (context().replicas == nullptr) return {pixels * static_cast<double>(batch.samples)};
    std::vector<double> all;
    for (const Interval& samples : context().samples)
      all.push_back(pixels * static_cast<double>(samples.size()));
    return all;
  }
  double num_rows(const Batch& batch) const {
    const std::vector<double> all = rows_of_replicas(batch);
    return std::accumulate(all.begin(), all.end(), 0.0);
  }

  void find_statistics(const Batch& batch, const Matrix& x, float* mean, float* variance) {
    const auto members = static_cast<std::size_t>(replicas().size()),
               own = static_cast<std::size_t>(replicas().rank());
    Tensor moments(arena(), members, 2 * x.columns);
    feature_maps().batch_moments(x, moments.f32() + own * moments.columns());
    std::vector<Interval> slices;
    for (std::size_t m = 0; m < members; ++m) {
      const auto begin = static_cast<std::int64_t>(m * moments.columns());
      slices.push_back({begin, begin + static_cast<std::int64_t>(moments.columns())});
    }
    if (members > 1) replicas().all_gather(moments.f32(), slices);
    feature_maps().join_moments(moments.f32(), rows_of_replicas(batch), x.columns, mean, variance);
  }

  /// Means, then variances of the channels of all members.
  Tensor of_all_channels(const float* mean, const float* variance) const {
    const auto channels = static_cast<std::size_t>(value(input()).columns);
    Tensor all(arena(), 2, channels);
    kernels().fill_zero(all.f32(), all.size());
    kernels().add(mean, own(all.f32()), columns(input()));
    kernels().add(variance, own(all.f32() + channels), columns(input()));
    group().all_reduce_sum(all.f32(), all.size());
    return all;
  }

  void update_running(const Batch& batch, const float* mean, const float* variance) {
    const double rows = num_rows(batch);
    if (rows <= 1.0) return;  // `check_micro_batches` refuses what has one
    const auto channels = static_cast<std::size_t>(value(input()).columns);
    const auto momentum = static_cast<float>(kind_.momentum);
    const auto unbiased = static_cast<float>(rows / (rows - 1.0));
    Tensor all;
    if (!value(input()).is_whole()) {
      all = of_all_channels(mean, variance);
      mean = all.f32();
      variance = mean + channels;
    }
    feature_maps().update_running(buffer(".running_mean"), mean, momentum, 1.0F, channels);
    feature_maps().update_running(buffer(".running_var"), variance, momentum, unbiased, channels);
    feature_maps().count(buffer(".num_batches_tracked"));
  }

  void normalise(const Batch& batch, const Matrix& x, const float* mean, const float* variance,
                 const Matrix& y) {
    if (batch.samples == 0) return;
    feature_maps().batch_norm_forward({x, mean, variance, epsilon()}, weight(0), weight(1), y);
  }

  op::BatchNorm kind_;
  SilentCommunicator alone_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::BatchNorm& kind, OperatorPlace place) {
  return std::make_unique<BatchNormModule>(kind, std::move(place));
}

}  // namespace pptrain
