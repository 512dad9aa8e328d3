#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/half.hpp"
#include "cublasLt.h"
#include "stand_in.hpp"

using cuda_on_host::fault;

struct StandInLt {};
struct StandInLtLayout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t ld;
};
struct StandInLtMatmul {
  cublasComputeType_t compute;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  std::int64_t aux_ld = 0;
};
struct StandInLtPreference {
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reductions = 7, alignment[4] = {256, 256, 256, 256};
};

namespace {

using pptrain::BFloat16;
using pptrain::Half;

bool has_epilogues = true;
std::uint64_t epilogues_done = 0, heuristics_asked = 0;

std::size_t size_of(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

float load(cudaDataType_t type, const void* data, std::size_t i) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[i];
  if (type == CUDA_R_16F) return static_cast<const Half*>(data)[i];
  return static_cast<const BFloat16*>(data)[i];
}

void save(cudaDataType_t type, void* data, std::size_t i, double value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[i] = static_cast<float>(value);
  } else if (type == CUDA_R_16F) {
    static_cast<Half*>(data)[i] = Half(static_cast<float>(value));
  } else {
    static_cast<BFloat16*>(data)[i] = BFloat16(static_cast<float>(value));
  }
}

double gelu(double u) {
  return u / (1.0 + std::exp(-1.5957691216057308 * (u + 0.044715 * u * u * u)));
}
double gelu_slope(double u) {
  const double gate = 1.0 / (1.0 + std::exp(-1.5957691216057308 * (u + 0.044715 * u * u * u)));
  return gate + u * gate * (1.0 - gate) * 1.5957691216057308 * (1.0 + 3.0 * 0.044715 * u * u);
}

/// A call, as it was when it was made: descriptors may change before the device comes to it.
struct Product {
  StandInLtMatmul matmul;
  StandInLtLayout a, b, d;
  const void *a_data, *b_data;
  void* d_data;
  float alpha, beta;

  std::uint64_t terms() const { return matmul.a == CUBLAS_OP_N ? a.columns : a.rows; }
  double a_at(std::uint64_t row, std::uint64_t term) const {
    const auto ld = static_cast<std::uint64_t>(a.ld);
    return load(a.type, a_data, matmul.a == CUBLAS_OP_N ? row + term * ld : term + row * ld);
  }
  double b_at(std::uint64_t term, std::uint64_t column) const {
    const auto ld = static_cast<std::uint64_t>(b.ld);
    return load(b.type, b_data, matmul.b == CUBLAS_OP_N ? term + column * ld : column + term * ld);
  }

  void run() const {
    const std::vector<double> rows =
        gather(d.rows, [this](auto row, auto k) { return a_at(row, k); });
    const std::vector<double> columns =
        gather(d.columns, [this](auto column, auto k) { return b_at(k, column); });
    const std::uint64_t n = terms();
    for (std::uint64_t column = 0; column < d.columns; ++column) {
      const double* b_column = columns.data() + column * n;
      for (std::uint64_t row = 0; row < d.rows; ++row)
        element(row, column, dot(rows.data() + row * n, b_column, n));
      if (matmul.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
        save(d.type, matmul.bias, column, std::accumulate(b_column, b_column + n, 0.0));
      }
    }
  }

 private:
  /// The terms of each of `count` rows or columns side by side, since each is read many times.
  template <class At>
  std::vector<double> gather(std::uint64_t count, const At& at) const {
    const std::uint64_t n = terms();
    std::vector<double> values(count * n);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; k < n; ++k) values[i * n + k] = at(i, k);
    }
    return values;
  }
  static double dot(const double* x, const double* y, std::uint64_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::uint64_t k = 0; k < n; ++k) sum += x[k] * y[k];
    return sum;
  }
  void element(std::uint64_t row, std::uint64_t column, double sum) const {
    const std::size_t place = row + column * static_cast<std::uint64_t>(d.ld);
    const std::size_t aux_place = row + column * static_cast<std::uint64_t>(matmul.aux_ld);
    double value = alpha * sum +
                   (beta == 0.0f ? 0.0 : beta * static_cast<double>(load(d.type, d_data, place)));
    switch (matmul.epilogue) {
      case CUBLASLT_EPILOGUE_BIAS: value += load(d.type, matmul.bias, row); break;
      case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
        value += load(d.type, matmul.bias, row);
        [[fallthrough]];
      case CUBLASLT_EPILOGUE_GELU_AUX:
        save(d.type, matmul.aux, aux_place, value);
        value = gelu(value);
        break;
      case CUBLASLT_EPILOGUE_DGELU: value *= gelu_slope(load(d.type, matmul.aux, aux_place)); break;
      default: break;
    }
    save(d.type, d_data, place, value);
  }
};

