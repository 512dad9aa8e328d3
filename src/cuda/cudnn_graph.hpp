#pragma once

#ifdef PPTRAIN_HAVE_CUDNN

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/check.hpp"

/// cuDNN's graphs of operations through its back-end C API: what a graph computes is described
/// operation by operation, and cuDNN finds one fused engine for all of it, or refuses.
namespace pptrain::cuda {

inline bool succeeded(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; }
/// The status as text, with what cuDNN says about its last failure.
std::string status_text(cudnnStatus_t status);

/// A back-end descriptor, destroyed with this.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : handle_(other.handle_) {
    other.handle_ = nullptr;
  }
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           const std::vector<T>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    PPTRAIN_CHECKED(cudnnBackendSetAttribute, handle_, name, type, count, values.data());
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    PPTRAIN_CHECKED(cudnnBackendSetAttribute, handle_, name, type, 1, &value);
  }
  /// Sets an attribute that is another descriptor.
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.handle_);
  }
  /// Completes the descriptor, whose attributes are all set; returns what cuDNN says to it.
  cudnnStatus_t try_finalize() { return cudnnBackendFinalize(handle_); }
  /// Completes the descriptor; throws `Error` (exit code 4) where cuDNN refuses it.
  void finalize() { PPTRAIN_CHECKED(cudnnBackendFinalize, handle_); }
  /// The descriptor for cuDNN's own calls; this object keeps it.
  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

/// A tensor of a graph.
using CudnnTensor = std::size_t;
using CudnnFour = std::array<std::int64_t, 4>;  // samples, heads, rows, columns

/// A compiled graph.
class CudnnPlan {
 public:
  /// Bytes of device memory that `run` needs as `workspace`.
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// `pointers` by the graph's tensors: memory of the device for those that are `real`, of the host
  /// for scalars, null for the others.
  void run(cudnnHandle_t handle, const std::vector<const void*>& pointers, void* workspace) const;

 private:
  friend class CudnnGraph;
  CudnnPlan(std::vector<CudnnDescriptor> parts, std::size_t workspace_bytes)
      : parts_(std::move(parts)), workspace_bytes_(workspace_bytes) {}

  std::vector<CudnnDescriptor> parts_;  // the plan is the last
  std::size_t workspace_bytes_;
};

class CudnnGraph {
 public:
  /// A tensor in the caller's memory, aligned to 16 bytes.
  CudnnTensor real(cudnnDataType_t type, const CudnnFour& sizes, const CudnnFour& strides);
  /// A tensor between two operations, which is never in memory.
  CudnnTensor inner(cudnnDataType_t type, const CudnnFour& sizes, const CudnnFour& strides);
  /// One fp32 value of the host.
  CudnnTensor scalar();
  /// Tensors so far, which are numbered from 0: as many as `CudnnPlan::run` takes pointers.
  std::size_t num_tensors() const { return num_tensors_; }

  /// y = mode(x), mode(x, b), or of GEN_INDEX the number along `axis`.
  void pointwise(cudnnPointwiseMode_t mode, CudnnTensor y, CudnnTensor x,
                 std::optional<CudnnTensor> b = {}, std::optional<CudnnTensor> mask = {},
                 cudnnDataType_t compute = CUDNN_DATA_FLOAT, std::int64_t axis = -1);
  /// Over the axes of y that have one element, and over neighbours of an axis that is shorter than
  /// that of x.
  void reduce(cudnnReduceTensorOp_t operation, CudnnTensor y, CudnnTensor x);
  /// c = a b, of the last two axes; b's second axis may be shorter than the others', which then
  /// share its parts.
  void multiply(CudnnTensor c, CudnnTensor a, CudnnTensor b);
  /// y = the elements of x under the sizes and strides of y.
  void reshape(CudnnTensor y, CudnnTensor x);

  /// The graph compiled by the first engine of the heuristic's that takes it; or nothing, and why
  /// not. The graph is used up.
  std::optional<CudnnPlan> build(cudnnHandle_t handle, std::string& why_not);
  /// The graph compiled by the first engine of the heuristic's that takes it, for a GPU that need
  /// not be here, of which cuDNN is told the properties; or nothing, and why not. The graph is used
  /// up.
  std::optional<CudnnPlan> build_for(const CudnnDescriptor& device, std::string& why_not);

 private:
  CudnnTensor add(cudnnDataType_t type, const CudnnFour& sizes, const CudnnFour& strides,
                  bool is_virtual, bool is_scalar);
  std::optional<CudnnPlan> refused(cudnnStatus_t status, const char* what, std::string& why_not);
  /// `aim(part, name of its handle, name of its device)` says to the graph, heuristic and plan what
  /// they are for.
  template <class Aim>
  std::optional<CudnnPlan> build_with(const Aim& aim, std::string& why_not);
  template <class Aim>
  std::optional<CudnnPlan> first_that_compiles(const Aim& aim, const CudnnDescriptor& heuristic,
                                               std::string& why_not);

  std::vector<CudnnDescriptor> tensors_, operations_, parts_;
  std::size_t num_tensors_ = 0;
};

}  // namespace pptrain::cuda

#endif
