#include "simulate/deliveries.hpp"

namespace pptrain {

void Deliveries::send(double now, int number, double held_bytes) {
  const Transfer& transfer = transfers_.all()[number];
  Delivery& delivery = deliveries_[number];
  delivery.held_bytes += held_bytes;
  if (delivery.started <= now) return;
  delivery.started = now;
  network_.start(now, transfer.route, transfer.bytes, number);
}

int Deliveries::handle(const Event& event) {
  const int number = network_.handle(event);
  if (number < 0) return -1;
  const double latency = network_.latency(transfers_.all()[number].route);
  if (latency <= 0.0) return number;
  events_.push(event.time + latency, Event::Kind::arrival, number);
  return -1;
}

void Deliveries::describe(double now, StateRecord& state) const {
  network_.describe(now, state);
  for (int route = 0; route < network_.num_routes(); ++route) {
    network_.for_each_on_route(route, [&](int number) { state.add_seconds(now - deliveries_[number].started); });
  }
}

}  // namespace pptrain
