#pragma once

#include "data/tokenize.hpp"

namespace pptrain {

/// Writes the texts as samples of `sequence_length` tokens into an HDF5 file, by a tokenizer.
///
/// Without `pair_keys` they are the inputs of models of masked text, /input_ids and /token_type_ids
/// (`MaskedTextFile`): documents lie one behind another, and each sample is between the tokens that
/// the tokenizer puts around a text; what fills no sample at the end is left out. With `pair_keys`
/// each line of the .jsonl files is a pair, /source and /target (`PairFile`): texts that are too
/// long lose their end, not the tokens behind it. With `segment_keys` each line is a sample of
/// masked text, of one text or of two with types 0 and 1, filled up and with /attention_mask.
///
/// Threads share the work, and the samples do not depend on their number. The file appears whole or
/// not at all. Bad texts, tokenizers and options throw `Error` (exit code 2).
TokenizeResult tokenize_samples(const TokenizeOptions& options);

}  // namespace pptrain
