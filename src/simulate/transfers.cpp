#include "simulate/transfers.hpp"

#include <unordered_map>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// What identifies a transfer: across a cut one part of a micro-batch goes from one device to
/// another.
struct TransferKey {
  int route;
  Payload payload;
  Place place;
  bool operator==(const TransferKey&) const = default;
};

struct TransferKeyHash {
  std::size_t operator()(const TransferKey& key) const noexcept {
    std::size_t hash = static_cast<std::size_t>(key.payload);
    const auto* tie = std::get_if<TiePlace>(&key.place);
    const TaskPlace task = tie ? TaskPlace() : std::get<TaskPlace>(key.place);
    for (const int part : {key.route, tie ? tie->receiving_end : task.chunk.value,
                           tie ? tie->sending_end : task.micro_batch.value}) {
      hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15ULL;  // 2^64 / golden
                                                                               // ratio
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// Routes of a device, which has few peers: each is asked for once.
class RouteCache {
 public:
  RouteCache(DeviceId device, const RouteOf& route_of) : device_(device), route_of_(route_of) {}

  int route(DeviceId peer, bool to_peer) {
    for (const Known& known : known_) {
      if (known.peer == peer && known.to_peer == to_peer) return known.route;
    }
    known_.push_back(
        {peer, to_peer, to_peer ? route_of_(device_, peer) : route_of_(peer, device_)});
    return known_.back().route;
  }

 private:
  struct Known {
    DeviceId peer;
    bool to_peer = false;
    int route = 0;
  };

  DeviceId device_;
  const RouteOf& route_of_;
  std::vector<Known> known_;
};

}  // namespace

double bytes_of(const Instruction& instruction, const Prices& prices) {
  const double of_one = instruction.is_tied()
                            ? prices.tied_row_bytes(instruction.tie().receiving_end)
                            : prices.cut_bytes(instruction.chunk());
  return static_cast<double>(instruction.interval.size()) / instruction.units * of_one;
}

Transfers::Transfers(const Programs& programs, const Prices& prices, const RouteOf& route_of) {
  std::unordered_map<TransferKey, int, TransferKeyHash> numbers;
  std::size_t num_instructions = 0;
  for (const Program& program : programs) num_instructions += program.instructions.size();
  numbers.reserve(num_instructions / 3);
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const Program& program = programs[p];
    numbers_.emplace_back(program.instructions.size(), -1);
    RouteCache routes(program.device, route_of);
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction& instruction = program.instructions[i];
      const bool sends = instruction.op == Op::send;
      if (!sends && instruction.op != Op::wait_receive) continue;
      const int route = routes.route(instruction.peer, sends);
      const TransferKey key = {route, instruction.payload, instruction.place};
      const auto [entry, is_new] = numbers.try_emplace(key, static_cast<int>(transfers_.size()));
      if (is_new) transfers_.emplace_back();
      Transfer& transfer = transfers_[entry->second];
      numbers_[p][i] = entry->second;
      if (!sends || transfer.sender >= 0) continue;
      transfer = {bytes_of(instruction, prices), route, static_cast<int>(p), static_cast<int>(i)};
    }
  }
  for (const Transfer& transfer : transfers_)
    PPTRAIN_ASSERT(transfer.sender >= 0, "a receive without its send");
}

}  // namespace pptrain
