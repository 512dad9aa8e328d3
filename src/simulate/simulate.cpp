#include "simulate/simulate.hpp"

#include <algorithm>

#include "simulate/simulator.hpp"

namespace pptrain {

double Simulation::bubble_fraction() const {
  if (makespan_seconds <= 0.0) return 0.0;
  double busy = 0.0;
  for (const SimulatedDevice& device : devices) busy += device.busy_seconds;
  return std::max(0.0, 1.0 - busy / (static_cast<double>(devices.size()) * makespan_seconds));
}

Simulation simulate(const Instance& instance, const Plan& plan, const Programs& programs,
                    const SimulateOptions& options) {
  return Simulator(instance, plan, programs, options).run();
}

}  // namespace pptrain
