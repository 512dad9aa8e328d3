#include "simulate/deliveries.hpp"

namespace pptrain {

Deliveries::Deliveries(const Instance& instance, const Programs& programs, const Prices& prices, double tied_row_bytes,
                       EventQueue& events)
    : events_(events),
      network_(instance.cluster, events),
      transfers_(programs, prices, network_, tied_row_bytes),
      deliveries_(transfers_.all().size()) {}

void Deliveries::send(double now, int number, double held_bytes) {
  const Transfer& transfer = transfers_.all()[number];
  deliveries_[number].held_bytes = held_bytes;
  deliveries_[number].started = now;
  network_.start(now, transfer.route, transfer.bytes, number);
}

int Deliveries::flow_end(const Event& event) {
  const int number = network_.finish(event);
  if (number < 0) return -1;
  const double latency = network_.latency(transfers_.all()[number].route);
  if (latency <= 0.0) return number;
  events_.push(event.time + latency, Event::Kind::arrival, number);
  return -1;
}

}  // namespace pptrain
