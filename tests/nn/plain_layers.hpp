#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "nn/layer.hpp"

/// GPT-2's layers written out in double, without any of the tricks of src/nn: the reference that
/// gradients are held to by finite differences.
namespace pptrain::test {

using Values = std::vector<double>;
/// Whole parameters by name.
using Parameters = std::map<std::string, Values>;

struct PlainBatch {
  std::int64_t samples = 1;
  std::vector<std::uint32_t> tokens;
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> document_begin = {};   ///< as Batch's; plain_operators alone goes by it
  std::vector<std::uint32_t> token_types = {};     ///< likewise
  std::vector<float> features = {};                ///< likewise
  std::optional<DropoutNumbers> dropout = {};      ///< likewise
  std::vector<std::uint32_t> decoder_tokens = {};  ///< likewise
  std::vector<std::int32_t> input_lengths = {};    ///< likewise; empty: nothing is padding
  std::vector<float> drawings = {};                ///< likewise
};

/// x (R, H) -> (R, H); the embedding ignores x.
Values plain_embedding(const Model& model, const Parameters& p, const PlainBatch& batch);
Values plain_block(const Model& model, const Parameters& p, const std::string& prefix,
                   const PlainBatch& batch, const Values& x);
/// Sum of the cross-entropy over all rows.
double plain_output(const Model& model, const Parameters& p, const PlainBatch& batch,
                    const Values& x);

}  // namespace pptrain::test
