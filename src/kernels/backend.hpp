#pragma once

#include "kernels/attention.hpp"
#include "kernels/denormals.hpp"
#include "kernels/experts.hpp"
#include "kernels/feature_maps.hpp"
#include "kernels/gemm.hpp"
#include "kernels/kernels.hpp"

namespace pptrain {

/// What a rank computes with: the parts of one device, which outlive this. Another make of device
/// is another set of them.
struct Backend {
  Device& device;
  Gemm& gemm;
  Attention& attention;
  Kernels& kernels;
  ExpertKernels& experts;
  FeatureMaps* feature_maps = nullptr;  ///< null: the device computes no images
};

/// The host. The calling thread, which computes with it, flushes denormal numbers from now on.
inline Backend host_backend() {
  flush_denormals();
  return {host_device(),  host_gemm(),    host_attention(),
          host_kernels(), host_experts(), &host_feature_maps()};
}

}  // namespace pptrain
