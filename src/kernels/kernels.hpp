#pragma once

#include "kernels/activations.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elements.hpp"
#include "kernels/embeddings.hpp"
#include "kernels/norms.hpp"
#include "kernels/updates.hpp"

namespace pptrain {

/// What one device computes element by element and row by row; products and attention have
/// interfaces of their own. Pointers are to memory of the device, on which calls run in order,
/// perhaps later (`Device`).
///
/// Rows are tokens: R = samples * sequence length. Activations ("T") are f32, bf16 or f16 by the
/// matrix's type; parameters of norms, biases, statistics and everything on the residual stream are
/// f32. Arithmetic is fp32.
///
/// Every output element is computed in a fixed order, so that two runs agree bit for bit. A NaN
/// that goes into a result comes out of it. What is called an output is never read before it is
/// written.
class Kernels : public NormKernels,
                public ActivationKernels,
                public EmbeddingKernels,
                public CrossEntropyKernels,
                public ElementKernels,
                public UpdateKernels {};

/// The host's, launched by Kokkos.
Kernels& host_kernels();

}  // namespace pptrain
