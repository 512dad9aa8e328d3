#include "text/join_table.hpp"

#include "text/utf8.hpp"

namespace pptrain {

void JoinTable::add(std::string_view left, std::string_view right) {
  if (left.empty() || right.empty()) return;
  const char32_t last = code_point_before(left, left.size()).value;
  const char32_t first = code_point_at(right, 0).value;
  if (last < dense && first < dense) {
    near_[last * dense + first] = true;
  } else {
    far_.insert((std::uint64_t{last} << 32U) | first);
  }
}

}  // namespace pptrain
