#include "export_plan/page.hpp"

#include <fmt/format.h>

#include "planners/describe/describe.hpp"

namespace pptrain {

ExportFile page_file(const ExportedPlan& exported, const ExportPage& page) {
  const Plan& plan = exported.plan;
  std::string text = fmt::format("# {} by {}\n\n", exported.model.name, page.title);
  text += fmt::format("`pptrain export-plan` wrote this folder from a plan of {}: {}, {}, ",
                      plan.planner.empty() ? "unknown origin" : "planner `" + plan.planner + "`",
                      plan.shape(), micro_batches_text(plan));
  text += fmt::format("schedule `{}`. It follows {}.\n\n## How to use it\n\n", plan.schedule.name,
                      page.version);
  for (std::size_t i = 0; i < page.steps.size(); ++i)
    text += fmt::format("{}. {}\n", i + 1, page.steps[i]);
  text += "\n## Files\n\n| file | what it is |\n|---|---|\n";
  for (const auto& [name, what] : page.files) text += fmt::format("| `{}` | {} |\n", name, what);
  text += "\n## What stands for what\n\n| of the plan | here |\n|---|---|\n";
  for (const auto& [name, what] : page.mapped) text += fmt::format("| {} | {} |\n", name, what);
  text += fmt::format("\n## What {} does in its own way\n\n", page.title);
  for (const std::string& sentence : page.differs) text += fmt::format("- {}\n", sentence);
  return {"README.md", text};
}

std::string rank_order_text() {
  return "`ranks.tsv`: ranks count the members of a replica, then the replicas of a stage, then "
         "the stages";
}

std::string predicted_runtime_text(const std::string& trainer) {
  return fmt::format(
      "Times and memory in the plan are of pptrain's own execution, unless it was made with "
      "`--like {}`.",
      trainer);
}

std::string hosts_step() {
  return "Look at `hosts.txt`. Names that the cluster's file did not say are `HOST-N`: where all "
         "devices are of one "
         "kind, `job.sbatch` takes the names that Slurm gives; else write the name of a host of "
         "the kind in each line.";
}

std::vector<std::pair<std::string, std::string>> launch_files() {
  return {{"job.sbatch", "the batch script: one task per rank, in the order of `ranks.tsv`"},
          {"rank.sh", "what each task runs; other launchers set `RANK` and `MASTER_ADDR`"},
          {"ranks.tsv", "node, local rank and place in the plan of every rank"},
          {"hosts.txt", "host name and kind of device of every node"}};
}

}  // namespace pptrain
