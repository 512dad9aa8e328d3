// Takes the place of everything else in this folder where pptrain is built without CUDA.
#include "base/error.hpp"
#include "cuda/backend.hpp"
#include "cuda/gpu_info.hpp"
#include "cuda/presence.hpp"

namespace pptrain {

std::string cuda_build() { return ""; }

int num_gpus() { return 0; }

std::string why_no_gpu() { return "pptrain was built without CUDA (PPTRAIN_CUDA)"; }

namespace {
[[noreturn]] void refuse(int ordinal) {
  throw_runtime_failure(
      {"", fmt::format("GPU {} cannot be used", ordinal), why_no_gpu(), "use device = \"host\""});
}
}  // namespace

std::unique_ptr<GpuBackend> make_gpu_backend(int ordinal) { refuse(ordinal); }

GpuInfo gpu_info(int ordinal) { refuse(ordinal); }

std::vector<VisiblePeer> visible_peers(int ordinal) { refuse(ordinal); }

}  // namespace pptrain
