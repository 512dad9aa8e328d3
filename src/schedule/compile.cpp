#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "schedule/chunk_gathers.hpp"
#include "schedule/crossings.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

/// Writes the program of one device: shard `shard` of replica `replica` of a stage.
class DeviceCompiler {
 public:
  DeviceCompiler(const Plan& plan, const std::vector<ChunkPlace>& places, Crossings& crossings,
                 StageId stage, int replica, int shard)
      : places_(places),
        crossings_(crossings),
        stage_(plan.stages[stage.index()]),
        weights_left_(places.size()),
        known_crossings_(2 * places.size()) {
    program_.device = stage_.devices[replica][shard];
    program_.stage = stage;
    program_.replica = replica;
    program_.shard = shard;
  }

  void training_tasks(const TaskOrder& order, const CompileOptions& options) {
    find_owners(options.ties);
    for (const Task& task : order) count_weights(task, +1);
    tasks(order, [&](const Task& task) {
      emit({op_of(task.kind), TaskPlace{task.chunk, task.micro_batch}});
      give_output(task);
      for (const int chunk : count_weights(task, -1))
        emit({Op::reduce_gradients, TaskPlace{ChunkId(chunk)}});
    });
  }

  void evaluation_tasks(const TaskOrder& order) {
    tasks(order, [&](const Task& task) {
      emit({Op::evaluate, TaskPlace{task.chunk, task.micro_batch}});
      give_output(task);
    });
  }

  /// What follows the last task of an iteration: the gradients of all devices, then the optimizer
  /// step.
  void finish_training() {
    emit({Op::wait_gradients});
    tied();
    emit({Op::reduce_loss});
    emit({Op::reduce_norm});
    emit({Op::step});
  }

  void finish_evaluation() { emit({Op::reduce_loss}); }

  Program take() { return std::move(program_); }

 private:
  int num_chunks() const { return static_cast<int>(places_.size()); }
  void emit(const Instruction& instruction) { program_.instructions.push_back(instruction); }
  void emit_all(const std::vector<Instruction>& instructions,
                std::optional<MicroBatchId> micro_batch = {}) {
    for (Instruction instruction : instructions) {
      if (micro_batch) std::get<TaskPlace>(instruction.place).micro_batch = *micro_batch;
      emit(instruction);
    }
  }

  /// Until what was posted is here, whole. Without a micro-batch the instructions have theirs.
  void await(const Crossing& crossing, std::optional<MicroBatchId> micro_batch = {}) {
    const std::size_t first = program_.instructions.size();
    emit_all(crossing.receives, micro_batch);
    for (std::size_t i = first; i < program_.instructions.size(); ++i)
      program_.instructions[i].op = Op::wait_receive;
    emit_all(crossing.gathers, micro_batch);
  }

