#include "simulate/transfers.hpp"

#include <functional>
#include <unordered_map>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// What identifies a transfer.
struct Key {
  int from;
  int to;
  Instruction what;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    std::size_t hash = static_cast<std::size_t>(key.what.payload);
    for (const std::int64_t part : {std::int64_t{key.from}, std::int64_t{key.to}, std::int64_t{key.what.chunk.value},
                                    std::int64_t{key.what.micro_batch.value}, key.what.interval.begin}) {
      hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio
      hash ^= hash >> 29;
    }
    return hash;
  }
};

Key key_of(DeviceId from, DeviceId to, Instruction what) {
  what.op = Op::send;
  what.peer = {};
  return {from.value, to.value, what};
}

}  // namespace

double bytes_of(const Instruction& instruction, const Prices& prices, double tied_row_bytes) {
  const bool tied = instruction.payload == Payload::tied_gradient;
  const double of_one = tied ? tied_row_bytes : prices.cut_bytes(instruction.chunk);
  return static_cast<double>(instruction.interval.size()) / instruction.units * of_one;
}

Transfers::Transfers(const Programs& programs, const Prices& prices, Network& network, double tied_row_bytes) {
  std::unordered_map<Key, int, KeyHash> numbers;
  std::size_t num_instructions = 0;
  for (const Program& program : programs) num_instructions += program.instructions.size();
  numbers.reserve(num_instructions / 3);
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const Program& program = programs[p];
    numbers_.emplace_back(program.instructions.size(), -1);
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction& instruction = program.instructions[i];
      const bool sends = instruction.op == Op::send;
      if (!sends && instruction.op != Op::wait_receive) continue;
      const Key key = sends ? key_of(program.device, instruction.peer, instruction)
                            : key_of(instruction.peer, program.device, instruction);
      const auto [entry, is_new] = numbers.try_emplace(key, static_cast<int>(transfers_.size()));
      if (is_new) transfers_.emplace_back();
      numbers_[p][i] = entry->second;
      if (!sends) continue;
      transfers_[entry->second] = {bytes_of(instruction, prices, tied_row_bytes),
                                   network.route(program.device, instruction.peer), static_cast<int>(p),
                                   static_cast<int>(i)};
    }
  }
  for (const Transfer& transfer : transfers_) PPTRAIN_ASSERT(transfer.sender >= 0, "a receive without its send");
}

}  // namespace pptrain
