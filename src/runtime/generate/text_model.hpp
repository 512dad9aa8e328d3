#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "model/model.hpp"
#include "runtime/generate/token_text.hpp"

namespace pptrain {

/// Gives elements [begin, end) of a flattened parameter, fp32.
using ParameterSource =
    std::function<void(const ParameterSpec& spec, Interval elements, float* out)>;

/// A trained language model with all that is needed to continue texts.
struct TextModel {
  std::string description;  ///< for people: "gpt2 after step 200"
  Model model;
  ParameterSource parameters;
  TokenMeaning meaning;
  std::set<std::uint32_t> ends;        ///< tokens that end a text
  std::optional<std::size_t> longest;  ///< tokens of a text that the model has places for; nothing:
                                       ///< any number
};

/// Why a model with samples of this kind, which do not predict the next token, continues no text.
std::string why_no_text(const SampleShape& sample);

/// Whether it is known what the tokens of a model mean, by a tokenizer.json in `folder` or as
/// bytes; "" for no folder.
bool has_token_meaning(const Model& model, const std::string& folder);

/// The tokenizer.json at `path`, a file or a folder with one. One that has more tokens than the
/// model, so that some would lack a row of the embedding, throws `Error` (exit code 2), as one that
/// cannot be read does.
Tokenizer read_tokenizer(const std::string& path, const Model& model);

/// What the tokens of a model mean: those of the tokenizer.json at `tokenizer` (a file, or a folder
/// with one), or, where that is "", of the one in `folder`; without either bytes, where the model's
/// vocabulary is theirs. No tokenizer, and one with more tokens than the model, throw `Error` (exit
/// code 2) with `where` as the place.
TokenMeaning token_meaning(const Model& model, const std::string& tokenizer,
                           const std::string& folder, const std::string& where);

/// Tokens that end a text, as generation_config.json or config.json in `folder` says
/// (`eos_token_id`), or else the eos_token of the tokenizer_config.json beside the tokenizer; ""
/// for no folder.
std::set<std::uint32_t> end_tokens(const std::string& folder, const std::string& tokenizer,
                                   const TokenMeaning& meaning);

/// Tokens of a text that the config.json in `folder` has places for; nothing where it does not say
/// so.
std::optional<std::size_t> longest_text(const std::string& folder);
/// Tokens of a text that a model which a job trains has places for: as the config.json in `folder`
/// says, or without a folder ("") those of a sample of its training; nothing where the file does
/// not say so.
std::optional<std::size_t> longest_text(const std::string& folder, const TrainingConfig& training);

/// Opens a checkpoint, the last checkpoint of a run directory, or a folder of Hugging Face's
/// libraries. Weights are read by `parameters`. What is none of these, a model without text and a
/// missing tokenizer throw `Error` (exit code 2).
TextModel open_text_model(const std::string& source, const std::string& tokenizer);

}  // namespace pptrain
