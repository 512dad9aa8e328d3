#pragma once

#include <string>
#include <vector>

namespace pptrain {

/// How the members of a tensor-parallel group divide a layer.
enum class TensorPattern {
  megatron,    ///< column, then row division inside the layer: the profile says what is all-reduced
  sp1,         ///< Whale's first pattern: columns of the weights, so outputs are sharded
  sp2,         ///< Whale's second pattern: rows of the weights and columns of the input, so outputs are partial sums
  all_to_all,  ///< each member has samples of its own and some experts whole: rows go to the members with their experts
};

/// The name of blocks that one member has whole.
inline constexpr const char* undivided_pattern = "replicate";

/// Names that blocks of plans may have for it.
const std::vector<std::string>& pattern_names();
/// The pattern of a block by its name; an undivided one counts as Megatron's of one member.
TensorPattern pattern_called(const std::string& name);
/// The name of a block that so many members divide by the pattern.
const std::string& name_of(TensorPattern pattern, int tensor_parallel);

}  // namespace pptrain
