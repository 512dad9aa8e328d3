#include "simulate/simulate.hpp"

#include "cost/bubble.hpp"
#include "simulate/routes.hpp"
#include "simulate/simulator.hpp"

namespace pptrain {

double Simulation::bubble_fraction() const {
  double busy = 0.0;
  for (const SimulatedDevice& device : devices) busy += device.busy_seconds;
  return pptrain::bubble_fraction(busy, static_cast<int>(devices.size()), makespan_seconds);
}

Simulation simulate(const Instance& instance, const Plan& plan, const Programs& programs,
                    const SimulateOptions& options) {
  EventQueue events;
  Network network(events);
  ClusterRoutes routes(instance.cluster, network);
  Prices prices(instance, plan, programs);
  SimulatedRoutes simulated = {[&](DeviceId from, DeviceId to) { return routes.route(from, to); },
                               {}};
  for (const PricedCollective& collective : prices.reductions()) {
    std::vector<Network::LinkUse> uses;
    for (const UplinkBytes& passed : collective.uplinks)
      uses.push_back({routes.link(passed.uplink), passed.bytes});
    const bool passes = !uses.empty();
    simulated.of_collectives.push_back(
        passes ? add_collective_route(network, collective, std::move(uses)) : -1);
  }
  return Simulator(programs, std::move(prices), simulated,
                   ReceivedGathers(instance, plan, programs), network, options)
      .run();
}

}  // namespace pptrain
