#include "planners/reference/choices.hpp"

namespace pptrain::reference {

std::uint64_t Choices::bits() {  // SplitMix64: Steele, Lea, Flood, OOPSLA 2014, Figure 16
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

int Choices::between(int low, int high) {
  return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1));
}

double Choices::real(double low, double high) {
  return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53;
}

}  // namespace pptrain::reference
