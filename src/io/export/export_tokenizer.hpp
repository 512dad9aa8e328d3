#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpoint_model.hpp"

namespace pptrain {

/// Texts by the names of their files.
using ModelTexts = std::vector<std::pair<std::string, std::string>>;

/// tokenizer.json and tokenizer_config.json for a model whose tokens pptrain has made: by a
/// vocabulary that was trained with its data, then with tokenizer.model of SentencePiece where that
/// is beside it, or bytes. Empty for a model of another tokenizer, which its own folder may have,
/// and for one that predicts no next token. A tokenizer that cannot be read throws `Error` (exit
/// code 2).
ModelTexts made_tokenizer(const CheckpointModel& from);

}  // namespace pptrain