bool uses_aux(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_GELU_AUX || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_DGELU;
}
bool uses_vector(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_BGRADB;
}

bool types_are_known(const StandInLtLayout& a, const StandInLtLayout& b, const StandInLtLayout& d,
                     cublasComputeType_t compute) {
  if (a.type != b.type) return false;
  if (a.type == CUDA_R_32F) return d.type == CUDA_R_32F;
  return compute == CUBLAS_COMPUTE_32F && (d.type == CUDA_R_32F || d.type == a.type);
}

void require_sizes(const StandInLtMatmul& m, const StandInLtLayout& a, const StandInLtLayout& b,
                   const StandInLtLayout& d) {
  const std::uint64_t rows = m.a == CUBLAS_OP_N ? a.rows : a.columns,
                      terms = m.a == CUBLAS_OP_N ? a.columns : a.rows;
  const std::uint64_t depth = m.b == CUBLAS_OP_N ? b.rows : b.columns,
                      columns = m.b == CUBLAS_OP_N ? b.columns : b.rows;
  if (rows != d.rows || columns != d.columns || terms != depth)
    fault("cublasLt: sizes of a product do not fit");
  if (rows == 0 || columns == 0 || terms == 0)
    fault("cublasLt: a product without elements or terms");
}

void require_memory(const char* what, const void* data, const StandInLtLayout& l) {
  const std::size_t elements = (l.columns - 1) * static_cast<std::size_t>(l.ld) + l.rows;
  if (!cuda_on_host::is_device_memory(data, elements * size_of(l.type))) {
    fault(std::string("cublasLtMatmul: ") + what + " is not within a block of device memory");
  }
}

bool is_aligned(const void* data, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

/// What the heuristic hands out: the problem it is for, and what it needs.
struct Algorithm {
  std::uint64_t problem, workspace_bytes, alignment[4];
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

std::uint64_t hash_of(const StandInLtMatmul& m, const StandInLtLayout& a, const StandInLtLayout& b,
                      const StandInLtLayout& d) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const std::uint64_t value :
       {std::uint64_t{a.rows}, std::uint64_t{a.columns}, static_cast<std::uint64_t>(a.ld),
        std::uint64_t{b.rows}, std::uint64_t{b.columns}, static_cast<std::uint64_t>(b.ld),
        static_cast<std::uint64_t>(d.ld), static_cast<std::uint64_t>(a.type),
        static_cast<std::uint64_t>(d.type), static_cast<std::uint64_t>(m.epilogue),
        static_cast<std::uint64_t>(m.aux_ld), static_cast<std::uint64_t>(m.a),
        static_cast<std::uint64_t>(m.b)}) {
    hash = (hash ^ value) * 1099511628211ULL;
  }
  return hash;
}

