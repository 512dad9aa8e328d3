#include <algorithm>

#include "model/model.hpp"
#include "schedule/chunk_gathers.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

/// What a stage holds of the rows of the shared parameter, per shard.
std::vector<Interval> vocabulary_division(const Stage& stage, std::int64_t vocabulary_size) {
  const auto shards = stage.shards.find(to_string(ShardAxis::vocabulary));
  if (shards != stage.shards.end()) return shards->second;
  return even_division(vocabulary_size, stage.tensor_parallel);
}

/// Writes the program of one device: shard `shard` of replica `replica` of a stage.
class DeviceCompiler {
 public:
  DeviceCompiler(const Plan& plan, const std::vector<ChunkPlace>& places, StageId stage, int replica, int shard)
      : plan_(plan), places_(places), stage_(plan.stages[stage.index()]), weights_left_(places.size()) {
    program_.device = stage_.devices[replica][shard];
    program_.stage = stage;
    program_.replica = replica;
    program_.shard = shard;
  }

  void training_tasks(const TaskOrder& order, const CompileOptions& options) {
    const bool shares = options.tied && places_.size() > 1 && places_.front().stage == places_.back().stage;
    for (const Task& task : order) count_weights(task, shares, +1);
    tasks(order, [&](const Task& task) {
      emit({op_of(task.kind), task.chunk, task.micro_batch});
      for (const Instruction& instruction : sends(task)) emit(instruction);
      for (const int chunk : count_weights(task, shares, -1)) emit({Op::reduce_gradients, ChunkId(chunk)});
    });
  }

  void evaluation_tasks(const TaskOrder& order) {
    tasks(order, [&](const Task& task) {
      emit({Op::evaluate, task.chunk, task.micro_batch});
      for (const Instruction& instruction : sends(task)) emit(instruction);
    });
  }

  /// What follows the last task of an iteration: the gradients of all devices, then the optimizer step.
  void finish_training(const CompileOptions& options) {
    emit({Op::wait_gradients});
    if (options.tied) tied(options.vocabulary_size);
    emit({Op::reduce_loss});
    emit({Op::reduce_norm});
    emit({Op::step});
  }

  void finish_evaluation() { emit({Op::reduce_loss}); }

  Program take() { return std::move(program_); }

 private:
  int num_chunks() const { return static_cast<int>(places_.size()); }
  const Stage& stage_of(int chunk) const { return plan_.stages[places_[chunk].stage.index()]; }
  void emit(const Instruction& instruction) { program_.instructions.push_back(instruction); }
  void post(const std::vector<Instruction>& receives) {
    for (const Instruction& receive : receives) emit(receive);
  }

