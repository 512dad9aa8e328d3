#include "simulate/read_order.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "profile/json.hpp"

namespace pptrain {
namespace {

/// The number at the begin of `text`, which is cut off; nothing where there is none.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<TaskKind> take_kind(std::string_view& text) {
  for (const auto& [name, kind] : {std::pair<std::string_view, TaskKind>{"BW", TaskKind::backward},
                                   {"F", TaskKind::forward},
                                   {"B", TaskKind::backward_input},
                                   {"W", TaskKind::backward_weight}}) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return kind;
  }
  return std::nullopt;
}

std::optional<Task> parse_task(std::string_view text) {
  const auto kind = take_kind(text);
  const auto chunk = kind ? take_number(text) : std::nullopt;
  if (!chunk || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  const auto micro_batch = take_number(text);
  if (!micro_batch || !text.empty()) return std::nullopt;
  return Task{*kind, ChunkId(*chunk), MicroBatchId(*micro_batch)};
}

/// What an order has run of one (chunk, micro-batch).
struct Done {
  bool forward = false;
  bool backward = false;
  bool weight = false;
};

/// The order of one device.
class OrderReader {
 public:
  OrderReader(const Plan& plan, const std::vector<ChunkPlace>& places, StageId stage)
      : plan_(plan), places_(places), stage_(stage) {}

  TaskOrder read(const JsonNode& list) {
    const std::vector<JsonNode> nodes = list.elements();
    for (const JsonNode& node : nodes) {
      const auto task = parse_task(node.string());
      if (!task) {
        node.refuse(fmt::format("\"{}\" is no task", node.string()),
                    "tasks are F, B, W or BW, a chunk, a micro-batch",
                    "write for instance \"F0.1\"");
      }
      order_.push_back(*task);
      if (task->kind == TaskKind::backward_weight)
        has_weight_.insert({task->chunk, task->micro_batch});
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) check(order_[i], nodes[i]);
    check_complete(list);
    return order_;
  }

 private:
  void check(Task& task, const JsonNode& node) {
    const auto key = std::pair(task.chunk, task.micro_batch);
    const bool lives_here =
        task.chunk.index() < places_.size() && places_[task.chunk.index()].stage == stage_;
    if (!lives_here) {
      node.refuse(fmt::format("chunk {} is not on stage {}", task.chunk.value, stage_.value),
                  "the plan says where", "give each device the tasks of its chunks");
    }
    if (task.micro_batch.value >= plan_.micro_batches) {
      node.refuse(fmt::format("there is no micro-batch {}", task.micro_batch.value),
                  fmt::format("the plan has {}, numbered from 0", plan_.micro_batches),
                  "leave the task out");
    }
    if (task.kind == TaskKind::backward_input && !has_weight_.contains(key))
      task.kind = TaskKind::backward;
    if (!run(task, done_[key])) {
      node.refuse(fmt::format("\"{}\" comes twice or too early", node.string()),
                  "F, B and W of a micro-batch come once, in this order", "move or remove it");
    }
  }

  /// Whether the task may come now.
  static bool run(const Task& task, Done& done) {
    const auto once = [](bool& mark, bool allowed) { return allowed && !mark && (mark = true); };
    switch (task.kind) {
      case TaskKind::forward: return once(done.forward, true);
      case TaskKind::backward_input: return once(done.backward, done.forward);
      case TaskKind::backward_weight: return once(done.weight, done.backward);
      case TaskKind::backward: return once(done.backward, done.forward) && once(done.weight, true);
    }
    return false;
  }

  void check_complete(const JsonNode& list) {
    for (int c = 0; c < static_cast<int>(places_.size()); ++c) {
      if (places_[c].stage != stage_) continue;
      for (int m = 0; m < plan_.micro_batches; ++m) {
        const Done& done = done_[{ChunkId(c), MicroBatchId(m)}];
        if (done.forward && done.weight) continue;
        list.refuse(
            fmt::format("chunk {} never runs {} of micro-batch {}", c, done.forward ? "B" : "F", m),
            "an iteration runs every micro-batch through every chunk", "add it");
      }
    }
  }

  const Plan& plan_;
  const std::vector<ChunkPlace>& places_;
  StageId stage_;
  TaskOrder order_;
  std::set<std::pair<ChunkId, MicroBatchId>> has_weight_;
  std::map<std::pair<ChunkId, MicroBatchId>, Done> done_;
};

}  // namespace

std::vector<TaskOrder> parse_orders(const std::string& text, const std::string& source,
                                    const Plan& plan) {
  const Json document = parse_json(text, source);
  const JsonNode root(document, source);
  const std::vector<JsonNode> lists = root.elements();
  if (static_cast<int>(lists.size()) != plan.num_devices()) {
    root.refuse(fmt::format("{} lists of tasks", lists.size()),
                fmt::format("the plan has {} devices", plan.num_devices()),
                "give one list per device");
  }
  const std::vector<ChunkPlace> places = chunk_places(plan);
  std::vector<TaskOrder> orders;
  std::size_t next = 0;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const int devices = plan.stages[s].replicas * plan.stages[s].tensor_parallel;
    for (int d = 0; d < devices; ++d, ++next) {
      const TaskOrder order = OrderReader(plan, places, StageId(s)).read(lists[next]);
      if (d == 0) orders.push_back(order);
      if (order == orders.back()) continue;
      lists[next].refuse("differs from the order of another device of its stage",
                         "all replicas and shards of a stage run the same order",
                         "make them equal");
    }
  }
  return orders;
}

std::vector<TaskOrder> read_orders(const std::string& path, const Plan& plan) {
  return parse_orders(read_text_file(path), path, plan);
}

}  // namespace pptrain
