#include "plan/patterns.hpp"

namespace pptrain {

const NameTable<TensorPattern>& pattern_names() {
  static const NameTable<TensorPattern> names = {{TensorPattern::replicate, "replicate"},
                                                 {TensorPattern::megatron, "megatron"},
                                                 {TensorPattern::sp1, "sp1"},
                                                 {TensorPattern::sp2, "sp2"},
                                                 {TensorPattern::all_to_all, "all-to-all"}};
  return names;
}

TensorPattern written_pattern(TensorPattern pattern, int tensor_parallel) {
  return tensor_parallel == 1 && pattern != TensorPattern::all_to_all ? TensorPattern::replicate
                                                                      : pattern;
}

}  // namespace pptrain
