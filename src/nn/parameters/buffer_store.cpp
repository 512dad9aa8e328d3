#include "nn/parameters/buffer_store.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {

void BufferStore::add(const ParameterSpec& spec) {
  const auto same = [&](const ParameterSpec& other) { return other.name == spec.name; };
  if (std::any_of(specs_.begin(), specs_.end(), same)) return;
  specs_.push_back(spec);
  offsets_.push_back(size_);
  size_ += static_cast<std::size_t>(spec.size());
}

void BufferStore::allocate(Arena& arena) {
  arena_ = &arena;
  if (size_ == 0) return;
  values_ = Tensor(arena, 1, size_);
  arena.device().fill(values_.f32(), 0, values_.bytes());
}

float* BufferStore::values(const std::string& name) const {
  const auto found = std::find_if(specs_.begin(), specs_.end(),
                                  [&](const ParameterSpec& spec) { return spec.name == name; });
  PPTRAIN_ASSERT(found != specs_.end() && values_, "no buffer {}", name);
  return values(static_cast<std::size_t>(found - specs_.begin()));
}

void BufferStore::fill(
    const std::function<void(const ParameterSpec&, Interval, float*)>& values_of) {
  std::vector<float> host;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    host.resize(static_cast<std::size_t>(specs_[i].size()));
    values_of(specs_[i], {0, specs_[i].size()}, host.data());
    arena_->device().upload(values(i), host.data(), host.size() * sizeof(float));
  }
}

}  // namespace pptrain
