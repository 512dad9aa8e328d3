// What the guide to other trainers says that they run is what searches for them keep to.
#include <fstream>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "config/trainer_kinds.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

/// Cells of the row that begins with `label`, without the label; empty where the page has none.
std::vector<std::string> row_of(const std::string& label) {
  std::ifstream page(source_file("docs/how-to/another-trainer.md"));
  for (std::string line; std::getline(page, line);) {
    const std::string begin = "| " + label + " | ";
    if (line.compare(0, begin.size(), begin) != 0) continue;
    std::vector<std::string> cells;
    std::size_t from = begin.size();
    for (std::size_t to; (to = line.find(" |", from)) != std::string::npos; from = to + 3) {
      cells.push_back(line.substr(from, to - from));
    }
    return cells;
  }
  return {};
}

std::string numbers(const std::vector<int>& stages) {
  std::vector<std::string> all;
  for (const int stage : stages) all.push_back(std::to_string(stage));
  return join(all);
}

std::string schedules_of(const TrainerKind& trainer) {
  return trainer.schedules.empty() ? "all" : "`" + join(trainer.schedules, "`, `") + "`";
}

std::string recomputes_of(const TrainerKind& trainer) {
  std::vector<std::string> names;
  for (const Recompute recompute : trainer.recomputes) names.push_back(to_string(recompute));
  return names.size() == 3 ? "all" : join(names);
}

TEST_CASE("the guide says what plans for each trainer are kept to", "[like]") {
  const std::vector<TrainerKind>& trainers = trainer_kinds();
  const auto holds = [&](const std::string& label, const auto& agrees) {
    const std::vector<std::string> cells = row_of(label);
    INFO(label);
    REQUIRE(cells.size() == trainers.size());
    for (std::size_t t = 0; t < trainers.size(); ++t) {
      INFO(trainers[t].name << ": " << cells[t]);
      CHECK(agrees(cells[t], trainers[t]));
    }
  };
  using Cell = const std::string&;
  using Trainer = const TrainerKind&;
  const auto yes = [](bool has) { return has ? "yes" : "no"; };
  holds("stages", [](Cell cell, Trainer t) { return (cell == "alike") == t.alike_stages; });
  holds("schedule", [](Cell cell, Trainer t) { return cell == schedules_of(t); });
  holds("tensor parallelism", [&](Cell cell, Trainer t) { return cell == yes(t.tensor); });
  holds("experts", [](Cell cell, Trainer t) {
    return (cell.find("all-to-all") != std::string::npos) == t.sent_rows;
  });
  holds("`zero_stage` of replicas of one device each",
        [](Cell cell, Trainer t) { return cell == numbers(t.zero_stages(1, 1)); });
  holds("`zero_stage` beside tensor parallelism alone", [](Cell cell, Trainer t) {
    return cell == (t.tensor ? numbers(t.zero_stages(1, 2)) : "-");
  });
  holds("`zero_stage` in a pipeline",
        [](Cell cell, Trainer t) { return cell == numbers(t.zero_stages(2, 1)); });
  holds("`zero_group = \"node\"`",
        [&](Cell cell, Trainer t) { return cell == yes(t.node_groups); });
  holds("`recompute`, one for all stages",
        [](Cell cell, Trainer t) { return cell == recomputes_of(t); });
  holds("`context`", [&](Cell cell, Trainer t) { return cell == yes(t.context); });
  holds("`offload`", [](Cell cell, Trainer t) { return (cell == "no") != t.offload; });
}

}  // namespace
}  // namespace pptrain
