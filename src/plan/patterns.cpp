#include "plan/patterns.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {
namespace {

struct NamedPattern {
  std::string name;
  TensorPattern pattern;
};

const std::vector<NamedPattern>& named_patterns() {
  static const std::vector<NamedPattern> patterns = {{undivided_pattern, TensorPattern::megatron},
                                                     {"megatron", TensorPattern::megatron},
                                                     {"sp1", TensorPattern::sp1},
                                                     {"sp2", TensorPattern::sp2},
                                                     {"all-to-all", TensorPattern::all_to_all}};
  return patterns;
}

}  // namespace

const std::vector<std::string>& pattern_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedPattern& known : named_patterns()) all.push_back(known.name);
    return all;
  }();
  return names;
}

TensorPattern pattern_called(const std::string& name) {
  for (const NamedPattern& known : named_patterns()) {
    if (known.name == name) return known.pattern;
  }
  PPTRAIN_ASSERT(false, "no pattern \"{}\"", name);
}

const std::string& name_of(TensorPattern pattern, int tensor_parallel) {
  const std::vector<NamedPattern>& all = named_patterns();
  if (tensor_parallel == 1 && pattern != TensorPattern::all_to_all) return all.front().name;
  return std::find_if(all.begin() + 1, all.end(),
                      [pattern](const NamedPattern& known) { return known.pattern == pattern; })
      ->name;
}

}  // namespace pptrain
