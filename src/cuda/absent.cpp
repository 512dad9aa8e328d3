// In place of everything else in this folder where pptrain is built without CUDA.
#include "base/error.hpp"
#include "cuda/backend.hpp"
#include "cuda/presence.hpp"

namespace pptrain {

std::string cuda_build() { return ""; }

int num_gpus() { return 0; }

std::string why_no_gpu() { return "pptrain was built without CUDA (PPTRAIN_CUDA)"; }

std::unique_ptr<GpuBackend> make_gpu_backend(int ordinal) {
  throw_runtime_failure({"", fmt::format("GPU {} cannot be used", ordinal), why_no_gpu(), "use device = \"host\""});
}

}  // namespace pptrain
