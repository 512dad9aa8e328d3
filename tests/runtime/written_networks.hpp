#pragma once

#include <string>

#include "model/model.hpp"
#include "reference.hpp"

/// Networks that are written down as [[model.layer]], in which layers differ.
namespace pptrain::test {

/// Blocks of 8, 4 and 12 heads: each of four positions of the axis stands for 2, 1 and 3 of them.
/// No ReLU is among the activations: where rounding moves a sum across its kink a gradient jumps,
/// and losses with it.
inline const std::string uneven_blocks =
    "[[model.layer]]\nheads = 8\nkey_heads = 2\nfeed_forward = 96\nactivation = \"silu\"\nwindow = "
    "5\n"
    "query_bias = true\nhead_norms = true\nrotary_theta = 1e4\n"
    "[[model.layer]]\nheads = 4\nkey_heads = 4\nfeed_forward = 72\ngated = true\nparallel = true\n"
    "output_bias = true\nfeed_forward_bias = true\n"
    "[[model.layer]]\nheads = 12\nkey_heads = 4\nhead_size = 6\nfeed_forward = 120\nactivation = "
    "\"gelu\"\n"
    "rotary_theta = 1e4\nrotary_share = 0.7\n";

/// Blocks whose experts take no more than an even share of a sample's rows, or a little more.
inline const std::string full_experts =
    "[[model.layer]]\nheads = 4\nfeed_forward = 32\nactivation = \"silu\"\ngated = "
    "true\nrotary_theta = 1e4\n"
    "experts = 4\nexpert_capacity = 1.0\n"
    "[[model.layer]]\nheads = 4\nfeed_forward = 32\nactivation = \"silu\"\ngated = "
    "true\nrotary_theta = 1e4\n"
    "experts = 4\nexperts_per_token = 3\nexperts_sum_to_one = false\nexpert_capacity = "
    "1.1\nshared_expert = 24\n"
    "[[model.layer]]\nrepeat = 2\nheads = 4\nfeed_forward = 32\nactivation = \"gelu\"\nexperts = "
    "4\nexperts_every = 2\n"
    "shared_expert = 16\n";

/// Blocks with experts that take all rows, and one more for all of them, gated and not.
inline const std::string shared_experts =
    "[[model.layer]]\nheads = 4\nfeed_forward = 32\nactivation = \"silu\"\ngated = true\nexperts = "
    "4\nshared_expert = "
    "24\n"
    "[[model.layer]]\nheads = 4\nfeed_forward = 32\nactivation = \"gelu\"\nexperts = "
    "4\nshared_expert = 16\n";

/// A generator of images whose layers differ in rows and columns.
inline const std::string drawing = R"(
[[model.layer]]
kind = "latent"
inputs = 6
image_size = 3
columns = 32
positions = true
[[model.layer]]
repeat = 2
heads = 4
activation = "gelu"
[[model.layer]]
kind = "enlarge"
method = "bicubic"
positions = true
[[model.layer]]
repeat = 2
heads = 4
window = 3
query_bias = true
[[model.layer]]
kind = "enlarge"
method = "shuffle"
positions = true
[[model.layer]]
heads = 4
window = 4
feed_forward = 24
output_bias = true
feed_forward_bias = true
[[model.layer]]
kind = "pixels"
channels = 2
)";

/// Blocks of 16, 32 and 48 channels between the convolutions that a group divides: positions of the
/// axis stand for 1, 2 and 3 of them. The first ones are narrower, and every member computes them
/// whole.
inline const std::string wide_blocks = R"(
[[model.layer]]
kind = "images"
image_size = 16
[[model.layer]]
kind = "convolution"
channels = 8
batch_norm = true
activation = "silu"
[[model.layer]]
kind = "residual"
channels = 8
activation = "silu"
[[model.layer]]
kind = "residual"
channels = 16
stride = 2
activation = "silu"
[[model.layer]]
kind = "residual"
channels = 24
inner = 32
activation = "silu"
[[model.layer]]
kind = "residual"
repeat = 2
channels = 32
inner = 12
wide = 48
stride = 2
activation = "silu"
pool = "average"
pool_size = 0
[[model.layer]]
kind = "classes"
classes = 9
)";

/// The network of these blocks between an embedding and an output.
ModelConfig own_network(const std::string& blocks);

/// A network with weights that are drawn; one rank says what its losses are.
struct Drawn {
  Reference reference{"llama"};
  Model model;

  explicit Drawn(const ModelConfig& network);
  explicit Drawn(const std::string& blocks) : Drawn(own_network(blocks)) {}

  /// The loss of an evaluation behind one step, which goes by what the step has left in buffers.
  double evaluated(MPI_Comm comm, const Plan& plan) const;
  /// Trains by the plan as one rank does.
  void check(const Plan& plan, const SessionOptions& options = {}) const;

 private:
  void draw(const ParameterSpec& spec);
  bool norms_batches() const;
};

}  // namespace pptrain::test
