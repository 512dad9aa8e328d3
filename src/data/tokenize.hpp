#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pptrain {

/// How far `tokenize_files` is.
struct TokenizeProgress {
  std::int64_t bytes_done = 0;
  std::int64_t bytes = 0;
  std::int64_t num_tokens = 0;
};

/// What `pptrain tokenize` is asked for.
struct TokenizeOptions {
  std::vector<std::string> texts = {};  ///< text files, taken one behind the other
  std::string output = {};              ///< token file to write
  std::string model = {};               ///< an existing SentencePiece model; "": none
  std::int64_t train_vocabulary = 0;    ///< pieces of a SentencePiece model to train; 0: none
  // Only with a tokenizer:
  std::string tokenizer = {};           ///< tokenizer.json, or a folder with one; "": none
  bool append_end_of_document = false;  ///< a token behind every document: that of
                                        ///< `end_of_document`, or eos_token of
                                        ///< tokenizer_config.json
  std::string end_of_document = {};  ///< text of that token, which is then appended; "": none named
  bool special_tokens = true;        ///< the tokens that the tokenizer puts around a text, as `<s>`
  bool megatron = false;             ///< a pair NAME.bin and NAME.idx as Megatron-LM reads it
  std::string json_key = "text";     ///< of the text in lines of .jsonl files
  bool skip_bad_lines = false;       ///< leave out lines of which no text or no tokens can be made
  int num_threads = 0;               ///< 0: as many as there are cores
  std::size_t part_bytes = std::size_t{1} << 18U;  ///< of text that a thread takes at a time
  std::function<void(const TokenizeProgress&)> progress = {};  ///< called now and then; may be
                                                               ///< empty
  // Only with a tokenizer, for `tokenize_samples`:
  std::int64_t sequence_length = 0;  ///< T, tokens of a sample, or of the second text of a pair; 0:
                                     ///< no samples
  std::int64_t source_length = 0;    ///< S, tokens of the first text of a pair; 0: T
  std::vector<std::string> pair_keys = {};     ///< of the two texts of a pair in lines of .jsonl
                                               ///< files; none: no pairs
  std::vector<std::string> segment_keys = {};  ///< of one text or two of a padded sample in such
                                               ///< lines; none: no padding
  std::string source_prefix = {};              ///< text in front of the first text of every pair
  std::string padding_token = {};  ///< text of the token that fills samples up; "": pad_token
};

/// Lines of .jsonl files that were left out.
struct BadLines {
  std::int64_t count = 0;
  std::string first = {};  ///< what is wrong with the first one, with file and line

  /// Adds lines that come behind those counted so far: `first` stays where there is one.
  void add(const BadLines& others) {
    if (count == 0) first = others.first;
    count += others.count;
  }
};

/// Ending of the file beside TOKENS.bin that has a vocabulary which was trained here.
inline constexpr const char* trained_tokenizer_extension = ".tokenizer.json";

struct TokenizeResult {
  std::int64_t num_bytes = 0;  ///< of text
  std::int64_t num_tokens = 0;
  std::int64_t vocabulary_size = 0;
  std::string model_path;      ///< where the SentencePiece model was written; "" without one
  std::string tokenizer_path;  ///< where a model that was trained was written as tokenizer.json; ""
                               ///< without one
  std::int64_t num_documents = 0;  ///< with a tokenizer: those that have tokens
  std::size_t token_bytes = 2;     ///< of each token in the file
  std::string index_path;          ///< of the .idx file; "" without one
  std::int64_t num_samples = 0;    ///< of `tokenize_samples`
  std::int64_t num_cut = 0;        ///< texts of which the end was left out
  BadLines bad_lines = {};
};

/// Writes the texts as a token file.
///
/// Tokens of a tokenizer are those of Hugging Face's library (`Tokenizer`); each file is a
/// document, and each line of a .jsonl file. With neither tokenizer, model nor `train_vocabulary`
/// every byte is a token. A model that is trained here loses nothing: line ends and spaces are kept
/// and unknown characters fall back to bytes. The SentencePiece model is written beside the tokens,
/// with the extension `.model`, and one that was trained also as
/// `.tokenizer.json`. All files are written beside and renamed into place.
///
/// Texts, tokenizers or models that cannot be read, or outputs that cannot be written, throw
/// `Error` (exit code 2).
TokenizeResult tokenize_files(const TokenizeOptions& options);

/// Throws `Error` (exit code 2) where options contradict each other, or the output or one of
/// `more_outputs` is a file that is read.
void check_tokenize_options(const TokenizeOptions& options, std::vector<std::string> more_outputs);

}  // namespace pptrain