  /// Tasks with what they wait for. The receives of a task are posted one task ahead, so that they
  /// are under way while the device computes.
  template <class Write>
  void tasks(const TaskOrder& order, const Write& write) {
    const ChunkGathers gathers = stage_.gathers_chunks() ? chunk_gathers(order) : ChunkGathers();
    if (!order.empty()) post(receives(order.front()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (stage_.gathers_chunks()) {
        for (const ChunkId chunk : gathers.before[i]) emit({Op::gather_parameters, chunk});
      }
      if (i + 1 < order.size()) post(receives(order[i + 1]));
      for (Instruction instruction : receives(order[i])) {
        instruction.op = Op::wait_receive;
        emit(instruction);
      }
      write(order[i]);
      if (stage_.gathers_chunks()) {
        for (const ChunkId chunk : gathers.after[i]) emit({Op::release_parameters, chunk});
      }
    }
  }

  /// Counts a task that adds to the gradients of its chunk. Returns the chunks whose gradients want no
  /// more: each is reduced at once, beside the tasks of the others. A tied embedding that first and last
  /// chunk share on this stage belongs to the first chunk and gets gradients of both.
  std::vector<int> count_weights(const Task& task, bool shares, int change) {
    if (task.kind != TaskKind::backward && task.kind != TaskKind::backward_weight) return {};
    std::vector<int> chunks = {task.chunk.value};
    if (shares && task.chunk.value + 1 == num_chunks()) chunks.push_back(0);
    for (const int chunk : chunks) weights_left_[chunk] += change;
    std::erase_if(chunks, [&](int chunk) { return weights_left_[chunk] > 0; });
    return chunks;
  }

  static Op op_of(TaskKind kind) {
    switch (kind) {
      case TaskKind::forward: return Op::forward;
      case TaskKind::backward_input: return Op::backward_input;
      case TaskKind::backward_weight: return Op::backward_weight;
      case TaskKind::backward: return Op::backward;
    }
    return Op::forward;
  }

  /// The overlaps of this replica's samples with those of each replica of `other`.
  std::vector<Overlap> overlaps(const Stage& other) const {
    return intersect({stage_.samples[program_.replica]}, other.samples);
  }

  /// Tensor-parallel members hold equal copies of what crosses a cut; member k of the receiver is
  /// served by member k mod n of the sender.
  std::vector<Instruction> receive_from(const Stage& sender, Payload payload, int cut, MicroBatchId micro_batch) const {
    std::vector<Instruction> result;
    for (const Overlap& overlap : overlaps(sender)) {
      const DeviceId peer = sender.devices[overlap.to][program_.shard % sender.tensor_parallel];
      result.push_back({Op::post_receive, ChunkId(cut), micro_batch, payload, peer, overlap.interval});
    }
    return result;
  }

  std::vector<Instruction> send_to(const Stage& receiver, Payload payload, int cut, MicroBatchId micro_batch) const {
    std::vector<Instruction> result;
    for (const Overlap& overlap : overlaps(receiver)) {
      for (int k = program_.shard; k < receiver.tensor_parallel; k += stage_.tensor_parallel) {
        result.push_back(
            {Op::send, ChunkId(cut), micro_batch, payload, receiver.devices[overlap.to][k], overlap.interval});
      }
    }
    return result;
  }

  bool is_own(int chunk) const { return places_[chunk].stage == program_.stage; }

  /// Nothing for a neighbouring chunk on this device, which hands its output over.
  std::vector<Instruction> receives(const Task& task) const {
    const int chunk = task.chunk.value;
    if (task.kind == TaskKind::forward) {
      if (chunk == 0 || is_own(chunk - 1)) return {};
      return receive_from(stage_of(chunk - 1), Payload::activation, chunk - 1, task.micro_batch);
    }
    if (task.kind == TaskKind::backward_weight || chunk + 1 == num_chunks() || is_own(chunk + 1)) return {};
    return receive_from(stage_of(chunk + 1), Payload::gradient, chunk, task.micro_batch);
  }

  std::vector<Instruction> sends(const Task& task) const {
    const int chunk = task.chunk.value;
    if (task.kind == TaskKind::forward) {
      if (chunk + 1 == num_chunks()) return {};
      return give_to(chunk + 1, Payload::activation, chunk, task.micro_batch);
    }
    if (task.kind == TaskKind::backward_weight || chunk == 0) return {};
    return give_to(chunk - 1, Payload::gradient, chunk - 1, task.micro_batch);
  }

  std::vector<Instruction> give_to(int neighbour, Payload payload, int cut, MicroBatchId micro_batch) const {
    if (!is_own(neighbour)) return send_to(stage_of(neighbour), payload, cut, micro_batch);
    return {{Op::hand_over, ChunkId(cut), micro_batch, payload, program_.device, stage_.samples[program_.replica]}};
  }

  /// First and last chunk each send what the other holds of the shared parameter's gradient,
  /// already summed over their replicas.
  void tied(std::int64_t vocabulary_size) {
    const int last = num_chunks() - 1;
    const StageId first_stage = places_[0].stage;
    const StageId last_stage = places_[last].stage;
    if (first_stage == last_stage) return;
    const bool is_first = program_.stage == first_stage;
    if (!is_first && program_.stage != last_stage) return;
    const Stage& other = plan_.stages[(is_first ? last_stage : first_stage).index()];
    const Interval mine = vocabulary_division(stage_, vocabulary_size)[program_.shard];
    const ChunkId my_chunk(is_first ? 0 : last);
    const ChunkId other_chunk(is_first ? last : 0);
    std::vector<Instruction> receives;
    std::vector<Instruction> sends;
    for (const Overlap& overlap : intersect({mine}, vocabulary_division(other, vocabulary_size))) {
      const DeviceId peer = other.devices[program_.replica % other.replicas][overlap.to];
      receives.push_back({Op::post_receive, my_chunk, MicroBatchId(0), Payload::tied_gradient, peer, overlap.interval});
      for (int r = program_.replica; r < other.replicas; r += stage_.replicas) {
        sends.push_back({Op::send, other_chunk, MicroBatchId(0), Payload::tied_gradient, other.devices[r][overlap.to],
                         overlap.interval});
      }
    }
    for (const Instruction& receive : receives) emit(receive);
    for (const Instruction& send : sends) emit(send);
    for (Instruction receive : receives) {
      receive.op = Op::wait_receive;
      emit(receive);
    }
    emit({Op::reduce_tied, my_chunk});
  }

  const Plan& plan_;
  const std::vector<ChunkPlace>& places_;
  const Stage& stage_;
  std::vector<std::int64_t> weights_left_;  ///< per chunk, tasks that still add to its gradients
  Program program_;
};

template <class Write>
Programs compile(const Plan& plan, const Write& write) {
  const std::vector<ChunkPlace> places = chunk_places(plan);
  Programs programs;
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (int r = 0; r < plan.stages[s].replicas; ++r) {
      for (int k = 0; k < plan.stages[s].tensor_parallel; ++k) {
        DeviceCompiler compiler(plan, places, StageId(s), r, k);
        write(compiler, s);
        programs.push_back(compiler.take());
      }
    }
  }
  return programs;
}

}  // namespace

Programs compile_training(const Plan& plan, const std::vector<TaskOrder>& orders, const CompileOptions& options) {
  return compile(plan, [&](DeviceCompiler& compiler, int stage) {
    compiler.training_tasks(orders[stage], options);
    compiler.finish_training(options);
  });
}

Programs compile_evaluation(const Plan& plan) {
  const std::vector<ChunkPlace> places = chunk_places(plan);
  return compile(plan, [&](DeviceCompiler& compiler, int stage) {
    // As many micro-batches as there are stages go through all chunks before the next, so that all stages work.
    const auto group = static_cast<std::int64_t>(plan.stages.size());
    TaskOrder order;
    for (std::int64_t first = 0; first < plan.micro_batches; first += group) {
      for (int c = 0; c < static_cast<int>(places.size()); ++c) {
        if (places[c].stage != StageId(stage)) continue;
        for (std::int64_t m = first; m < std::min(first + group, plan.micro_batches); ++m) {
          order.push_back({TaskKind::forward, ChunkId(c), MicroBatchId(static_cast<int>(m))});
        }
      }
    }
    compiler.evaluation_tasks(order);
    compiler.finish_evaluation();
  });
}

}  // namespace pptrain
