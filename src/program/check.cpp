#include "program/check.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "program/message_walk.hpp"
#include "program/task_check.hpp"

namespace pptrain {
namespace {

/// Gathers of received slices must come in one order on all who need the same, with equal
/// intervals.
std::string check_gathers(const Plan& plan, const Programs& programs) {
  std::map<std::tuple<int, int, bool>, std::vector<Instruction>> of_group;  // by stage, group and
                                                                            // kind
  for (const Program& program : programs) {
    std::map<std::tuple<int, int, bool>, std::vector<Instruction>> own;
    for (const Payload payload : {Payload::activation, Payload::tied_gradient}) {
      own[{program.stage.value, gather_group(plan, program, payload).number,
           payload == Payload::tied_gradient}];
    }
    for (const Instruction& i : program.instructions) {
      if (i.op != Op::gather_received) continue;
      const GatherGroup group = gather_group(plan, program, i.payload);
      own[{program.stage.value, group.number, i.is_tied()}].push_back(i);
    }
    for (const auto& [group, gathers] : own) {
      if (of_group.emplace(group, gathers).first->second == gathers) continue;
      return fmt::format("device {} gathers slices in another order than its group",
                         program.device.value);
    }
  }
  return "";
}

/// Replicas of a shard add the same rows of a tied gradient.
std::string check_tied_rows(
    const Program& program, const std::vector<TiedRows>& of_program,
    std::map<std::tuple<int, int, int>, std::optional<Interval>>& of_shard) {
  for (const TiedRows& tied : of_program) {
    const std::tuple key = {tied.end, tied.other, tied.shard};
    if (of_shard.emplace(key, tied.rows).first->second == tied.rows) continue;
    return fmt::format("device {} adds other rows of the tied gradient than its replicas",
                       program.device.value);
  }
  return "";
}

/// Collectives must come in one order on all members of a group; replicas and shards of a stage
/// are the groups, and every rank takes part in the sums of loss and norm.
std::string check_collectives(const Programs& programs) {
  std::map<int, std::pair<std::vector<int>, std::vector<int>>> of_stage;
  std::vector<int> of_all;
  for (const Program& program : programs) {
    std::vector<int> reductions;
    std::vector<int> gathers;  // in a group of their own
    std::vector<int> sums;
    for (const Instruction& i : program.instructions) {
      if (i.op == Op::reduce_gradients) reductions.push_back(i.chunk().value);
      if (i.op == Op::gather_parameters) gathers.push_back(i.chunk().value);
      if (i.op == Op::reduce_loss || i.op == Op::reduce_norm)
        sums.push_back(static_cast<int>(i.op));
    }
    const std::pair of_program = {reductions, gathers};
    const auto [expected, is_first] = of_stage.emplace(program.stage.value, of_program);
    if (&program == &programs.front()) of_all = sums;
    if (expected->second != of_program || of_all != sums) {
      return fmt::format("device {} comes to its collectives in another order than its group",
                         program.device.value);
    }
  }
  return "";
}

}  // namespace

std::string find_violation(const Plan& plan, const Programs& programs, const std::vector<Tie>& ties,
                           ReplicaTasks replicas) {
  const std::vector<TieEnd> ends = tie_ends(plan, ties);
  std::map<std::tuple<int, int, int>, std::optional<Interval>> tied_rows;  // by both ends and the
                                                                           // shard
  for (const Program& program : programs) {
    TaskReport report = check_tasks(plan, program, ends);
    if (report.violation.empty())
      report.violation = check_tied_rows(program, report.tied_rows, tied_rows);
    if (!report.violation.empty()) return report.violation;
  }
  std::string violation = check_collectives(programs);
  if (violation.empty()) violation = check_gathers(plan, programs);
  return violation.empty() ? walk_messages(plan, programs, replicas) : violation;
}

void check_programs(const Plan& plan, const Programs& programs, const std::vector<Tie>& ties,
                    ReplicaTasks replicas) {
  const std::string violation = find_violation(plan, programs, ties, replicas);
  PPTRAIN_ASSERT(violation.empty(), "the compiled programs are wrong: {}", violation);
}

}  // namespace pptrain
