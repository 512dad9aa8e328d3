#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace pptrain {

/// Pairs of characters that some merge joins: the last one of its left token and the first one of
/// its right. No merge reaches over another pair of neighbours, so that a text is merged as its
/// parts are when it is cut there.
class JoinTable {
 public:
  /// Notes a merge by the texts of its tokens, which are UTF-8.
  void add(std::string_view left, std::string_view right);
  /// Whether a merge that was added has a left token that ends with `left` and a right one that
  /// begins with `right`.
  bool joins(char32_t left, char32_t right) const {
    if (left < dense && right < dense) return near_[left * dense + right];
    return far_.contains((std::uint64_t{left} << 32U) | right);
  }

 private:
  // Characters below this one, among them all that stand for bytes, are looked up without a hash.
  static constexpr std::size_t dense = 512;

  std::bitset<dense * dense> near_;
  std::unordered_set<std::uint64_t> far_;
};

}  // namespace pptrain
