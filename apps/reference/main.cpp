// Writes the pages of docs/reference that follow from the code: pptrain_reference FOLDER.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <map>

#include "catalogue_page.hpp"
#include "cluster/keys.hpp"
#include "config_page.hpp"
#include "examples.hpp"
#include "io/keys.hpp"
#include "plan/keys.hpp"
#include "planners/what_if/sweep_files.hpp"
#include "profile/keys.hpp"
#include "simulate/keys.hpp"
#include "tables.hpp"

namespace pptrain {
namespace {

std::string cluster_page() {
  return page_head("CLUSTER.toml",
                   "A cluster, as `pptrain cluster --format toml` writes it and `[cluster] file` "
                   "or `--cluster` names "
                   "it. Quantities are\nnumbers with a [unit](index.md#units), or bare numbers in "
                   "bytes, bytes per "
                   "second, FLOP "
                   "per second or seconds.") +
         cluster_example + table_sections(cluster_keys::all(), Fallback::default_value);
}

std::string profile_page() {
  return page_head("PROFILE.json",
                   "How long each layer takes on each kind of device, as `pptrain profile` writes "
                   "it; what it is for: "
                   "[profiles](../profiles.md).") +
         profile_example + table_sections(profile_keys::all(), Fallback::default_value);
}

std::string plan_page() {
  return page_head("PLAN.json",
                   "A plan, as `pptrain plan -o` writes it and `[parallelism] plan` names it; how "
                   "to read one: [read a "
                   "plan](../how-to/read-a-plan.md).") +
         plan_example + table_sections(plan_keys::all(), Fallback::default_value);
}

std::string run_page() {
  return page_head(
             "Run directory",
             "What a job leaves. Files whose keys are described on other pages can be fed back.") +
         table_section(io_keys::run_directory, Fallback::when) +
         table_section(io_keys::placement, Fallback::when) +
         "\n## trace.json\n\nEvents of [Chrome's trace "
         "format](https://docs.google.com/document/d/"
         "1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), as Perfetto and\n"
         "`chrome://tracing` open it: complete events (`ph` `X`: `name`, `cat` `compute` or "
         "`communication`, `ts`, "
         "`dur`, "
         "`pid`, `tid`) and\nmetadata (`ph` `M`) that names processes and threads. A process is a "
         "device by its "
         "number; "
         "thread 0 is what it computes,\nthread 1 what it waits for; in a simulated trace, where "
         "transfers go on "
         "beside "
         "computation, each of those that overlap has\na thread of its own. Times are "
         "microseconds, to the nanosecond, "
         "since the iteration began on that device. Events of a thread\nare in order and do not "
         "overlap. A job writes "
         "it at its end, also when it is stopped early; from `pptrain simulate --trace`\nit is the "
         "predicted one.\n";
}

std::string simulation_page() {
  return page_head("Simulations",
                   "What `pptrain simulate --format json` prints. `--order ORDER.json` takes an "
                   "array with an array of "
                   "tasks for each\ndevice, as `order` below; `BW` is B and W in one task. What is "
                   "simulated: "
                   "[simulation](../simulation.md).") +
         table_sections(simulation_keys::all(), Fallback::default_value);
}

std::string sweep_page() {
  return page_head("Sweeps",
                   "What `pptrain sweep --json` writes. `--csv` has a line for each point: the "
                   "values of the axes, then "
                   "the figures of `points[]`\nunder the same names, currency, front, plan and why "
                   "there is none. How "
                   "to ask: [what if](../how-to/what-if.md).") +
         table_sections(sweep_keys::all(), Fallback::default_value);
}

std::string metrics_page() {
  return page_head("metrics.h5",
                   "Series of a run, each with the attributes `units` and `description`; how to "
                   "read them while the job "
                   "runs: [report](../report.md).") +
         table_sections(io_keys::metrics(), Fallback::when) +
         "\n## /plan\n\nThe plan, as PLAN.json.\n" +
         table_section(io_keys::environment, Fallback::when);
}

std::string checkpoint_page() {
  return page_head("Checkpoints",
                   "Who can go on from `checkpoints/step-N.h5`, and how it is written: "
                   "[checkpoints](../checkpoints.md).") +
         table_section(io_keys::checkpoint, Fallback::when) +
         table_section(io_keys::state, Fallback::when);
}

void write(const std::string& folder, const std::string& name, const std::string& text) {
  std::ofstream file(folder + "/" + name);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(folder + "/" + name + " cannot be written");
}

}  // namespace
}  // namespace pptrain

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: pptrain_reference FOLDER\n");
    return 2;
  }
  try {
    const std::string folder = argv[1];
    pptrain::write(folder, "config.md", pptrain::config_page());
    pptrain::write(folder, "cluster.md", pptrain::cluster_page());
    pptrain::write(folder, "catalogue.md", pptrain::catalogue_page());
    pptrain::write(folder, "profile.md", pptrain::profile_page());
    pptrain::write(folder, "plan.md", pptrain::plan_page());
    pptrain::write(folder, "run-directory.md", pptrain::run_page());
    pptrain::write(folder, "simulation.md", pptrain::simulation_page());
    pptrain::write(folder, "sweep.md", pptrain::sweep_page());
    pptrain::write(folder, "metrics.md", pptrain::metrics_page());
    pptrain::write(folder, "checkpoint.md", pptrain::checkpoint_page());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
