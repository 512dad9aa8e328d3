#pragma once

#include <string>
#include <string_view>

namespace pptrain {

/// What a key, or a section, of other tools' configurations is called here:
/// "optimizer.learning_rate" for "lr", "training" for "train"; "" for a name that none of them has.
/// Megatron-LM, DeepSpeed, torchtitan, nanoGPT and transformers' TrainingArguments are those tools;
/// `-` and `_` in a name are the same.
std::string key_called(std::string_view foreign);

}  // namespace pptrain
