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
  std::vector<std::uint32_t> token_types = {};     ///< as Batch's
  std::vector<float> features = {};                ///< as Batch's
  std::optional<DropoutNumbers> dropout = {};      ///< as Batch's
  std::vector<std::uint32_t> decoder_tokens = {};  ///< as Batch's
  std::vector<std::int32_t> input_lengths = {};    ///< as Batch's; empty: nothing is padding
  std::vector<float> drawings = {};                ///< as Batch's
};

/// x (R, H) -> (R, H); the embedding ignores x.
Values plain_embedding(const Model& model, const Parameters& p, const PlainBatch& batch);
Values plain_block(const Model& model, const Parameters& p, const std::string& prefix,
                   const PlainBatch& batch, const Values& x);
/// Sum of the cross-entropy over all rows.
double plain_output(const Model& model, const Parameters& p, const PlainBatch& batch,
                    const Values& x);

}  // namespace pptrain::test
