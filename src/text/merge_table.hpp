#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pptrain {

/// What becomes of two tokens that stand beside each other.
struct Merge {
  std::uint32_t rank = 0;    ///< lower ranks come first
  std::uint32_t result = 0;  ///< the token in place of both
};

/// Merges by their pair of tokens, with one look into memory for most questions: nearly all the
/// time of merging is spent here.
class MergeTable {
 public:
  /// Makes room for as many merges.
  explicit MergeTable(std::size_t num_merges);

  /// Adds a merge, or replaces that of the same pair.
  void set(std::uint32_t left, std::uint32_t right, Merge merge);
  /// The merge of a pair; null where there is none.
  const Merge* find(std::uint32_t left, std::uint32_t right) const;

 private:
  struct Entry {
    std::uint64_t key = free_key;
    Merge merge = {};
  };
  static constexpr std::uint64_t free_key = ~std::uint64_t{0};  // tokens are below 2^31

  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t{left} << 32U) | right;
  }
  /// The entry of the key, or the free one where it belongs.
  std::size_t place(std::uint64_t key) const;

  std::vector<Entry> entries_;
  unsigned shift_;
};

}  // namespace pptrain
