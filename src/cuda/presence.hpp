#pragma once

#include <string>

namespace pptrain {

/// What this program was built with: "CUDA 13.0, NCCL 2.28.9, cuDNN 9.19.0"; empty without CUDA.
std::string cuda_build();

/// GPUs that this process sees; 0 without driver, GPU or a build for them.
int num_gpus();

/// Why there are none, in words for a person; empty where there are some.
std::string why_no_gpu();

}  // namespace pptrain
