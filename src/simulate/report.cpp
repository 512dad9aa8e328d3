#include "simulate/report.hpp"

#include <fmt/format.h>

#include "profile/json.hpp"
#include "simulate/prices.hpp"

namespace pptrain {
namespace {

/// Name of a task in `order`: a B that does W too is a B.
std::string name_of(const Instruction& task) {
  const Op op = task.op == Op::backward ? Op::backward_input : task.op;
  return to_string(Instruction{op, task.place});
}

Json order_of(const Program& program) {
  Json order = Json::array();
  for (const Instruction& instruction : program.instructions) {
    if (is_task(instruction.op)) order.push_back(name_of(instruction));
  }
  return order;
}

Json json_of(const SimulatedDevice& device, const Program& program) {
  return {{"device", device.device.value},
          {"busy_seconds", json_number(device.busy_seconds)},
          {"communication_seconds", json_number(device.communication_seconds)},
          {"idle_seconds", json_number(device.idle_seconds)},
          {"first_start_seconds", json_number(device.first_start_seconds)},
          {"last_end_seconds", json_number(device.last_end_seconds)},
          {"peak_bytes", json_number(device.peak_bytes)},
          {"peak_stored", device.peak_stored},
          {"order", order_of(program)}};
}

}  // namespace

std::string simulation_json(const Simulation& simulation, const Programs& programs,
                            const Comparison& comparison) {
  Json document = {{"schema", "pptrain.simulation/1"},
                   {"makespan_seconds", json_number(simulation.makespan_seconds)},
                   {"estimates", Json::object()},
                   {"lower_bound_seconds", json_number(comparison.lower_bound_seconds)},
                   {"bubble_fraction", json_number(simulation.bubble_fraction())},
                   {"ranks", Json::array()}};
  for (const auto& [name, seconds] : comparison.estimates)
    document["estimates"][name] = json_number(seconds);
  for (std::size_t d = 0; d < programs.size(); ++d) {
    document["ranks"].push_back(json_of(simulation.devices[d], programs[d]));
  }
  return format_json(document);
}

}  // namespace pptrain
