#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "nn/layer.hpp"
#include "nn/operators/continuing.hpp"
#include "nn/text_team.hpp"

namespace pptrain {

/// A language model that reads one text from its start on, a few tokens at a time, and tells what
/// may come next. Keys and values of what it has read are kept, so that a further token costs one
/// row of every layer.
///
/// Computed on the host, by this process alone or by a team of them.
class Continuation {
 public:
  /// `places`: tokens that a text may have, which rows of a table of places must suffice for.
  /// `type`: of activations between products. Weights are zero until `fill`.
  Continuation(const Model& model, std::size_t places, DType type = DType::f32);
  /// Computes this process's share of the model. The team outlives it; all functions that read are
  /// Collective over it. `places` and `type` as for a process alone.
  Continuation(const Model& model, std::size_t places, DType type, TextTeam& team);
  ~Continuation();
  Continuation(const Continuation&) = delete;
  Continuation& operator=(const Continuation&) = delete;

  /// Sets every weight of this process, as `ParameterStore::fill` does.
  void fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values);

  /// Reads the next tokens, at least one, of the model's vocabulary and at most `places() -
  /// length()`. Returns the logits (vocabulary) of the token behind the last of them, on a process
  /// with a share in the last layer; nothing on others.
  std::vector<float> read(std::span<const std::uint32_t> tokens);
  /// Reads the next tokens, as `read` does. Returns the logits (tokens, vocabulary) of the token
  /// behind each of them, on a process with a share in the last layer; nothing on others.
  std::vector<float> read_each(std::span<const std::uint32_t> tokens);
  /// Begins another text.
  void restart() { where_.first = 0; }

  std::size_t length() const { return where_.first; }  ///< tokens that were read
  /// Tokens that a text may have, as the constructor was told.
  std::size_t places() const { return where_.capacity; }
  /// The token that the processes with logits have chosen; what the others give does not count.
  std::uint32_t agree(std::uint32_t token) { return team_.agree(token); }
  /// Logits that are computed for a token.
  std::size_t vocabulary() const { return static_cast<std::size_t>(model_.sample.classes); }

 private:
  class Part;

  void make_parts(DType type);
  Tensor stream(std::span<const std::uint32_t> tokens);
  std::vector<float> logits(Tensor stream);

  Model model_;
  std::unique_ptr<TextTeam> alone_;
  TextTeam& team_;
  Arena arena_;
  TextPlace where_;
  std::vector<std::unique_ptr<Part>> parts_;  ///< by part of the team; null where this process has
                                              ///< no share
};

}  // namespace pptrain
