#include "runtime/replan/state_moves.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Elements that the same ranks hold.
struct Segment {
  Interval elements;
  std::vector<int> holders;
};

/// Cuts what anyone holds at every begin and end of a run.
std::vector<Segment> segments_of(const std::vector<Runs>& held) {
  struct Edge {
    std::int64_t element;
    int rank;
    int change;  // 1: begins to hold, -1: ends
  };
  std::vector<Edge> edges;
  for (int r = 0; r < static_cast<int>(held.size()); ++r) {
    for (const Interval& run : held[r]) {
      edges.push_back({run.begin, r, 1});
      edges.push_back({run.end, r, -1});
    }
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.element < b.element; });
  std::vector<Segment> segments;
  std::multiset<int> holders;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].change > 0) {
      holders.insert(edges[i].rank);
    } else if (const auto one = holders.find(edges[i].rank); one != holders.end()) {
      holders.erase(one);
    }
    const bool last_here = i + 1 == edges.size() || edges[i + 1].element != edges[i].element;
    if (!last_here || holders.empty()) continue;
    segments.push_back(
        {{edges[i].element, edges[i + 1].element}, {holders.begin(), holders.end()}});
  }
  return segments;
}

[[noreturn]] void throw_not_held(Interval elements) {
  throw_runtime_failure(
      {"redistribution",
       fmt::format("no rank holds elements {} to {} of a parameter", elements.begin, elements.end),
       "the plan that is left does not cover the model", ""});
}

}  // namespace

Runs common_runs(const Runs& a, const Runs& b) {
  Runs common;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const Interval both = intersect(a[i], b[k]);
    if (!both.empty()) common.push_back(both);
    if (a[i].end < b[k].end) {
      ++i;
    } else {
      ++k;
    }
  }
  return common;
}

Runs without(const Runs& a, const Runs& b) {
  Runs left;
  std::size_t k = 0;
  for (const Interval& run : a) {
    std::int64_t begin = run.begin;
    while (k < b.size() && b[k].end <= begin) ++k;
    for (std::size_t i = k; i < b.size() && b[i].begin < run.end; ++i) {
      if (b[i].begin > begin) left.push_back({begin, b[i].begin});
      begin = std::max(begin, b[i].end);
    }
    if (begin < run.end) left.push_back({begin, run.end});
  }
  return left;
}

int MoveChoice::choose_sender(const std::vector<int>& holders, int receiver) const {
  const auto rank = [&](int holder) {
    const bool is_far = nodes_[holder] != nodes_[receiver];
    return std::make_tuple(is_far, sent_[holder], holder);
  };
  return *std::min_element(holders.begin(), holders.end(),
                           [&](int a, int b) { return rank(a) < rank(b); });
}

std::vector<Move> MoveChoice::choose(const std::vector<Runs>& held,
                                     const std::vector<Runs>& needed) {
  const std::vector<Segment> segments = segments_of(held);
  std::vector<Move> moves;
  for (int r = 0; r < static_cast<int>(needed.size()); ++r) {
    std::size_t s = 0;
    for (const Interval& missing : without(needed[r], held[r])) {
      std::int64_t begin = missing.begin;
      while (s < segments.size() && segments[s].elements.end <= begin) ++s;
      for (; begin < missing.end; ++s) {
        if (s == segments.size() || segments[s].elements.begin > begin) throw_not_held(missing);
        const Interval part = intersect(segments[s].elements, missing);
        const int sender = choose_sender(segments[s].holders, r);
        sent_[sender] += part.size();
        moves.push_back({sender, r, part});
        begin = part.end;
        if (part.end < segments[s].elements.end) break;  // the rest may be missing too
      }
    }
  }
  return moves;
}

}  // namespace pptrain
