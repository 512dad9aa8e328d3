#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "cuda/check.hpp"
#include "cuda/gemm.hpp"

/// One product as cuBLASLt takes it: descriptors, and the algorithm that its heuristic chooses for
/// them.
namespace pptrain::cuda {

inline bool succeeded(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }
std::string status_text(cublasStatus_t status);

cudaDataType_t cuda_type(DType type);

/// A product in one of the forms of cuBLASLt's epilogues.
struct LtCall {
  Transpose ta, tb;
  Matrix a, b, c;  ///< c: what is written; with `gelu_aux`, gelu of the product
  bool accumulate = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* vector = nullptr;  ///< bias, of C's type, or where the gradient of one goes
  Matrix aux = {};         ///< what GELU is applied to: written forward, read backward

  /// Sizes, types, addresses and epilogue as text, for messages.
  std::string describe() const;
};

/// The descriptors and algorithm for all calls that are alike in sizes, strides, types, alignments
/// and epilogue.
///
/// cuBLASLt's matrices are column-major, so that it sees each row-major matrix transposed: C^T =
/// op(B)^T op(A)^T. Its A is our B, its B our A, and the rows of its D are our columns.
class LtProduct {
 public:
  LtProduct(cublasLtHandle_t handle, const LtCall& call, Fp32Products fp32,
            std::size_t workspace_bytes);

  /// Whether cuBLASLt has an algorithm.
  bool is_supported() const { return supported_; }
  /// What the heuristic answered.
  std::string answer() const;
  /// Runs the call, which must be like the one this was made for.
  void run(cublasLtHandle_t handle, const LtCall& call, void* workspace,
           std::size_t workspace_bytes, cudaStream_t stream) const;

 private:
  struct DestroyDescriptor {
    void operator()(cublasLtMatmulDesc_t d) const { cublasLtMatmulDescDestroy(d); }
  };
  struct DestroyLayout {
    void operator()(cublasLtMatrixLayout_t l) const { cublasLtMatrixLayoutDestroy(l); }
  };
  using Descriptor =
      std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, DestroyDescriptor>;
  using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, DestroyLayout>;

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const;
  static Layout layout(const Matrix& matrix);
  void set_pointers(const LtCall& call) const;
  void choose_algorithm(cublasLtHandle_t handle, const LtCall& call, std::size_t workspace_bytes);

  Descriptor descriptor_;
  Layout a_, b_, c_;
  cublasLtMatmulAlgo_t algorithm_ = {};
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
  bool supported_ = false;
};

/// What calls that may share an LtProduct agree in.
using LtKey = std::array<std::uint64_t, 20>;
LtKey key_of(const LtCall& call);

}  // namespace pptrain::cuda
