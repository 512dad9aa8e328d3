#pragma once

#include <string>
#include <vector>

namespace pptrain::test {

/// The folders of tests/data/models: those of models that predict the next token, without experts
/// and with them, then the others.
inline const std::vector<std::string> published_models = {"llama",        "llama-tied-rope3",
                                                          "llama-biases", "llama-linear-rope",
                                                          "llama-yarn",   "qwen2",
                                                          "qwen3",        "mistral",
                                                          "gemma",        "gemma2",
                                                          "gemma3-text",  "smollm3",
                                                          "granite",      "olmo2",
                                                          "phi3",         "gpt2-hf",
                                                          "gpt-neox",     "gpt-neox-sequential",
                                                          "opt"};
inline const std::vector<std::string> published_experts = {"mixtral", "qwen2-moe", "qwen3-moe"};
inline const std::vector<std::string> published_encoders = {"bert", "vit", "t5", "t5-tied"};
inline const std::vector<std::string> published_convolutions = {"vgg", "resnet"};
/// The folders of all models.
std::vector<std::string> all_published();
/// The folders of models that continue texts.
std::vector<std::string> published_texts();

}  // namespace pptrain::test
