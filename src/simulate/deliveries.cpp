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

bool Deliveries::leave(double now, int number) {
  const double latency = network_.latency(transfers_.all()[number].route);
  if (latency <= 0.0) return true;
  events_.push(now + latency, Event::Kind::arrival, number);
  return false;
}

void Deliveries::describe(double now, StateRecord& state) const {
  network_.describe(now, state);
  for (int route = 0; route < network_.num_routes(); ++route) {
    network_.for_each_on_route(route, [&](int number) {
      if (number < num()) state.add_seconds(now - deliveries_[number].started);
    });
  }
}

}  // namespace pptrain
