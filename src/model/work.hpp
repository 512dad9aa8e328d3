#pragma once

#include <optional>
#include <vector>

#include "config/config.hpp"

namespace pptrain {

/// What a member of a tensor-parallel group does of a kernel: all of it, or its share.
enum class Share { whole, divided };

/// The matrices of a kernel that multiplies them: (rows, inner) times (inner, columns). One
/// dimension grows with the samples and is given for one of them; another may be divided over a
/// tensor-parallel group.
struct ProductShape {
  enum class Dimension { rows, columns, inner };
  double rows = 0.0;
  double columns = 0.0;
  double inner = 0.0;
  Dimension grows = Dimension::rows;
  std::optional<Dimension> divided = std::nullopt;

  bool operator==(const ProductShape&) const = default;
};

/// The scores of an attention: of each head every position with every other one, whether a mask
/// hides it or not.
struct ScoresShape {
  double scores = 0.0;      ///< of a sample
  double head_size = 0.0;   ///< elements of a query
  double bytes = 0.0;       ///< of a score, where scores are kept
  bool causal = false;      ///< whether positions attend to those before them alone
  double key_values = 0.0;  ///< elements of the keys and values of a sample

  bool operator==(const ScoresShape&) const = default;
};

/// One kernel of a pass, or several launches that are bound by the same thing.
struct Kernel {
  double flop = 0.0;          ///< per sample; `share` of it on each member
  double bytes = 0.0;         ///< per sample: activations that every member reads and writes
  double shard_bytes = 0.0;   ///< per sample: activations that are divided over the group
  double weight_bytes = 0.0;  ///< per micro-batch: parameters or their gradients, divided as the
                              ///< FLOP are
  int launches = 1;
  Share share = Share::whole;
  std::optional<ProductShape> product = std::nullopt;  ///< nothing: it multiplies no matrices, or
                                                       ///< nobody says which
  std::optional<ScoresShape> attention = std::nullopt;
  bool is_loss = false;  ///< the loss and its gradient, over logits

  bool operator==(const Kernel&) const = default;
};

/// The kernels of a layer's passes.
struct Work {
  std::vector<Kernel> forward;
  std::vector<Kernel> backward_input;
  std::vector<Kernel> backward_weight;

  bool operator==(const Work&) const = default;
};

/// FLOP per sample of a pass, whole.
double flop_of(const std::vector<Kernel>& pass);

/// Bytes of a number of this precision; half of fp32's for both 16-bit formats.
double element_bytes(Precision precision);

}  // namespace pptrain
