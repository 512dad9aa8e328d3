#include "kernels/host/sgemm.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#ifdef PPTRAIN_HAVE_ONEDNN
#include <dnnl.h>
#endif
#ifdef PPTRAIN_HAVE_OPENBLAS
#include <cblas.h>
#endif

namespace pptrain::kernels {
namespace {

#ifdef PPTRAIN_HAVE_ONEDNN
void onednn_sgemm(const SgemmSizes& sizes, const SgemmOperand& a, const SgemmOperand& b, float* c,
                  std::size_t c_stride, bool accumulate) {
  const auto letter = [](Transpose t) { return t == Transpose::yes ? 'T' : 'N'; };
  const auto size = [](std::size_t v) { return static_cast<dnnl_dim_t>(v); };
  const dnnl_status_t status = dnnl_sgemm(
      letter(a.transpose), letter(b.transpose), size(sizes.m), size(sizes.n), size(sizes.k), 1.0f,
      a.data, size(a.stride), b.data, size(b.stride), accumulate ? 1.0f : 0.0f, c, size(c_stride));
  PPTRAIN_ASSERT(status == dnnl_success, "dnnl_sgemm returned {} for m {} n {} k {}",
                 static_cast<int>(status), sizes.m, sizes.n, sizes.k);
}
#endif

#ifdef PPTRAIN_HAVE_OPENBLAS
void openblas_sgemm(const SgemmSizes& sizes, const SgemmOperand& a, const SgemmOperand& b, float* c,
                    std::size_t c_stride, bool accumulate) {
  const auto order = [](Transpose t) { return t == Transpose::yes ? CblasTrans : CblasNoTrans; };
  const auto size = [](std::size_t v) { return static_cast<blasint>(v); };
  cblas_sgemm(CblasRowMajor, order(a.transpose), order(b.transpose), size(sizes.m), size(sizes.n),
              size(sizes.k), 1.0f, a.data, size(a.stride), b.data, size(b.stride),
              accumulate ? 1.0f : 0.0f, c, size(c_stride));
}
#endif

#ifdef PPTRAIN_HAVE_OPENBLAS
/// Whether OpenBLAS computes with the vectors of this processor. Of one that is newer than itself
/// it may know nothing, and then takes the kernels of a Prescott (SSE3), which are several times as
/// slow: 0.3.21 does on an Emerald Rapids.
bool openblas_uses_vectors() {
#ifdef __x86_64__
  static const bool uses =
      !__builtin_cpu_supports("avx2") || std::string_view(openblas_get_corename()) != "Prescott";
  return uses;
#else
  return true;
#endif
}
#endif

#if defined(PPTRAIN_HAVE_ONEDNN) && defined(PPTRAIN_HAVE_OPENBLAS)
/// Measured on Zen 3 (peak 103 GFLOP/s), oneDNN 2.6 and OpenBLAS 0.3.21: with few terms oneDNN
/// reaches 92-97 where OpenBLAS does 87-91; beyond 384 terms 76-88 against 85-92. Weight gradients
/// (A transposed) fall to 38-72 in oneDNN where the stride is large, and do 85-93 in OpenBLAS.
/// Small products, as attention's, cost OpenBLAS relatively more to prepare.
bool openblas_is_faster(const SgemmSizes& sizes, const SgemmOperand& a) {
  if (!openblas_uses_vectors()) return false;
  return (a.transpose == Transpose::yes || sizes.k > 384) &&
         sizes.m * sizes.n * sizes.k > std::size_t{1} << 21;
}
#endif

}  // namespace

void sgemm(const SgemmSizes& sizes, const SgemmOperand& a, const SgemmOperand& b, float* c,
           std::size_t c_stride, bool accumulate) {
  const auto [m, n, k] = sizes;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::size_t row = 0; row < m && !accumulate; ++row)
      std::fill_n(c + row * c_stride, n, 0.0f);
    return;
  }
#if defined(PPTRAIN_HAVE_ONEDNN) && defined(PPTRAIN_HAVE_OPENBLAS)
  if (openblas_is_faster(sizes, a)) {
    openblas_sgemm(sizes, a, b, c, c_stride, accumulate);
  } else {
    onednn_sgemm(sizes, a, b, c, c_stride, accumulate);
  }
#elif defined(PPTRAIN_HAVE_ONEDNN)
  onednn_sgemm(sizes, a, b, c, c_stride, accumulate);
#else
  openblas_sgemm(sizes, a, b, c, c_stride, accumulate);
#endif
}

std::string openblas_name() {
#ifdef PPTRAIN_HAVE_OPENBLAS
  const std::string core = openblas_get_corename();
  if (openblas_uses_vectors()) return "OpenBLAS (" + core + ")";
#ifndef PPTRAIN_HAVE_ONEDNN
  return "OpenBLAS (" + core + ", slow: it does not know this processor; set OPENBLAS_CORETYPE)";
#endif
#endif
  return "";
}

}  // namespace pptrain::kernels
