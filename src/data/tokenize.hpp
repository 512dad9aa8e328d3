#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pptrain {

/// What `pptrain tokenize` is asked for.
struct TokenizeOptions {
  std::vector<std::string> texts = {};  ///< text files, taken one behind the other
  std::string output = {};              ///< token file to write
  std::string model = {};               ///< an existing SentencePiece model; "": none
  std::int64_t train_vocabulary = 0;    ///< pieces of a SentencePiece model to train; 0: none
};

struct TokenizeResult {
  std::int64_t num_bytes = 0;  ///< of text
  std::int64_t num_tokens = 0;
  std::int64_t vocabulary_size = 0;
  std::string model_path;  ///< where the SentencePiece model was written; "" for bytes
};

/// Writes the texts as a token file.
///
/// With neither model nor `train_vocabulary` every byte is a token. A model that is trained here
/// loses nothing: line ends and spaces are kept and unknown characters fall back to bytes. The
/// SentencePiece model is written beside the tokens, with the extension `.model`. Both files are
/// written beside and renamed into place.
///
/// Texts or models that cannot be read, or outputs that cannot be written, throw `Error` (exit code 2).
TokenizeResult tokenize_files(const TokenizeOptions& options);

}  // namespace pptrain
