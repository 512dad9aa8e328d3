#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "schedule/replay.hpp"
#include "support/files.hpp"

namespace pptrain {

/// A recorded schedule of tests/data/schedules (see the README there).
struct ScheduleRecord {
  std::string schedule;
  std::string name;  ///< for messages
  PipelineShape shape;
  std::vector<TaskOrder> orders;
  int limit = 0;  ///< micro-batches that the scheduler might store; 0: no limit
  double makespan = 0.0;
  std::vector<int> peaks;  ///< per rank, from F to W
};

/// `F0.3`, or `F3` on a rank with one chunk.
inline Task parse_task(const std::string& text, int rank) {
  const std::size_t digits = text.find_first_of("0123456789");
  const std::size_t dot = text.find('.');
  const std::string kind = text.substr(0, digits);
  Task task;
  task.kind = kind == "F"   ? TaskKind::forward
              : kind == "B" ? TaskKind::backward_input
              : kind == "W" ? TaskKind::backward_weight
                            : TaskKind::backward;
  task.chunk =
      ChunkId(dot == std::string::npos ? rank : std::stoi(text.substr(digits, dot - digits)));
  task.micro_batch =
      MicroBatchId(std::stoi(text.substr(dot == std::string::npos ? digits : dot + 1)));
  return task;
}

inline TaskOrder parse_order(const std::string& text, int rank) {
  std::istringstream words(text);
  TaskOrder order;
  for (std::string word; words >> word;) order.push_back(parse_task(word, rank));
  return order;
}

/// A cost of a record: one for all chunks, or one each.
inline double cost_of(const nlohmann::json& cost, int chunk) {
  return cost.is_array() ? cost.at(static_cast<std::size_t>(chunk)).get<double>()
                         : cost.get<double>();
}

inline ScheduleRecord record_of(const nlohmann::json& json) {
  ScheduleRecord record;
  record.schedule = json.at("schedule").get<std::string>();
  record.makespan = json.at("replay_makespan").get<double>();
  record.peaks = json.at("peak_inflight_until_W").get<std::vector<int>>();
  if (json.contains("mem_limit_in_full_activations") &&
      json.at("mem_limit_in_full_activations").is_number()) {
    record.limit = json.at("mem_limit_in_full_activations").get<int>();
  }
  PipelineShape& shape = record.shape;
  shape.ranks = json.at("p").get<int>();
  shape.chunks_per_rank = json.at("v").get<int>();
  shape.micro_batches = json.at("m").get<int>();
  if (record.schedule == "zbv_auto") shape.placement = ChunkPlacement::v_shape;
  for (int c = 0; c < shape.num_chunks(); ++c) {
    shape.seconds.push_back({cost_of(json.at("cost_f"), c), cost_of(json.at("cost_b"), c),
                             cost_of(json.at("cost_w"), c)});
  }
  shape.cuts.assign(shape.seconds.size() - 1, json.at("comm").get<double>());
  for (int r = 0; r < shape.ranks; ++r) {
    record.orders.push_back(
        parse_order(json.at("order").at(static_cast<std::size_t>(r)).get<std::string>(), r));
  }
  record.name = record.schedule + " p" + std::to_string(shape.ranks) + " v" +
                std::to_string(shape.chunks_per_rank) + " m" + std::to_string(shape.micro_batches) +
                " " + json.at("cost").get<std::string>() + " limit " + std::to_string(record.limit);
  return record;
}

inline const std::vector<ScheduleRecord>& schedule_records() {
  static const std::vector<ScheduleRecord> records = [] {
    std::ifstream file(test_data("schedules/schedules.json"));
    std::vector<ScheduleRecord> all;
    const nlohmann::json document = nlohmann::json::parse(file);
    for (const nlohmann::json& json : document.at("records")) all.push_back(record_of(json));
    return all;
  }();
  return records;
}

}  // namespace pptrain
