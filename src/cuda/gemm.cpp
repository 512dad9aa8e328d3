#include "cuda/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cuda/device.hpp"
#include "cuda/lt_product.hpp"
#include "kernels/product.hpp"
#include "tensor/arena.hpp"

namespace pptrain {
namespace {

using namespace cuda;
using kernels::check_product;
using kernels::finish_product;

constexpr char product_call = 0;  // for its address
/// NVIDIA's recommendation for its newest devices.
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
/// Products of fewer rows or columns are not divided: they take no longer than their launch.
constexpr std::size_t least_divided = 1024;

/// How much of a size the product has that runs by aligned algorithms; all of it where nothing is
/// gained.
std::size_t size_of_most(std::size_t size) {
  return size % 8 == 0 || size < least_divided ? size : size / 64 * 64;
}

class CudaGemm final : public Gemm {
 public:
  CudaGemm(CudaDevice& device, Kernels& kernels, Fp32Products fp32)
      : device_(device), kernels_(kernels), fp32_(fp32), scratch_(0, device.name(), device) {
    PPTRAIN_CHECKED(cublasLtCreate, &handle_);
  }
  ~CudaGemm() override {
    device_.stream().flush_or_warn();
    products_.clear();
    PPTRAIN_CUDA_OR_WARN(cublasLtDestroy, handle_);
  }
  CudaGemm(const CudaGemm&) = delete;
  CudaGemm& operator=(const CudaGemm&) = delete;

  void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                const GemmOptions& options) override;
  std::string name() const override;

 private:
  void multiply_equal(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                      const GemmOptions& options);
  bool multiply_in_parts(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                         const Matrix& c, const GemmOptions& options);
  void multiply_in_f32(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                       const Matrix& c, const GemmOptions& options);
  /// Runs the call if cuBLASLt has an algorithm for it.
  bool run(const LtCall& call);
  bool run_fused(const LtCall& plain, const GemmOptions& options);
  bool run_with_gelu(LtCall call, const GemmOptions& options);
  bool run_with_gelu_backward(LtCall call, const GemmOptions& options);
  bool run_with_bias_gradient(LtCall call, const GemmOptions& options);
  /// The bias in C's type, in `copy` where it is another.
  void* bias_for(const float* bias, const Matrix& c, Tensor& copy);
  Matrix as_f32(const Matrix& matrix, Tensor& copy);

  CudaDevice& device_;
  Kernels& kernels_;
  Fp32Products fp32_;
  Arena scratch_;
  Buffer workspace_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<LtKey, LtProduct> products_;
};

std::string CudaGemm::name() const {
  const std::size_t version = cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{} ({})", version / 10000, version / 100 % 100, version % 100,
                     fp32_ == Fp32Products::tf32 ? "TF32" : "FP32");
}

Matrix CudaGemm::as_f32(const Matrix& matrix, Tensor& copy) {
  if (matrix.type == DType::f32) return matrix;
  copy = Tensor(scratch_, matrix.rows, matrix.columns);
  kernels_.convert(matrix, copy);
  return copy;
}

void* CudaGemm::bias_for(const float* bias, const Matrix& c, Tensor& copy) {
  const Matrix row(const_cast<float*>(bias), 1, c.columns);
  if (bias == nullptr || c.type == DType::f32) return row.data;
  copy = Tensor(scratch_, 1, c.columns, c.type);
  kernels_.convert(row, copy);
  return copy.matrix().data;
}

bool CudaGemm::run(const LtCall& call) {
  if (!workspace_) workspace_ = Buffer(scratch_, workspace_bytes);
  auto [product, is_new] =
      products_.try_emplace(key_of(call), handle_, call, fp32_, workspace_bytes);
  if (!product->second.is_supported()) return false;
  const LtProduct* chosen = &product->second;
  void* workspace = workspace_.data();
  const auto run_now = [chosen, handle = handle_, call, workspace](cudaStream_t stream) {
    chosen->run(handle, call, workspace, workspace_bytes, stream);
  };
  device_.stream().call(&product_call, run_now, product->first, fp32_, call.a.data, call.b.data,
                        call.c.data, call.vector, call.aux.data, workspace);
  return true;
}

/// gelu(product) and the product itself, which is the auxiliary output.
bool CudaGemm::run_with_gelu(LtCall call, const GemmOptions& options) {
  call.epilogue =
      call.vector == nullptr ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  call.aux = call.c;
  call.c = options.gelu;
  return run(call);
}

bool CudaGemm::run_with_gelu_backward(LtCall call, const GemmOptions& options) {
  call.epilogue = CUBLASLT_EPILOGUE_DGELU;
  call.aux = options.gelu_input;
  if (!run(call)) return false;
  kernels_.activation_forward(Activation::gelu_tanh, options.gelu_input, options.gelu);
  return true;
}

/// The sums have C's type and overwrite; they are added where C is f32.
bool CudaGemm::run_with_bias_gradient(LtCall call, const GemmOptions& options) {
  if (call.c.type != DType::f32 || call.vector != nullptr) return false;
  const Tensor sums(scratch_, 1, call.c.rows);
  call.epilogue = CUBLASLT_EPILOGUE_BGRADB;
  call.vector = sums.f32();
  if (!run(call)) return false;
  kernels_.add(sums.f32(), options.bias_gradient, call.c.rows);
  return true;
}

