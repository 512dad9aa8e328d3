// What is predicted of published runs with given constants of the kernels' model;
// benchmarks/published.py fits these.
//
//   published_benchmark FOLDER ... < constants
//
// A folder has job.toml, cluster.toml and plan.json. For each line of the standard input, "NUMBER
// ... NAME=VALUE ...", the runs of these numbers, from 0 on, are predicted with these constants in
// place of the fitted ones: a line of seconds and a line of the largest peaks in bytes.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <sstream>
#include <vector>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "model/build/check.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "profile/analytic.hpp"

namespace {

using namespace pptrain;

/// A run that somebody published.
struct PublishedRun {
  Config config;
  Model model;
  Cluster cluster;
  Plan plan;
};

PublishedRun read_run(const std::string& folder) {
  Config config = read_config(folder + "/job.toml");
  Cluster cluster = read_cluster(folder + "/cluster.toml");
  Model model = build_model_of(config);
  return {std::move(config), std::move(model), std::move(cluster),
          read_plan(folder + "/plan.json")};
}

/// What a line asks for.
struct Question {
  std::vector<std::size_t> runs;
  KernelConstants constants = fitted_constants();

  explicit Question(const std::string& line) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        runs.push_back(std::stoul(word));
      } else {
        constants[word.substr(0, equals)] = std::stod(word.substr(equals + 1));
      }
    }
  }
};

struct Predicted {
  double seconds = 0.0;
  double peak_bytes = 0.0;
};

Predicted predicted(const PublishedRun& run, const KernelConstants& constants) {
  const Profile profile = analytic_profile(run.config, run.model, run.cluster, constants);
  const Instance instance = {profile, run.cluster, run.plan.global_batch_size,
                             ties_of(run.config, profile)};
  PlanSimulator simulator(instance);
  const SimulatedPlan& simulated = simulator.of(run.plan);
  return {simulated.iteration_seconds,
          *std::max_element(simulated.peak_bytes.begin(), simulated.peak_bytes.end())};
}

}  // namespace

int main(int argc, char** argv) {
  std::deque<PublishedRun> runs;
  for (int i = 1; i < argc; ++i) runs.push_back(read_run(argv[i]));
  for (std::string line; std::getline(std::cin, line);) {
    const Question question(line);
    std::string seconds, peaks;
    for (const std::size_t number : question.runs) {
      const Predicted one = predicted(runs.at(number), question.constants);
      seconds += fmt::format("{:.6g} ", one.seconds);
      peaks += fmt::format("{:.6g} ", one.peak_bytes);
    }
    std::cout << seconds << '\n' << peaks << std::endl;
  }
  return 0;
}
