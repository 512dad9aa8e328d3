#pragma once

#include "data/tokenize.hpp"

namespace pptrain {

/// `tokenize_files` with `TokenizeOptions::tokenizer`. A file is a document; one that ends in
/// .jsonl has a document on each line. Threads share the work, and the tokens do not depend on
/// their number.
TokenizeResult tokenize_documents(const TokenizeOptions& options);

}  // namespace pptrain
