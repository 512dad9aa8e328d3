// Plans a model for a cluster and simulates the plan, through libpptrain_plan:
//
//   plan_and_simulate CLUSTER.toml PROFILE.json SAMPLES_PER_STEP
#include <exception>
#include <iostream>
#include <pptrain/base/error.hpp>
#include <pptrain/cluster/read.hpp>
#include <pptrain/plan/plan.hpp>
#include <pptrain/planners/judge/planned_orders.hpp>
#include <pptrain/planners/search.hpp>
#include <pptrain/profile/profile.hpp>
#include <pptrain/simulate/simulate.hpp>
#include <string>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "Usage: plan_and_simulate CLUSTER.toml PROFILE.json SAMPLES_PER_STEP\n";
    return 2;
  }
  try {
    const pptrain::Instance instance = {
        pptrain::read_profile(argv[2]), pptrain::read_cluster(argv[1]), std::stoll(argv[3]), {}};
    pptrain::check_instance(instance, argv[2]);
    pptrain::Restrictions free;  // chunks, recomputation and ZeRO are as the planner likes, as
                                 // where no key is set
    free.virtual_stages.reset();
    free.recompute.reset();
    free.zero_stage.reset();
    const pptrain::SearchResult found =
        pptrain::search_plan("auto", instance, free, "plan_and_simulate", pptrain::Stop(10.0));
    if (!found.plan) {
      std::cerr << found.why_not << "\n";
      return 3;
    }
    const pptrain::Programs programs = pptrain::planned_programs(instance, *found.plan);
    const pptrain::Simulation simulation = pptrain::simulate(instance, *found.plan, programs);
    std::cout << found.plan->shape() << ", " << found.plan->schedule.name << "\n"
              << "an iteration takes " << simulation.makespan_seconds << " s, "
              << 100.0 * simulation.bubble_fraction() << " % of it idle\n";
    for (const pptrain::SimulatedDevice& device : simulation.devices) {
      std::cout << "device " << device.device.value << ": " << device.peak_bytes / 1e9 << " GB\n";
    }
  } catch (const pptrain::Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {  // of std::stoll
    std::cerr << "SAMPLES_PER_STEP: " << error.what() << "\n";
    return 2;
  }
}
