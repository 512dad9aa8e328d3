// A vocabulary that was trained here as tokenizer.json, which `pptrain generate` and Hugging Face's
// libraries read.
#include <sentencepiece_processor.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "data/vocabulary.hpp"
#include "text/utf8.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::ordered_json;

/// Stands for a space in pieces.
constexpr const char* space_mark = "\u2581";

/// Pieces that text is merged to, by their text: all but bytes and what stands for no text.
using MergedPieces = std::unordered_map<std::string, int>;

MergedPieces merged_pieces(const sentencepiece::SentencePieceProcessor& model) {
  MergedPieces pieces;
  for (int id = 0; id < model.GetPieceSize(); ++id) {
    const std::string& piece = model.IdToPiece(id);
    if (model.IsUnknown(id) || model.IsControl(id) || model.IsByte(id) || piece == trained_line_end)
      continue;
    pieces.emplace(piece, id);
  }
  return pieces;
}

/// SentencePiece merges neighbours whenever both together are a piece, the best piece first; here
/// every pair that makes one is listed, the best first.
Json merges_of(const sentencepiece::SentencePieceProcessor& model) {
  const MergedPieces pieces = merged_pieces(model);
  std::vector<std::pair<std::string, int>> ordered(pieces.begin(), pieces.end());
  std::sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) {
    return std::pair(-model.GetScore(a.second), a.second) <
           std::pair(-model.GetScore(b.second), b.second);
  });
  Json merges = Json::array();
  for (const auto& [piece, id] : ordered) {
    for (std::size_t at = code_point_at(piece, 0).size; at < piece.size();
         at += code_point_at(piece, at).size) {
      const std::string left = piece.substr(0, at), right = piece.substr(at);
      if (pieces.contains(left) && pieces.contains(right)) merges.push_back({left, right});
    }
  }
  return merges;
}

Json replacement(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

}  // namespace

std::string Vocabulary::tokenizer_json() const {
  Json vocabulary = Json::object();
  for (int id = 0; id < processor_->GetPieceSize(); ++id)
    vocabulary[processor_->IdToPiece(id)] = id;
  const Json line_end = {{"id", vocabulary.at(trained_line_end)},
                         {"content", trained_line_end},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", false}};
  const Json tokenizer = {{"version", "1.0"},
                          {"truncation", nullptr},
                          {"padding", nullptr},
                          {"added_tokens", Json::array({line_end})},
                          {"normalizer", replacement(" ", space_mark)},
                          {"pre_tokenizer", nullptr},
                          {"post_processor", nullptr},
                          {"decoder",
                           {{"type", "Sequence"},
                            {"decoders", Json::array({replacement(space_mark, " "),
                                                      {{"type", "ByteFallback"}},
                                                      {{"type", "Fuse"}}})}}},
                          {"model",
                           {{"type", "BPE"},
                            {"dropout", nullptr},
                            {"unk_token", processor_->IdToPiece(processor_->unk_id())},
                            {"continuing_subword_prefix", nullptr},
                            {"end_of_word_suffix", nullptr},
                            {"fuse_unk", true},
                            {"byte_fallback", true},
                            {"ignore_merges", false},
                            {"vocab", std::move(vocabulary)},
                            {"merges", merges_of(*processor_)}}}};
  return tokenizer.dump(1) + "\n";
}

}  // namespace pptrain
