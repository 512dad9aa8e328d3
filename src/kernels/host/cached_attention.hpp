#pragma once

#include "kernels/attention.hpp"

namespace pptrain {

/// Causal self-attention of a text's newest tokens on the host, where keys and values of all its
/// tokens are kept.
///
/// `form` is that of the whole text: one sample of T = `sequence_length` tokens. q and out (n,
/// heads * head_size) T are those of its last n tokens; k and v (T, key_heads * head_size) T are of
/// all. out overlaps no argument. Equals the last n rows of `Attention::forward` up to rounding;
/// sums are fp32 and in the order of the keys.
void attend_cached(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
                   const Matrix& out);

}  // namespace pptrain
