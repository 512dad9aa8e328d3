#pragma once

#include "base/name_table.hpp"

namespace pptrain {

/// How the members of a tensor-parallel group divide a layer.
enum class TensorPattern {
  replicate,  ///< not at all: there is one member. Costs and the runtime count it as Megatron's of
              ///< one member
  megatron,   ///< column, then row division inside the layer: the profile says what is all-reduced
  sp1,        ///< Whale's first pattern: columns of the weights, so outputs are sharded
  sp2,  ///< Whale's second pattern: rows of the weights and columns of the input, so outputs are
        ///< partial sums
  all_to_all,  ///< each member has samples of its own and some experts whole: rows go to the
               ///< members with their experts
};

/// Names that blocks of plans have for it.
const NameTable<TensorPattern>& pattern_names();

/// What a block says that so many members divide by the pattern.
TensorPattern written_pattern(TensorPattern pattern, int tensor_parallel);

}  // namespace pptrain
