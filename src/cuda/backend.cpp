#include "cuda/backend.hpp"

#include "cuda/attention.hpp"
#include "cuda/device.hpp"
#include "cuda/experts.hpp"
#include "cuda/feature_maps.hpp"
#include "cuda/gemm.hpp"
#include "cuda/kernels.hpp"
#include "cuda/nccl.hpp"

namespace pptrain {
namespace {

class CudaBackend final : public GpuBackend {
 public:
  explicit CudaBackend(int ordinal)
      : device_(ordinal),
        kernels_(device_),
        experts_(make_cuda_experts(device_)),
        gemm_(make_cuda_gemm(device_, kernels_)),
        attention_(make_cuda_attention(device_)),
        feature_maps_(device_, *gemm_),
        direct_(make_nccl_groups(device_)) {}

  Backend backend() override {
    return {device_, *gemm_, *attention_, kernels_, *experts_, &feature_maps_};
  }
  DirectGroups* direct() override { return direct_.get(); }
  void use_graphs() override { device_.stream().use_graphs(); }
  GraphCounts graph_counts() const override { return device_.stream().graph_counts(); }

 private:
  CudaDevice device_;
  CudaKernels kernels_;
  std::unique_ptr<ExpertKernels> experts_;
  std::unique_ptr<Gemm> gemm_;
  std::unique_ptr<Attention> attention_;
  CudaFeatureMaps feature_maps_;
  std::unique_ptr<DirectGroups> direct_;
};

}  // namespace

std::unique_ptr<GpuBackend> make_gpu_backend(int ordinal) {
  return std::make_unique<CudaBackend>(ordinal);
}

}  // namespace pptrain
