#include "planners/reference/divisions.hpp"

namespace pptrain::reference {

namespace {

void visit_rest(int size, int parts, std::vector<Interval>& chosen,
                const std::function<void(const std::vector<Interval>&)>& visit) {
  const std::int64_t begin = chosen.empty() ? 0 : chosen.back().end;
  if (parts == 1) {
    chosen.push_back({begin, size});
    visit(chosen);
    chosen.pop_back();
    return;
  }
  for (std::int64_t end = begin + 1; end <= size - (parts - 1); ++end) {
    chosen.push_back({begin, end});
    visit_rest(size, parts - 1, chosen, visit);
    chosen.pop_back();
  }
}

}  // namespace

void visit_divisions(int size, int parts,
                     const std::function<void(const std::vector<Interval>&)>& visit) {
  std::vector<Interval> chosen;
  if (parts <= size) visit_rest(size, parts, chosen, visit);
}

std::vector<int> divisors(std::int64_t n) {
  std::vector<int> result;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) result.push_back(d);
  }
  return result;
}

std::vector<Interval> by_count(std::int64_t size, int parts) {
  std::vector<Interval> result;
  std::int64_t begin = 0;
  for (int i = 0; i < parts; ++i) {
    const std::int64_t end = begin + size / parts + (i < size % parts ? 1 : 0);
    result.push_back({begin, end});
    begin = end;
  }
  return result;
}

}  // namespace pptrain::reference
