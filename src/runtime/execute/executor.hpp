#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "data/dataset.hpp"
#include "kernels/kernels.hpp"
#include "optim/optimizer.hpp"
#include "program/program.hpp"
#include "program/trace.hpp"
#include "runtime/execute/activation_offload.hpp"
#include "runtime/execute/device_model.hpp"
#include "runtime/execute/device_times.hpp"
#include "runtime/execute/expert_loads.hpp"
#include "runtime/execute/groups.hpp"
#include "runtime/execute/model_balance.hpp"
#include "runtime/execute/stop_wish.hpp"
#include "tensor/device_copy.hpp"

namespace pptrain {

/// Writes one sample of the current step's global batch.
using SampleSource = std::function<void(std::int64_t sample, const SampleSlot& slot)>;

/// What an iteration works on.
struct Iteration {
  SampleSource samples;
  std::int64_t step = 0;
  double learning_rate = 0.0;
  double gradient_clip = 0.0;
  Trace* trace = nullptr;  ///< where tasks and waits are left, in place of what it held; null: nowhere
  std::function<StopWish()> stop_wish = {};        ///< whether this rank wants the training to stop; empty: never
  double loss_scale = 1.0;                         ///< of the gradients
  std::int64_t skipped_steps = 0;                  ///< steps so far that the optimizer has not seen
  std::optional<std::uint64_t> dropout_seed = {};  ///< nothing: no element is dropped
  LossForm loss_form = {};                         ///< as `Batch` has it
  double router_aux_loss = 0.0;                    ///< weight of the balance of experts in the loss
  bool needs_documents = false;  ///< attention stays within documents, so layers are told where these begin
  bool has_padding = false;      ///< layers are told where it begins in the tokens of a sample
  /// How many samples of the global batch, the first ones, the loss is over; the others only fill it up. Nothing: all.
  std::optional<std::int64_t> counted_samples = {};
};

/// What came out of it. Loss and norm are known on every rank.
struct IterationResult {
  double loss = 0.0;     ///< mean over all targets of the global batch that count, before the update
  double balance = 0.0;  ///< of experts, its mean over layers and micro-batches; with its weight part of the loss
  std::vector<double> expert_rows = {};  ///< how many went to each expert, as `ExpertLoads` has them; training alone
  std::int64_t targets = 0;              ///< how many these are
  double grad_norm = 0.0;                ///< before clipping, without the loss scale
  double loss_scale = 1.0;
  bool skipped = false;  ///< no update: gradients were not finite; known on every rank
  double seconds = 0.0;
  double communication_seconds = 0.0;  ///< waiting in collectives, by the device's clock; so the next one
  double idle_seconds = 0.0;           ///< waiting for another stage
  StopWish stop = StopWish::none;      ///< the strongest wish of some rank; known on every rank
  double cpu_seconds = 0.0;            ///< of this thread, waiting left out; of a GPU: compute_seconds()
  int peak_stored = 0;                 ///< most (micro-batch, chunk) activations between start of F and end of W
  /// Seconds of the iteration in which the device waited for nobody.
  double compute_seconds() const { return seconds - communication_seconds - idle_seconds; }
};

/// What an executor works with, which outlives it. On a rank that the plan leaves out `device` and `optimizer` may be
/// null; such a rank takes part in sums over all ranks only.
struct ExecutorParts {
  const Model& model;
  const Plan& plan;
  const std::vector<Tie>& ties;
  const RankMap& map;
  std::optional<Role> role;
  DeviceModel* device;
  Optimizer* optimizer;
  RankGroups& groups;
  Waiter& waiter;
  Arena& arena;
  Kernels& kernels;
  ModelBalance* model_balance = nullptr;  ///< of a job whose experts are balanced over all layers; else null
};

/// Runs a program against memory, kernels and communicators.
class Executor {
 public:
  explicit Executor(const ExecutorParts& parts);

  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// One iteration of a training or evaluation program. Collective over all ranks.
  IterationResult run(const Program& program, const Iteration& iteration);

 private:
  /// Sums over an iteration, in the device's memory.
  struct Sums {
    Buffer buffer;
    /// Sum of the losses of this device's targets, not yet divided by their number.
    double* loss() const { return static_cast<double*>(buffer.data()); }
    /// Sum of the squares of the gradients that count here, with the loss scale in them.
    double* squares() const { return loss() + 1; }
    /// Each chunk has a sum for itself: the order in which tasks of chunks alternate decides none.
    double* balance(ChunkId chunk) const { return loss() + 2 + chunk.value; }
  };
  using BoundaryKey = std::tuple<Payload, int, int>;  // payload, chunk, micro-batch; of tied gradients: both ends
  struct Incoming {
    Tensor data;
    std::map<std::int64_t, PendingPtr> parts;  // by first sample or row
  };
  struct Outgoing {
    std::shared_ptr<Tensor> data;
    PendingPtr pending;
  };
  /// What a task of (chunk, micro-batch) keeps between its passes.
  struct Activation {
    std::vector<Batch> batches;  ///< of each part
    DeviceCopy<std::uint32_t> tokens;
    DeviceCopy<std::uint32_t> token_types;
    DeviceCopy<std::int32_t> targets;
    DeviceCopy<float> features;
    DeviceCopy<float> drawings;
    std::deque<DeviceCopy<std::int32_t>> documents;  ///< of each part; empty where attention reaches across documents
    std::deque<DeviceCopy<std::int32_t>> input_lengths;    ///< of each part, where data have padding
    std::deque<DeviceCopy<std::uint32_t>> decoder_tokens;  ///< of each part; empty where no layer reads them
    std::vector<std::vector<SavedPtr>> saved;              ///< of each layer of each part
  };

