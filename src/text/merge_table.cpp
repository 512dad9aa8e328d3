#include "text/merge_table.hpp"

#include <bit>

namespace pptrain {

MergeTable::MergeTable(std::size_t num_merges) {
  const std::size_t size = std::bit_ceil(2 * num_merges + 2);  // half of it stays free, so that
                                                               // searches are short
  entries_.resize(size);
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(size));
}

std::size_t MergeTable::place(std::uint64_t key) const {
  constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15U;  // Fibonacci hashing: Knuth, volume
                                                               // 3, 6.4
  std::size_t at = (key * golden_ratio) >> shift_;
  while (entries_[at].key != free_key && entries_[at].key != key)
    at = (at + 1) & (entries_.size() - 1);
  return at;
}

void MergeTable::set(std::uint32_t left, std::uint32_t right, Merge merge) {
  const std::uint64_t key = key_of(left, right);
  entries_[place(key)] = {key, merge};
}

const Merge* MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  const Entry& entry = entries_[place(key_of(left, right))];
  return entry.key == free_key ? nullptr : &entry.merge;
}

}  // namespace pptrain