  /// Tasks with what they wait for. The receives of a task are posted one task ahead, so that they
  /// are under way while the device computes.
  template <class Write>
  void tasks(const TaskOrder& order, const Write& write) {
    const ChunkGathers gathers = stage_.gathers_chunks() ? chunk_gathers(order) : ChunkGathers();
    if (!order.empty()) post_input(order.front());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (stage_.gathers_chunks()) {
        for (const ChunkId chunk : gathers.before[i])
          emit({Op::gather_parameters, TaskPlace{chunk}});
      }
      if (i + 1 < order.size()) post_input(order[i + 1]);
      if (const Crossing* input = input_of(order[i])) await(*input, order[i].micro_batch);
      write(order[i]);
      if (stage_.gathers_chunks()) {
        for (const ChunkId chunk : gathers.after[i])
          emit({Op::release_parameters, TaskPlace{chunk}});
      }
    }
  }

  /// A tied parameter that one part of this stage has for layers of several chunks belongs to the
  /// first of these, and gets gradients of all.
  void find_owners(const std::vector<Tie>& ties) {
    const StageParts parts(stage_);
    for (const Tie& tie : ties) {
      std::map<const StagePart*, int> owners;
      for (const std::int64_t layer : tie.layers) {
        if (!contains(stage_.layers, layer)) continue;
        const int chunk = chunk_of(layer);
        const int owner = owners.emplace(&parts.part_at(layer), chunk).first->second;
        if (owner != chunk) owners_[chunk].insert(owner);
      }
    }
  }
  int chunk_of(std::int64_t layer) const {
    const auto has = [layer](const ChunkPlace& place) {
      return place.layers.begin <= layer && layer < place.layers.end;
    };
    return static_cast<int>(std::find_if(places_.begin(), places_.end(), has) - places_.begin());
  }

  /// Counts a task that adds to the gradients of its chunk, and of those that own parameters of it.
  /// Returns the chunks whose gradients want no more: each is reduced at once, beside the tasks of
  /// the others.
  std::vector<int> count_weights(const Task& task, int change) {
    if (task.kind != TaskKind::backward && task.kind != TaskKind::backward_weight) return {};
    std::vector<int> chunks = {task.chunk.value};
    if (const auto owners = owners_.find(task.chunk.value); owners != owners_.end()) {
      chunks.insert(chunks.end(), owners->second.begin(), owners->second.end());
    }
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

  bool is_own(int chunk) const { return places_[chunk].stage == program_.stage; }

  /// What this device does for a payload at a cut; looked up once.
  const Crossing& crossing(Payload payload, int cut) {
    const Crossing*& known =
        known_crossings_[2 * static_cast<std::size_t>(cut) + (payload == Payload::gradient)];
    if (known == nullptr) known = &crossings_.at(program_, payload, cut);
    return *known;
  }

  /// Where the input of a task crosses to this device. Nothing from a neighbouring chunk on this
  /// device, which hands its output over.
  const Crossing* input_of(const Task& task) {
    const int chunk = task.chunk.value;
    if (task.kind == TaskKind::forward) {
      if (chunk == 0 || is_own(chunk - 1)) return nullptr;
      return &crossing(Payload::activation, chunk - 1);
    }
    if (task.kind == TaskKind::backward_weight || chunk + 1 == num_chunks() || is_own(chunk + 1))
      return nullptr;
    return &crossing(Payload::gradient, chunk);
  }

  void post_input(const Task& task) {
    if (const Crossing* input = input_of(task)) emit_all(input->receives, task.micro_batch);
  }

  void give_output(const Task& task) {
    const int chunk = task.chunk.value;
    if (task.kind == TaskKind::forward) {
      if (chunk + 1 < num_chunks())
        give_to(chunk + 1, Payload::activation, chunk, task.micro_batch);
    } else if (task.kind != TaskKind::backward_weight && chunk > 0) {
      give_to(chunk - 1, Payload::gradient, chunk - 1, task.micro_batch);
    }
  }

  void give_to(int neighbour, Payload payload, int cut, MicroBatchId micro_batch) {
    if (is_own(neighbour)) {
      const Mesh& mesh = payload == Payload::activation ? crossings_.entry_of(neighbour)
                                                        : crossings_.exit_of(neighbour);
      const MeshPlace place =
          place_in(mesh, program_.replica * stage_.tensor_parallel + program_.shard);
      emit({Op::hand_over, TaskPlace{ChunkId(cut), micro_batch}, payload, program_.device,
            mesh.samples[place.replica]});
    } else {
      emit_all(crossing(payload, cut).sends, micro_batch);
    }
  }

  /// The ends of tied parameters on this stage get the gradients of all the others, and add them.
  void tied() {
    const std::vector<TieEnd>& ends = crossings_.tie_ends();
    std::vector<int> own;
    std::vector<Crossing> crossings;
    for (std::size_t e = 0; e < ends.size(); ++e) {
      if (ends[e].stage != program_.stage) continue;
      own.push_back(static_cast<int>(e));
      for (std::size_t f = 0; f < ends.size(); ++f) {
        if (are_tied(ends[e], ends[f]))
          crossings.push_back(crossings_.tied(program_, own.back(), static_cast<int>(f)));
      }
    }
    for (const Crossing& crossing : crossings) emit_all(crossing.receives);
    for (const Crossing& crossing : crossings) emit_all(crossing.sends);
    for (const Crossing& crossing : crossings) await(crossing);
    for (const int end : own) emit({Op::reduce_tied, TiePlace{end}});
  }

  const std::vector<ChunkPlace>& places_;
  Crossings& crossings_;
  const Stage& stage_;
  std::vector<std::int64_t> weights_left_;  ///< per chunk, tasks that still add to its gradients
  std::map<int, std::set<int>> owners_;  ///< of a chunk: earlier ones to whose gradients its tasks
                                         ///< add
  std::vector<const Crossing*> known_crossings_;  ///< by cut and direction
  Program program_;
};

/// Programs of all devices, or of those whose indices are in `some`, which ascend.
template <class Write>
Programs compile(const Plan& plan, const std::vector<ChunkPlace>& places, Crossings& crossings,
                 const std::vector<int>* some, const Write& write) {
  Programs programs;
  int device = 0;
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (int r = 0; r < plan.stages[s].replicas; ++r) {
      for (int k = 0; k < plan.stages[s].tensor_parallel; ++k, ++device) {
        if (some && !std::binary_search(some->begin(), some->end(), device)) continue;
        DeviceCompiler compiler(plan, places, crossings, StageId(s), r, k);
        write(compiler, s);
        programs.push_back(compiler.take());
      }
    }
  }
  return programs;
}

}  // namespace

TrainingCompiler::TrainingCompiler(const Plan& plan, CompileOptions options)
    : plan_(plan),
      options_(std::move(options)),
      places_(chunk_places(plan)),
      crossings_(std::make_unique<Crossings>(plan, places_, options_)) {}

TrainingCompiler::~TrainingCompiler() = default;

Programs TrainingCompiler::compile(const std::vector<TaskOrder>& orders,
                                   const std::vector<int>* some) {
  return pptrain::compile(plan_, places_, *crossings_, some,
                          [&](DeviceCompiler& compiler, int stage) {
                            compiler.training_tasks(orders[stage], options_);
                            compiler.finish_training();
                          });
}

Programs compile_training(const Plan& plan, const std::vector<TaskOrder>& orders,
                          const CompileOptions& options) {
  return TrainingCompiler(plan, options).compile(orders, nullptr);
}

Programs compile_training(const Plan& plan, const std::vector<TaskOrder>& orders,
                          const CompileOptions& options, const std::vector<int>& some) {
  return TrainingCompiler(plan, options).compile(orders, &some);
}

Programs compile_evaluation(const Plan& plan, const TransferForms& forms) {
  const std::vector<ChunkPlace> places = chunk_places(plan);
  Crossings crossings(plan, places, {{}, forms});
  return compile(plan, places, crossings, nullptr, [&](DeviceCompiler& compiler, int stage) {
    // As many micro-batches as there are stages go through all chunks before the next, so that all
    // stages work.
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
