#pragma once

#include <memory>
#include <optional>

#include "config/config.hpp"
#include "optim/loss_scale.hpp"
#include "runtime/execute/executor.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What a session may be given beside the plan.
struct SessionOptions {
  LayerFactory layers = make_layer;
  OrderOptions orders = {};     ///< what the task orders go by, equal on all ranks
  Alarm* alarm = nullptr;       ///< by which ranks hear that one has given up waiting
  TransferForms forms = {};     ///< how what several devices need alike comes to them, equal on all
                                ///< ranks
  std::vector<int> nodes = {};  ///< of each device, within which gradients are summed first; empty:
                                ///< all are on one
  Backend backend = host_backend();  ///< what the rank computes with
  DirectGroups* direct = nullptr;    ///< what it communicates by without MPI; outlives the session;
                                     ///< null: nothing
  std::optional<MpiDeviceMemory> mpi_memory = {};  ///< in place of what MPI says of itself
  bool has_padding = false;      ///< samples may end in it; those with a source always may
  std::size_t memory_bytes = 0;  ///< that the device has; 0: what it gives
  std::string device_name = {};  ///< who runs out of it
  CommunicationDecorator* communication = nullptr;  ///< outlives the session; null: none
  std::function<StopWish()> stop_wish = {};         ///< of `Iteration`
  /// Wraps the optimizer; empty: nothing does.
  std::function<std::unique_ptr<Optimizer>(std::unique_ptr<Optimizer>)> optimizer = {};
  CoreUse core_use = CoreUse::shared;  ///< how the rank waits
};

/// One rank's part in the training of a plan: groups, layers, optimizer and compiled programs.
///
/// Construction and every function but the accessors are Collective over `world`.
class Session {
 public:
  /// The programs are compiled and checked first: a wrong one never starts.
  Session(MPI_Comm world, const Config& config, const Model& model, const Plan& plan,
          const RankMap& map, const SessionOptions& options = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// One iteration on the samples of `source`; `step` counts from 0.
  IterationResult train(std::int64_t step, const SampleSource& source);
  /// Losses of one global batch of `source`, which changes nothing; of its first `counted` samples
  /// where the others only fill it up.
  IterationResult evaluate_batch(const SampleSource& source,
                                 std::optional<std::int64_t> counted = {});
  /// Mean of the losses of one global batch of `source`, which changes nothing.
  double evaluate(const SampleSource& source) { return evaluate_batch(source).loss; }

  /// From now on `trace` holds what this rank did in the last iteration of training; null: nothing
  /// does.
  void record(Trace* trace) { trace_ = trace; }

  /// Learning rate of a step (from 0) by [optimizer] and [lr_scheduler] of the configuration.
  double learning_rate_of(std::int64_t step) const;
  /// Null on a rank that the plan leaves out.
  DeviceModel* device() { return device_.get(); }
  /// Optimizer of what this rank updates; null on a rank that the plan leaves out.
  Optimizer* optimizer() { return optimizer_.get(); }
  /// Scale of the loss, equal on all ranks: `train` takes it and brings it up to date after each
  /// step.
  LossScale& loss_scale() { return loss_scale_; }
  /// Allocator of this rank's device memory, which counts the bytes in use and their peak.
  Arena& arena() { return arena_; }
  /// Configuration that the session was made with, as a copy of its own.
  const Config& config() const { return config_; }
  /// Model that the session was made with, as a copy of its own.
  const Model& model() const { return model_; }
  /// Communicators of this rank.
  RankGroups& groups() { return *groups_; }
  /// Place of this rank's device in the plan; nothing where the plan leaves it out.
  const std::optional<Role>& role() const { return role_; }

 private:
  const Program& own(const Programs& programs) const;

  Config config_;
  Model model_;
  Plan plan_;
  RankMap map_;
  DeviceId device_id_;
  std::optional<Role> role_;
  Arena arena_;
  Waiter waiter_;
  std::vector<Tie> ties_;  ///< of the model
  Programs training_;
  Programs evaluation_;
  Program idle_training_;  ///< of a rank that the plan leaves out: the sums over all ranks
  Program idle_evaluation_;
  CommunicationDecorator* communication_;
  std::unique_ptr<RankGroups> groups_;
  std::unique_ptr<DeviceModel> device_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<ModelBalance> model_balance_;  ///< null but where experts are balanced over all
                                                 ///< layers together
  std::unique_ptr<Executor> executor_;
  std::function<StopWish()> stop_wish_;
  bool has_padding_;
  Trace* trace_ = nullptr;
  LossScale loss_scale_;
};

/// Element type of activations for a precision.
DType activation_type(Precision precision);

/// What the optimizer of a store updates, which is that of a part of the device's model.
std::vector<ParameterRun> parameter_runs(const ParameterStore& store, std::size_t part = 0);

}  // namespace pptrain
