#pragma once

#include <functional>
#include <vector>

#include "program/program.hpp"
#include "simulate/prices.hpp"

namespace pptrain {

/// Bytes of what a transfer or a gather of slices is about.
double bytes_of(const Instruction& instruction, const Prices& prices);

/// What moves from one device to another.
struct Transfer {
  double bytes = 0.0;
  int route = 0;
  int sender = -1;       ///< program
  int instruction = -1;  ///< of the sender
};

/// Number of the way from one device to another. Where it stands for many, so do the transfers on
/// it.
using RouteOf = std::function<int(DeviceId from, DeviceId to)>;

/// Every send of the programs with its receive.
class Transfers {
 public:
  Transfers(const Programs& programs, const Prices& prices, const RouteOf& route_of);

  /// All transfers, by the numbers that `of` returns.
  const std::vector<Transfer>& all() const { return transfers_; }
  /// The transfer of a send or wait_receive; -1 for other instructions. On a way that stands for
  /// many several sends of a program, one after another, are one transfer.
  int of(int program, std::size_t instruction) const { return numbers_[program][instruction]; }

 private:
  std::vector<Transfer> transfers_;
  std::vector<std::vector<int>> numbers_;  // by program and instruction
};

}  // namespace pptrain
