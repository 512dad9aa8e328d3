#include "kernels/gemm.hpp"

#include "base/error.hpp"
#include "kernels/host/blocked_gemm.hpp"
#include "kernels/host/onednn_matmul.hpp"
#include "kernels/host/sgemm.hpp"
#include "kernels/product.hpp"
#ifdef PPTRAIN_HAVE_OPENBLAS
#include <cblas.h>
#endif

namespace pptrain {
namespace {

class HostGemm : public Gemm {
 public:
  HostGemm() {
#ifdef PPTRAIN_HAVE_OPENBLAS
    openblas_set_num_threads(1);
#endif
  }

  void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                const GemmOptions& options) override {
    kernels::check_product(ta, a, tb, b, c, options);
    if (has_bf16_ && a.type == DType::bf16 && b.type == DType::bf16 && c.type != DType::f16 &&
        c.size() != 0 && a.size() != 0) {
      matmul_->multiply(ta, a, tb, b, c, options);
    } else {
      blocked_.multiply(ta, a, tb, b, c, options);
    }
    kernels::finish_product(host_kernels(), a, c, options);
  }

  std::string name() const override {
    std::string text = matmul_ == nullptr ? "" : matmul_->name();
    const std::string openblas = kernels::openblas_name();
    return text + (text.empty() || openblas.empty() ? "" : ", ") + openblas;
  }

 private:
  kernels::BlockedGemm blocked_;
  std::unique_ptr<Gemm> matmul_ = kernels::make_onednn_matmul();
  bool has_bf16_ = kernels::onednn_has_bf16();
};

}  // namespace

Gemm& host_gemm() {
  static HostGemm gemm;
  return gemm;
}

}  // namespace pptrain
