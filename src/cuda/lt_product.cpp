#include "cuda/lt_product.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pptrain::cuda {
namespace {

/// The largest power of two up to 256, cudaMalloc's own alignment, that the address is a multiple
/// of.
std::uint32_t alignment_of(const void* data) {
  std::uint32_t alignment = 256;
  while (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) alignment /= 2;
  return alignment;
}

/// What the heuristic is told. Destroyed with its scope.
class Preference {
 public:
  Preference() { PPTRAIN_CHECKED(cublasLtMatmulPreferenceCreate, &handle_); }
  ~Preference() { PPTRAIN_CUDA_OR_WARN(cublasLtMatmulPreferenceDestroy, handle_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) const {
    PPTRAIN_CHECKED(cublasLtMatmulPreferenceSetAttribute, handle_, attribute, &value,
                    sizeof(value));
  }
  cublasLtMatmulPreference_t handle() const { return handle_; }

 private:
  cublasLtMatmulPreference_t handle_ = nullptr;
};

std::string describe_matrix(const char* name, const Matrix& m) {
  return fmt::format("{} {}x{} stride {} type {} at {}", name, m.rows, m.columns, m.stride,
                     static_cast<int>(m.type), fmt::ptr(m.data));
}

}  // namespace

std::string status_text(cublasStatus_t status) {
  return fmt::format("{}, {}", cublasLtGetStatusName(status), static_cast<int>(status));
}

cudaDataType_t cuda_type(DType type) {
  if (type == DType::f32) return CUDA_R_32F;
  return type == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F;
}

std::string LtCall::describe() const {
  return fmt::format("{}{}, {}{}, {}, {}epilogue {}, vector at {}, {}", describe_matrix("A", a),
                     ta == Transpose::yes ? " transposed" : "", describe_matrix("B", b),
                     tb == Transpose::yes ? " transposed" : "", describe_matrix("C", c),
                     accumulate ? "accumulate, " : "", static_cast<int>(epilogue), fmt::ptr(vector),
                     describe_matrix("auxiliary", aux));
}

template <class T>
void LtProduct::set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
  PPTRAIN_CHECKED(cublasLtMatmulDescSetAttribute, descriptor_.get(), attribute, &value,
                  sizeof(value));
}

LtProduct::Layout LtProduct::layout(const Matrix& m) {
  cublasLtMatrixLayout_t layout = nullptr;
  PPTRAIN_CHECKED(cublasLtMatrixLayoutCreate, &layout, cuda_type(m.type), m.columns, m.rows,
                  static_cast<std::int64_t>(m.stride));
  return Layout(layout);
}

LtProduct::LtProduct(cublasLtHandle_t handle, const LtCall& call, Fp32Products fp32,
                     std::size_t workspace_bytes)
    : a_(layout(call.b)), b_(layout(call.a)), c_(layout(call.c)) {
  const bool is_tf32 = call.a.type == DType::f32 && fp32 == Fp32Products::tf32;
  const cublasComputeType_t compute = is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t descriptor = nullptr;
  PPTRAIN_CHECKED(cublasLtMatmulDescCreate, &descriptor, compute, CUDA_R_32F);
  descriptor_.reset(descriptor);
  const auto operation = [](Transpose t) {
    return t == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, operation(call.tb));
  set(CUBLASLT_MATMUL_DESC_TRANSB, operation(call.ta));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, call.epilogue);
  if (call.aux.data != nullptr) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(call.aux.stride));
  }
  set_pointers(call);
  choose_algorithm(handle, call, workspace_bytes);
}

void LtProduct::set_pointers(const LtCall& call) const {
  if (call.vector != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.vector);
  if (call.aux.data != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, call.aux.data);
}

void LtProduct::choose_algorithm(cublasLtHandle_t handle, const LtCall& call,
                                 std::size_t workspace_bytes) {
  const Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  // Partial sums meet in the workspace in fp32: in place, their order would not be fixed.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(call.b.data));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(call.a.data));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(call.c.data));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(call.c.data));
  cublasLtMatmulHeuristicResult_t result = {};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, descriptor_.get(), a_.get(), b_.get(), c_.get(),
                                     c_.get(), preference.handle(), 1, &result, &found);
  // Each of the two says that there is none for this epilogue, these types or alignments.
  const bool has_none =
      status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
  if (!succeeded(status) && !has_none) {
    fail_call("cublasLtMatmulAlgoGetHeuristic", "product", call.describe(), status_text(status));
  }
  status_ = succeeded(status) ? result.state : status;
  supported_ = succeeded(status_) && found > 0;
  algorithm_ = result.algo;
}

std::string LtProduct::answer() const {
  return succeeded(status_) ? "no algorithm for this product" : status_text(status_);
}

void LtProduct::run(cublasLtHandle_t handle, const LtCall& call, void* workspace,
                    std::size_t workspace_bytes, cudaStream_t stream) const {
  set_pointers(call);
  const float alpha = 1.0F, beta = call.accumulate ? 1.0F : 0.0F;
  const cublasStatus_t status =
      cublasLtMatmul(handle, descriptor_.get(), &alpha, call.b.data, a_.get(), call.a.data,
                     b_.get(), &beta, call.c.data, c_.get(), call.c.data, c_.get(), &algorithm_,
                     workspace, workspace_bytes, stream);
  if (!succeeded(status))
    fail_call("cublasLtMatmul", "product", call.describe(), status_text(status));
}

LtKey key_of(const LtCall& call) {
  LtKey key{};
  std::size_t at = 0;
  for (const Matrix* m : {&call.a, &call.b, &call.c, &call.aux}) {
    for (const std::uint64_t value :
         {std::uint64_t{m->rows}, std::uint64_t{m->columns}, std::uint64_t{m->stride}}) {
      key[at++] = value;
    }
    key[at++] = static_cast<std::uint64_t>(m->type) << 32 | alignment_of(m->data);
  }
  key[at++] = call.ta == Transpose::yes;
  key[at++] = call.tb == Transpose::yes;
  key[at++] =
      static_cast<std::uint64_t>(call.epilogue) << 1 | static_cast<std::uint64_t>(call.accumulate);
  key[at++] = alignment_of(call.vector);
  return key;
}

}  // namespace pptrain::cuda
