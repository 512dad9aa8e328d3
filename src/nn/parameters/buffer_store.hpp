#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// What the layers of a device keep from step to step beside their parameters, fp32 and whole:
/// running averages.
class BufferStore {
 public:
  /// One that was registered before under the same name is shared.
  void add(const ParameterSpec& spec);
  /// Allocates after the last `add`; all are 0. The arena must outlive the store.
  void allocate(Arena& arena);

  /// Buffers in the order in which they were registered.
  const std::vector<ParameterSpec>& specs() const { return specs_; }
  /// Values of `specs()[index]` in the memory of the device, once allocated.
  float* values(std::size_t index) const { return values_.f32() + offsets_[index]; }
  /// The values of a name that was registered.
  float* values(const std::string& name) const;

  /// As `ParameterStore::fill`.
  void fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values);

 private:
  std::vector<ParameterSpec> specs_;
  std::vector<std::size_t> offsets_;
  std::size_t size_ = 0;
  Arena* arena_ = nullptr;
  Tensor values_;
};

}  // namespace pptrain