  /// What an iteration leaves in the trace.
  struct Traced {
    const Instruction* instruction;
    Lane lane;
    DeviceTimes::Point begin, end;
  };

  std::int64_t count_targets(const Iteration& iteration) const;
  /// Rows of the global batch that pass through layers.
  double global_rows() const { return static_cast<double>(plan_.global_batch_size * model_.sample.rows); }
  /// What sums over the targets are divided by; a batch without any has a loss of 0.
  double divisor() const { return static_cast<double>(std::max<std::int64_t>(result_.targets, 1)); }
  void run_instruction(const Program& program, std::size_t number, const Iteration& iteration);
  void execute_traced(const Program& program, const Instruction& instruction, const Iteration& iteration);
  void execute(const Instruction& instruction, const Iteration& iteration);
  void wait_for_sends(const Iteration& iteration);
  void count_times(double cpu_start);
  void write_trace(const Program& program, Trace& trace);
  void forward(const Instruction& instruction, const Iteration& iteration, bool keep);
  void backward_input(const Instruction& instruction, bool with_weight);
  void backward_weight(const Instruction& instruction);
  void post_receive(const Instruction& instruction);
  void wait_beside_replicas(Pending& transfer);
  void wait_receive(const Instruction& instruction);
  void gather_received(const Instruction& instruction);
  void send(const Instruction& instruction);
  void hand_over(const Instruction& instruction);
  void add_tied_gradients(int end);
  void wait_gradients();
  void reduce_loss(const Iteration& iteration);
  void reduce_norm(const Iteration& iteration);
  void update(const Iteration& iteration);
  void step(const Iteration& iteration);

  void fetch_for_next(const Instruction& task);
  void keep_or_send(const Instruction& task, bool last, Saved& saved);
  void bring_back(const Instruction& task, const Activation& activation, std::size_t part, std::size_t layer);
  template <class SlotOf>
  void read_samples(const Instruction& task, const Iteration& iteration, Interval own, const SlotOf& slot_of) const;
  void load_inputs(Activation& activation, const Instruction& instruction, const Iteration& iteration) const;
  void load_targets(Activation& activation, const Instruction& instruction, const Iteration& iteration) const;
  void load_documents(Activation& activation, const Instruction& instruction, const Iteration& iteration) const;
  void load_lengths(Activation& activation, const Instruction& instruction, const Iteration& iteration) const;
  void load_decoder_tokens(Activation& activation, const Instruction& instruction, const Iteration& iteration) const;
  double own_balance();
  void read_chosen_rows(Activation& activation, MicroBatchId micro_batch);
  double value_of(const double* sum);
  void wait_for_device(DeviceWorkPtr work);
  void limit_lead();
  Tensor take_input(const BoundaryKey& key);
  void put_output(const BoundaryKey& key, Tensor output);
  void release_sent();
  /// An end of a tied parameter on this device: the part that has it, and the parameter's place and rows there.
  struct TiedCopy {
    PartModel& part;
    const Tie& tie;
    Interval rows;
    /// Unit of the tied parameter in the part's store.
    std::size_t unit() const { return part.tied_unit(tie); }
    /// Gradient of this copy, in the device's memory, where sums over the replicas lie.
    Matrix gradient() const { return part.parameters().gradient_in_unit(part.tied_parameter(tie)); }
  };
  TiedCopy tied_copy(int end) const;
  bool is_last_of_unit(int end) const;
  Interval held(const Instruction& instruction) const;
  Port unit_of(const Instruction& instruction) const;
  Interval elements_of(const Instruction& instruction, Interval interval, Interval held) const;
  Incoming& incoming_of(const Instruction& instruction);
  Tensor repartitioned(const Instruction& instruction, Tensor x) const;
  int tag_of(const Instruction& instruction) const;
  std::string place() const;

  const Model& model_;
  const Plan& plan_;
  const std::vector<Tie>& ties_;
  std::vector<TieEnd> ends_;  ///< of these
  const RankMap& map_;
  std::optional<Role> role_;
  DeviceModel* device_;
  Optimizer* optimizer_;
  RankGroups& groups_;
  Waiter& waiter_;
  Arena& arena_;
  Kernels& kernels_;
  Arena values_;                    ///< of the host
  std::deque<DeviceWorkPtr> lead_;  ///< work of the device up to the ends of the last tasks
  int last_chunk_ = 0;
  std::vector<Port> cut_ports_;  ///< what crosses behind each chunk but the last

  std::map<BoundaryKey, Incoming> incoming_;
  BoundaryKey output_key_;          ///< of the last task; its sends follow it in the program
  std::shared_ptr<Tensor> output_;  ///< shared with the sends under way
  std::list<Outgoing> outgoing_;
  std::map<std::pair<int, int>, Activation> activations_;
  const Instruction* current_ = nullptr;    ///< null between iterations
  const Instruction* next_task_ = nullptr;  ///< behind the current one, or null
  std::optional<ActivationOffload> offload_;
  Sums sums_;
  ExpertLoads expert_loads_;
  ModelBalance* model_balance_;
  DeviceTimes times_;
  std::vector<Traced> traced_;
  IterationResult result_;
};

}  // namespace pptrain
