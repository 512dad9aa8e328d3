#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/generate/generate.hpp"

namespace pptrain {

/// Continues the prompts of [metrics] sample_prompts by the model that is being trained, where one rank has all of it.
class SamplePrompts {
 public:
  /// A classifier and a model without tokenizer throw `Error` (exit code 2), where there are prompts. Not collective.
  SamplePrompts(const Config& config, const Model& model);

  bool empty() const { return prompts_.empty(); }
  /// Whether this rank has all weights of the model, whole.
  static bool can_print(Session& session);
  /// A line for each prompt: the step, the prompt and its likeliest continuation. Copies the weights for as long as it
  /// takes. Not collective.
  std::vector<std::string> lines(std::int64_t step, Session& session) const;

 private:
  std::vector<std::string> prompts_;
  TokenMeaning meaning_;
  std::set<std::uint32_t> ends_;
  std::optional<std::size_t> longest_;
};

}  // namespace pptrain
