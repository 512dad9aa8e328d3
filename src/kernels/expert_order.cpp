#include "kernels/expert_order.hpp"

namespace pptrain {

std::vector<std::int32_t> count_rows(ExpertKernels& kernels, const Matrix& choice, Interval own,
                                     Arena& arena) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(own.size()));
  const Buffer on_device(arena, std::max<std::size_t>(counts.size(), 1) * sizeof(std::int32_t));
  kernels.count(choice, own.begin, counts.size(), static_cast<std::int32_t*>(on_device.data()));
  arena.device().download(counts.data(), on_device.data(), counts.size() * sizeof(std::int32_t));
  return counts;
}

ExpertOrder::ExpertOrder(ExpertKernels& kernels, const Matrix& choice, Interval own, Arena& arena)
    : own_(own),
      rows_(choice.rows),
      chosen_(choice.columns / 2),
      begins_(1, 0),
      places_(arena, std::max<std::size_t>(rows_ * chosen_, 1) * sizeof(std::int32_t)) {
  std::vector<std::int32_t> begins;
  for (const std::int32_t count : count_rows(kernels, choice, own, arena)) {
    begins.push_back(static_cast<std::int32_t>(begins_.back()));
    begins_.push_back(begins_.back() + static_cast<std::size_t>(count));
  }
  const Buffer on_device(arena, std::max<std::size_t>(begins.size(), 1) * sizeof(std::int32_t));
  arena.device().upload(on_device.data(), begins.data(), begins.size() * sizeof(std::int32_t));
  kernels.place(choice, own.begin, begins.size(),
                static_cast<const std::int32_t*>(on_device.data()),
                static_cast<std::int32_t*>(places_.data()));
}

}  // namespace pptrain
