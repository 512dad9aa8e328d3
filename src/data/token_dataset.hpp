#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/token_stream.hpp"

namespace pptrain {

struct DatasetOptions {
  std::int64_t vocabulary_size = 256;
  std::int64_t sequence_length = 1;    ///< T
  std::int64_t global_batch_size = 1;  ///< B, samples per step
  bool shuffle = true;
  std::uint64_t seed = 0;
  std::string source = {};  ///< place for messages: the configuration's file and line
  std::optional<std::int64_t> end_of_document = {};  ///< the token that ends a document
  bool needs_documents = false;        ///< refuses files of which nothing says where documents end
  std::string random_stream = "data";  ///< names the random numbers of the order
};

/// The tokens of several files one behind the other, and which of them a sample is.
///
/// A sample is T tokens and the T tokens one further. Which ones depends on (seed, step, sample
/// index) alone, never on the grid:
/// - in order: sample i of step t starts at token ((t mod n) * B + i) * T, where n is the number of
///   whole batches in the files;
/// - shuffled: samples t * B + i are windows of T tokens that do not overlap, in a random order
/// that
///   takes each once per epoch; the windows of each epoch start at another random offset below T.
class TokenDataset final : public Dataset {
 public:
  /// Opens and checks the files: one that is missing, empty or unreadable, a token outside the
  /// vocabulary, or fewer than B * T + 1 tokens throw `Error` (exit code 2).
  TokenDataset(const std::vector<std::string>& paths, const DatasetOptions& options);

  /// Tokens of all files together.
  std::int64_t num_tokens() const { return stream_.num_tokens(); }

  /// Sample `index` (0 to B - 1) of step `step` (from 0). `tokens` and `targets` take T values
  /// each.
  void sample(std::int64_t step, std::int64_t index, std::uint32_t* tokens,
              std::uint32_t* targets) const;
  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override;
  /// Sample `number` (from 0) of the same series without batches: shuffled, or the windows in order
  /// over and over.
  void numbered(std::int64_t number, const SampleSlot& slot) const;

  /// Windows of T tokens from the start of the files, for evaluation.
  std::int64_t num_windows() const override {
    return (num_tokens() - 1) / options_.sequence_length;
  }
  /// Window `index` (0 to num_windows - 1), the same in every evaluation.
  void window(std::int64_t index, std::uint32_t* tokens, std::uint32_t* targets) const;
  void window(std::int64_t index, const SampleSlot& slot) const override;
  std::vector<TokenOrigin> origins() const override { return stream_.origins(options_.source); }

 private:
  std::int64_t position_of(std::int64_t step, std::int64_t index) const;
  void fill(std::int64_t position, const SampleSlot& slot) const;
  std::int64_t ordered_position(std::int64_t step, std::int64_t index) const;
  std::int64_t shuffled_position(std::int64_t number) const;
  void copy_sample(std::int64_t position, std::uint32_t* tokens, std::uint32_t* targets) const;

  DatasetOptions options_;
  TokenStream stream_;
};

}  // namespace pptrain
