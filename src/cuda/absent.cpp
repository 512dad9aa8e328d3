// In place of everything else in this folder where pptrain is built without CUDA.
#include "cuda/presence.hpp"

namespace pptrain {

std::string cuda_build() { return ""; }

int num_gpus() { return 0; }

std::string why_no_gpu() { return "pptrain was built without CUDA (PPTRAIN_CUDA)"; }

}  // namespace pptrain
