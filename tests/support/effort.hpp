#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

namespace pptrain::test {

/// CPU time of this process: what else runs on the machine does not count.
inline double process_cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// CPU seconds of sorting a hundred thousand numbers, some milliseconds on a machine of today.
inline double seconds_of_a_sort() {
  std::vector<std::uint32_t> numbers(100'000);
  std::uint32_t state = 1;
  for (std::uint32_t& number : numbers) number = state = state * 1664525U + 1013904223U;
  const double start = process_cpu_seconds();
  std::sort(numbers.begin(), numbers.end());
  volatile std::uint32_t smallest = numbers.front();
  static_cast<void>(smallest);
  return process_cpu_seconds() - start;
}

/// What `work` costs this process, in sorts of a hundred thousand numbers: a measure of its steps
/// that is about the same on a slow machine and a fast one, a busy one and a free one, since both
/// sorts and work get what the machine gives.
template <class Work>
double effort_of(const Work& work) {
  constexpr int sorts = 5;  // before, and again after
  double sorting = 0.0;
  for (int i = 0; i < sorts; ++i) sorting += seconds_of_a_sort();
  const double start = process_cpu_seconds();
  work();
  const double seconds = process_cpu_seconds() - start;
  for (int i = 0; i < sorts; ++i) sorting += seconds_of_a_sort();
  return seconds / (sorting / (2 * sorts));
}

}  // namespace pptrain::test