template <class T>
cublasStatus_t take(T& to, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

void cuda_on_host::set_has_epilogues(bool has) { has_epilogues = has; }
std::uint64_t cuda_on_host::num_epilogues() { return epilogues_done; }
std::uint64_t cuda_on_host::num_heuristics() { return heuristics_asked; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE   ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                 : "CUBLAS_STATUS";
}
std::size_t cublasLtGetVersion() { return 130002; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new StandInLt;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmul, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  *matmul = new StandInLtMatmul{compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmul) {
  delete matmul;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t m,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(m->a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(m->b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(m->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(m->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return take(m->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return take(m->aux_ld, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t ld) {
  if (ld < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new StandInLtLayout{type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new StandInLtPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return take(p->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return take(p->reductions, value, bytes);
    default:
      return take(p->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
                  bytes);
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t m,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* returned) {
  *returned = 0;
  ++heuristics_asked;
  if (requested < 1 || c->rows != d->rows || c->columns != d->columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  require_sizes(*m, *a, *b, *d);
  if ((preference->reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE) != 0)
    fault("cublasLt: sums in no fixed order");
  if (!types_are_known(*a, *b, *d, m->compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool is_plain =
      m->epilogue == CUBLASLT_EPILOGUE_DEFAULT || m->epilogue == CUBLASLT_EPILOGUE_BIAS;
  if (!is_plain && !has_epilogues) return CUBLAS_STATUS_NOT_SUPPORTED;
  // A pointer that is not set would mean another alignment than the product's.
  if (uses_vector(m->epilogue) && m->bias == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (uses_aux(m->epilogue)) {
    if (m->aux == nullptr || m->aux_ld < static_cast<std::int64_t>(d->rows))
      return CUBLAS_STATUS_INVALID_VALUE;
    if (m->aux_ld % 8 != 0 || !is_aligned(m->aux, 16)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  Algorithm algorithm{
      hash_of(*m, *a, *b, *d), std::min<std::uint64_t>(preference->workspace_bytes, 4096), {}};
  for (int i = 0; i < 4; ++i) algorithm.alignment[i] = preference->alignment[i];
  *results = {};
  std::memcpy(&results->algo, &algorithm, sizeof(algorithm));
  results->workspaceSize = algorithm.workspace_bytes;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t m, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (handle == nullptr || chosen == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Algorithm algorithm{};
  std::memcpy(&algorithm, chosen, sizeof(algorithm));
  require_sizes(*m, *a_layout, *b_layout, *d_layout);
  if (algorithm.problem != hash_of(*m, *a_layout, *b_layout, *d_layout)) {
    fault("cublasLtMatmul: the algorithm was chosen for another product");
  }
  const void* pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (!is_aligned(pointers[i], algorithm.alignment[i]))
      fault("cublasLtMatmul: an operand is not aligned as promised");
  }
  require_memory("A", a, *a_layout);
  require_memory("B", b, *b_layout);
  require_memory("D", d, *d_layout);
  if (c != d || c_layout->ld != d_layout->ld) fault("cublasLtMatmul: C is not D");
  if (uses_aux(m->epilogue)) {
    require_memory("the auxiliary matrix", m->aux,
                   {d_layout->type, d_layout->rows, d_layout->columns, m->aux_ld});
  }
  if (uses_vector(m->epilogue)) {
    const std::uint64_t n =
        m->epilogue == CUBLASLT_EPILOGUE_BGRADB ? d_layout->columns : d_layout->rows;
    require_memory("the bias", m->bias, {d_layout->type, n, 1, static_cast<std::int64_t>(n)});
  }
  if (workspace_bytes < algorithm.workspace_bytes || !is_aligned(workspace, 256) ||
      !cuda_on_host::is_device_memory(workspace, workspace_bytes)) {
    fault("cublasLtMatmul: no such workspace");
  }
  if (m->epilogue != CUBLASLT_EPILOGUE_DEFAULT && m->epilogue != CUBLASLT_EPILOGUE_BIAS)
    ++epilogues_done;
  const Product product{*m,
                        *a_layout,
                        *b_layout,
                        *d_layout,
                        a,
                        b,
                        d,
                        *static_cast<const float*>(alpha),
                        *static_cast<const float*>(beta)};
  cuda_on_host::enqueue_library_call(
      stream, [product, workspace, bytes = algorithm.workspace_bytes] {
        std::memset(workspace, 0xff, bytes);  // whatever was there is lost
        product.run();
      });
  return CUBLAS_STATUS_SUCCESS;
}
