#include "model/model.hpp"
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
      : plan_(plan), places_(places), stage_(plan.stages[stage.index()]) {
    program_.device = stage_.devices[replica][shard];
    program_.stage = stage;
    program_.replica = replica;
    program_.shard = shard;
  }

  /// Tasks with their transfers. The receives of a task are posted one task ahead, so that they
  /// are under way while the device computes.
  void tasks(const TaskOrder& order, bool keep_activations) {
    if (!order.empty()) post(receives(order.front()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i + 1 < order.size()) post(receives(order[i + 1]));
      for (Instruction instruction : receives(order[i])) {
        instruction.op = Op::wait_receive;
        emit(instruction);
      }
      emit({op_of(order[i].kind, keep_activations), order[i].chunk, order[i].micro_batch});
      for (const Instruction& instruction : sends(order[i])) emit(instruction);
    }
  }

  /// Gradient reductions after the last task of an iteration, then the optimizer step.
  void finish_training(const CompileOptions& options) {
    for (int c = 0; c < num_chunks(); ++c) {
      if (places_[c].stage == program_.stage) emit({Op::reduce_gradients, ChunkId(c)});
    }
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

  static Op op_of(TaskKind kind, bool keep_activations) {
    switch (kind) {
      case TaskKind::forward: return keep_activations ? Op::forward : Op::evaluate;
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

  std::vector<Instruction> receives(const Task& task) const {
    const int chunk = task.chunk.value;
    if (task.kind == TaskKind::forward) {
      if (chunk == 0) return {};
      return receive_from(stage_of(chunk - 1), Payload::activation, chunk - 1, task.micro_batch);
    }
    if (task.kind == TaskKind::backward_weight || chunk + 1 == num_chunks()) return {};
    return receive_from(stage_of(chunk + 1), Payload::gradient, chunk, task.micro_batch);
  }

  std::vector<Instruction> sends(const Task& task) const {
    const int chunk = task.chunk.value;
    if (task.kind == TaskKind::forward) {
      if (chunk + 1 == num_chunks()) return {};
      return send_to(stage_of(chunk + 1), Payload::activation, chunk, task.micro_batch);
    }
    if (task.kind == TaskKind::backward_weight || chunk == 0) return {};
    return send_to(stage_of(chunk - 1), Payload::gradient, chunk - 1, task.micro_batch);
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
    compiler.tasks(orders[stage], true);
    compiler.finish_training(options);
  });
}

Programs compile_evaluation(const Plan& plan) {
  const std::vector<ChunkPlace> places = chunk_places(plan);
  return compile(plan, [&](DeviceCompiler& compiler, int stage) {
    TaskOrder order;
    for (int m = 0; m < plan.micro_batches; ++m) {
      for (int c = 0; c < static_cast<int>(places.size()); ++c) {
        if (places[c].stage == StageId(stage)) order.push_back({TaskKind::forward, ChunkId(c), MicroBatchId(m)});
      }
    }
    compiler.tasks(order, false);
    compiler.finish_evaluation();
  });
}

}  // namespace pptrain
