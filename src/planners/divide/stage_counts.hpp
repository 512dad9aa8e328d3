#pragma once

#include <algorithm>
#include <limits>

#include "config/config.hpp"

namespace pptrain {

/// What the number of stages that a label stands for has to do with whether it may stand for
/// another label. Behind fewer stages no earlier stage holds more micro-batches; a pipeline of a
/// set length needs as many as were counted on.
class StageCounts {
 public:
  /// Fewer stages, or as many; numbers above `most` hold as many micro-batches as that one.
  static StageCounts fewer(int most = std::numeric_limits<int>::max()) {
    return {Rule::fewer, most};
  }
  /// Numbers have to be equal where the length of the `pipeline` is set; else they count as by
  /// `fewer` where memory decides, and not at all where it does not.
  static StageCounts of(const AutoInt& pipeline, bool memory_decides,
                        int most = std::numeric_limits<int>::max()) {
    if (pipeline) return {Rule::equal, most};
    return {memory_decides ? Rule::fewer : Rule::any, most};
  }

  /// Whether a label of `a` stages may stand for one of `b`.
  bool covers(int a, int b) const {
    if (rule_ == Rule::equal) return a == b;
    return rule_ == Rule::any || std::min(a, most_) <= std::min(b, most_);
  }

 private:
  enum class Rule { any, fewer, equal };
  StageCounts(Rule rule, int most) : rule_(rule), most_(most) {}

  Rule rule_;
  int most_;
};

}  // namespace pptrain
