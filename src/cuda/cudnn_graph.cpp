#ifdef PPTRAIN_HAVE_CUDNN

#include "cuda/cudnn_graph.hpp"

#include <fmt/format.h>

#include <iterator>

namespace pptrain::cuda {
namespace {

using MaybeName = std::optional<cudnnBackendAttributeName_t>;
constexpr std::nullopt_t none = std::nullopt;

}  // namespace

std::string status_text(cudnnStatus_t status) {
  std::array<char, 512> last{};
  cudnnGetLastErrorString(last.data(), last.size());
  return fmt::format("{}, {}: {}", cudnnGetErrorString(status), static_cast<int>(status),
                     last.data());
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  PPTRAIN_CHECKED(cudnnBackendCreateDescriptor, type, &handle_);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr) PPTRAIN_CUDA_OR_WARN(cudnnBackendDestroyDescriptor, handle_);
}

CudnnTensor CudnnGraph::add(cudnnDataType_t type, const CudnnFour& sizes, const CudnnFour& strides,
                            bool is_virtual, bool is_scalar) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const CudnnTensor number = num_tensors_++;
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, static_cast<std::int64_t>(number + 1));
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
             std::vector(sizes.begin(), sizes.end()));
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
             std::vector(strides.begin(), strides.end()));
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, is_scalar);
  tensor.finalize();
  tensors_.push_back(std::move(tensor));
  return number;
}

CudnnTensor CudnnGraph::real(cudnnDataType_t type, const CudnnFour& sizes,
                             const CudnnFour& strides) {
  return add(type, sizes, strides, false, false);
}
CudnnTensor CudnnGraph::inner(cudnnDataType_t type, const CudnnFour& sizes,
                              const CudnnFour& strides) {
  return add(type, sizes, strides, true, false);
}
CudnnTensor CudnnGraph::scalar() {
  return add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, CudnnTensor y, CudnnTensor x,
                           std::optional<CudnnTensor> b, std::optional<CudnnTensor> mask,
                           cudnnDataType_t compute, std::int64_t axis) {
  CudnnDescriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
  if (mode == CUDNN_POINTWISE_GEN_INDEX)
    what.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  what.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors_[x]);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors_[y]);
  if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensors_[*b]);
  if (mask) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensors_[*mask]);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1.0F);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1.0F);
  operation.finalize();
  parts_.push_back(std::move(what));
  operations_.push_back(std::move(operation));
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t reduction, CudnnTensor y, CudnnTensor x) {
  CudnnDescriptor what(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  what.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, reduction);
  what.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensors_[x]);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensors_[y]);
  operation.finalize();
  parts_.push_back(std::move(what));
  operations_.push_back(std::move(operation));
}

void CudnnGraph::multiply(CudnnTensor c, CudnnTensor a, CudnnTensor b) {
  CudnnDescriptor what(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, what);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensors_[a]);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensors_[b]);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors_[c]);
  operation.finalize();
  parts_.push_back(std::move(what));
  operations_.push_back(std::move(operation));
}

void CudnnGraph::reshape(CudnnTensor y, CudnnTensor x) {
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensors_[x]);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensors_[y]);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

std::optional<CudnnPlan> CudnnGraph::refused(cudnnStatus_t status, const char* what,
                                             std::string& why_not) {
  why_not = fmt::format("{} returned {}", what, status_text(status));
  return std::nullopt;
}

template <class Aim>
std::optional<CudnnPlan> CudnnGraph::build_with(const Aim& aim, std::string& why_not) {
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.handle());
  aim(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, none);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations);
  if (const cudnnStatus_t status = graph.try_finalize(); !succeeded(status)) {
    return refused(status, "cudnnBackendFinalize of the graph", why_not);
  }
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  aim(heuristic, none, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  parts_.push_back(std::move(graph));
  if (const cudnnStatus_t status = heuristic.try_finalize(); !succeeded(status)) {
    return refused(status, "cudnnBackendFinalize of the heuristic", why_not);
  }
  return first_that_compiles(aim, heuristic, why_not);
}

std::optional<CudnnPlan> CudnnGraph::build(cudnnHandle_t handle, std::string& why_not) {
  const auto aim = [handle](CudnnDescriptor& part, MaybeName handle_name,
                            MaybeName /*device_name*/) {
    if (handle_name) part.set(*handle_name, CUDNN_TYPE_HANDLE, handle);
  };
  return build_with(aim, why_not);
}

std::optional<CudnnPlan> CudnnGraph::build_for(const CudnnDescriptor& device,
                                               std::string& why_not) {
  const auto aim = [&device](CudnnDescriptor& part, MaybeName /*handle_name*/,
                             MaybeName device_name) {
    if (device_name) part.set(*device_name, device);
  };
  return build_with(aim, why_not);
}

template <class Aim>
std::optional<CudnnPlan> CudnnGraph::first_that_compiles(const Aim& aim,
                                                         const CudnnDescriptor& heuristic,
                                                         std::string& why_not) {
  constexpr std::int64_t most = 8;
  std::vector<CudnnDescriptor> engines;
  std::vector<cudnnBackendDescriptor_t> results;
  for (std::int64_t i = 0; i < most; ++i) {
    engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    results.push_back(engines.back().handle());
  }
  std::int64_t found = 0;
  PPTRAIN_CHECKED(cudnnBackendGetAttribute, heuristic.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &found, results.data());
  why_not = "it has no engine for this graph";
  for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) {
    CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    aim(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engines[i]);
    if (const cudnnStatus_t status = plan.try_finalize(); !succeeded(status)) {
      refused(status, "cudnnBackendFinalize of the plan", why_not);
      continue;
    }
    std::int64_t bytes = 0, count = 0;
    PPTRAIN_CHECKED(cudnnBackendGetAttribute, plan.handle(),
                    CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes);
    for (auto* from : {&tensors_, &operations_, &engines}) {
      std::move(from->begin(), from->end(), std::back_inserter(parts_));
    }
    parts_.push_back(std::move(plan));
    return CudnnPlan(std::move(parts_), static_cast<std::size_t>(bytes));
  }
  return std::nullopt;
}

void CudnnPlan::run(cudnnHandle_t handle, const std::vector<const void*>& pointers,
                    void* workspace) const {
  std::vector<std::int64_t> numbers;
  std::vector<const void*> given;
  for (std::size_t tensor = 0; tensor < pointers.size(); ++tensor) {
    if (pointers[tensor] == nullptr) continue;
    numbers.push_back(static_cast<std::int64_t>(tensor + 1));
    given.push_back(pointers[tensor]);
  }
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, numbers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, given);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  PPTRAIN_CHECKED(cudnnBackendExecute, handle, parts_.back().handle(), pack.handle());
}

}  // namespace pptrain::cuda

#endif
