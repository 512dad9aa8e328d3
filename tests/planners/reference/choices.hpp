#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace pptrain::reference {

/// Reproducible choices: the same seed gives the same ones with every compiler.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed) {}

  /// Uniform in [low, high].
  int between(int low, int high);
  /// Uniform in [low, high).
  double real(double low, double high);
  /// True once in `n` times.
  bool one_in(int n) { return between(1, n) == 1; }
  template <class T>
  T of(const std::vector<T>& values) {
    return values[between(0, static_cast<int>(values.size()) - 1)];
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[between(0, static_cast<int>(i) - 1)]);
  }

 private:
  std::uint64_t bits();
  std::uint64_t state_;
};

}  // namespace pptrain::reference