/// The product with one of what is asked for beside it; what is then left follows by kernels.
bool CudaGemm::run_fused(const LtCall& plain, const GemmOptions& options) {
  GemmOptions left = options;
  if (options.gelu_input.data != nullptr) {
    // In fp32 the epilogue's derivative has errors of 3e-5 (H100).
    if (plain.c.type == DType::f32 || !run_with_gelu_backward(plain, options)) return false;
    left.gelu_input = left.gelu = {};
  } else if (options.gelu.data != nullptr) {
    if (!run_with_gelu(plain, options)) return false;
    left.gelu = {};
  } else if (options.bias_gradient == nullptr || !run_with_bias_gradient(plain, options)) {
    return false;
  } else {
    left.bias_gradient = nullptr;
  }
  finish_product(kernels_, plain.a, plain.c, left);
  return true;
}

/// A product of 16 bits one of whose sizes is no multiple of 8, as a vocabulary of 50,257, in two:
/// cuBLASLt has no algorithm of the newer matrix units for such rows, however far apart they lie:
/// the logits of 32,768 tokens took 26 ms on an H100, a tenth of its rate. Most of the size is one
/// product, what is left over another. Returns whether it was done so.
bool CudaGemm::multiply_in_parts(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                                 const Matrix& c, const GemmOptions& options) {
  const bool has_epilogue = options.gelu.data != nullptr || options.gelu_input.data != nullptr ||
                            options.bias_gradient != nullptr;
  if (a.type == DType::f32 || has_epilogue) return false;
  const bool a_is_transposed = ta == Transpose::yes, b_is_transposed = tb == Transpose::yes;
  const std::size_t m = c.rows, n = c.columns, k = a_is_transposed ? a.rows : a.columns;
  const auto cut = [](const Matrix& matrix, bool rows, std::size_t first, std::size_t count) {
    return rows ? matrix.rows_from(first, count) : matrix.columns_from(first, count);
  };
  // Sizes along which a matrix is contiguous: of C, n; of A and B, what their transposition says.
  if (const std::size_t most = size_of_most(n); most != n) {
    for (const std::size_t first : {std::size_t{0}, most}) {
      const std::size_t count = first == 0 ? most : n - most;
      GemmOptions part = options;
      if (options.bias != nullptr) part.bias += first;
      multiply_equal(ta, a, tb, cut(b, b_is_transposed, first, count), c.columns_from(first, count),
                     part);
    }
    return true;
  }
  if (const std::size_t most = size_of_most(m); a_is_transposed && most != m) {
    for (const std::size_t first : {std::size_t{0}, most}) {
      const std::size_t count = first == 0 ? most : m - most;
      multiply_equal(ta, a.columns_from(first, count), tb, b, c.rows_from(first, count), options);
    }
    return true;
  }
  // Between the two parts C is rounded to its type, so only C of fp32 is summed so.
  const bool k_is_contiguous = !a_is_transposed || b_is_transposed;
  if (const std::size_t most = size_of_most(k);
      k_is_contiguous && most != k && c.type == DType::f32) {
    multiply_equal(ta, cut(a, a_is_transposed, 0, most), tb, cut(b, !b_is_transposed, 0, most), c,
                   options);
    multiply_equal(ta, cut(a, a_is_transposed, most, k - most), tb,
                   cut(b, !b_is_transposed, most, k - most), c, {.accumulate = true});
    return true;
  }
  return false;
}

void CudaGemm::multiply_equal(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                              const Matrix& c, const GemmOptions& options) {
  if (multiply_in_parts(ta, a, tb, b, c, options)) return;
  Tensor bias;
  LtCall call{ta, tb, a, b, c, options.accumulate};
  call.vector = bias_for(options.bias, c, bias);
  if (run_fused(call, options)) return;
  if (call.vector != nullptr) call.epilogue = CUBLASLT_EPILOGUE_BIAS;
  if (!run(call)) {
    fail_call("cublasLtMatmulAlgoGetHeuristic", "product", call.describe(),
              products_.at(key_of(call)).answer());
  }
  finish_product(kernels_, a, c, options);
}

void CudaGemm::multiply_in_f32(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                               const Matrix& c, const GemmOptions& options) {
  Tensor a_copy, b_copy, c_copy;
  const Matrix wide_a = as_f32(a, a_copy), wide_b = as_f32(b, b_copy);
  if (c.type == DType::f32) return multiply_equal(ta, wide_a, tb, wide_b, c, options);
  c_copy = Tensor(scratch_, c.rows, c.columns);
  if (options.accumulate) kernels_.convert(c, c_copy);
  multiply_equal(ta, wide_a, tb, wide_b, c_copy,
                 {.accumulate = options.accumulate, .bias = options.bias});
  kernels_.convert(c_copy, c);
  finish_product(kernels_, a, c, options);
}

void CudaGemm::multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                        const Matrix& c, const GemmOptions& options) {
  check_product(ta, a, tb, b, c, options);
  if (c.size() == 0) return finish_product(kernels_, a, c, options);
  if (a.size() == 0) {
    // A sum without terms: one term that is zero, so that bias and epilogues take the same way.
    const Tensor zeros(scratch_, 1, std::max(c.rows, c.columns), a.type);
    device_.fill(zeros.matrix().data, 0, zeros.bytes());
    return multiply(Transpose::yes, zeros.matrix().columns_from(0, c.rows), Transpose::no,
                    zeros.matrix().columns_from(0, c.columns), c, options);
  }
  if (a.type == b.type && (c.type == DType::f32 || c.type == a.type)) {
    multiply_equal(ta, a, tb, b, c, options);
  } else {
    multiply_in_f32(ta, a, tb, b, c, options);
  }
}

}  // namespace

std::unique_ptr<Gemm> make_cuda_gemm(CudaDevice& device, Kernels& kernels, Fp32Products fp32) {
  return std::make_unique<CudaGemm>(device, kernels, fp32);
}

}  // namespace pptrain
