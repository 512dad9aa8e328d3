#pragma once

#include <limits>
#include <vector>

#include "simulate/events.hpp"
#include "simulate/network.hpp"
#include "simulate/transfers.hpp"

namespace pptrain {

/// Transfers on their way: each arrives the latency after its last byte has left.
class Deliveries {
 public:
  struct Delivery {
    double started = std::numeric_limits<double>::infinity();
    double arrived = std::numeric_limits<double>::infinity();
    int waiter = -1;          ///< program
    double held_bytes = 0.0;  ///< by the sender, until it has arrived
  };

  Deliveries(Transfers transfers, Network& network, EventQueue& events)
      : events_(events),
        network_(network),
        transfers_(std::move(transfers)),
        deliveries_(transfers_.all().size()) {}

  /// The transfer of a send or wait_receive, as `Transfers::of`.
  int number_of(int program, std::size_t instruction) const {
    return transfers_.of(program, instruction);
  }
  /// The transfer of a number that `number_of` returns.
  const Transfer& transfer(int number) const { return transfers_.all()[number]; }
  /// How far transfer `number` is: times are infinite until it has started, and until it has
  /// arrived.
  Delivery& operator[](int number) { return deliveries_[number]; }
  const Delivery& operator[](int number) const { return deliveries_[number]; }

  /// How many there are: the network's transfers of other numbers are somebody else's.
  int num() const { return static_cast<int>(deliveries_.size()); }

  /// The sender holds `held_bytes` for it.
  void send(double now, int number, double held_bytes);
  /// The last byte of a transfer has left; returns whether it has arrived: `Event::Kind::arrival`
  /// is scheduled for one with latency.
  bool leave(double now, int number);

  /// Adds what is on its way: how long, and how much of it.
  void describe(double now, StateRecord& state) const;

 private:
  EventQueue& events_;
  Network& network_;
  Transfers transfers_;
  std::vector<Delivery> deliveries_;
};

}  // namespace pptrain
