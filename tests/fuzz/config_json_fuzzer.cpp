#include <fuzzer/FuzzedDataProvider.h>

#include <functional>

#include "fuzz.hpp"
#include "model/families/families.hpp"
#include "weights/config_json.hpp"
#include "weights/config_rotary.hpp"

using namespace pptrain;

namespace {

/// Asks for a key in every way; the value may be refused.
void ask(const ConfigJson& config, const std::string& key) {
  const std::vector<std::function<void()>> questions = {[&] { config.integer(key, 7); },
                                                        [&] { config.size(key); },
                                                        [&] { config.number(key, 0.5); },
                                                        [&] { config.boolean(key, false); },
                                                        [&] { config.text(key); },
                                                        [&] { config.texts(key); },
                                                        [&] { config.integers(key); },
                                                        [&] { config.only(key, 0.0, "no reason"); },
                                                        [&] { ask(config.object(key), "factor"); }};
  for (const auto& question : questions) {
    try {
      question();
    } catch (const Error& error) {
      PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
    }
  }
}

/// A text is refused or gives a model whose sizes are sound.
void build(const std::string& text) {
  try {
    const Model model = build_family(ConfigJson::parse(text, "fuzzed"), {8});
    PPTRAIN_ASSERT(model.num_layers() > 0 && model.num_parameters() > 0, "{} layers",
                   model.num_layers());
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  build(text);
  try {
    const ConfigJson config = ConfigJson::parse(text, "fuzzed");
    for (const char* key : {"hidden_size", "rope_scaling", "", "layer_types"}) ask(config, key);
    read_rotary(config, 1e4);
    config.model_type({"gpt2", "llama"});
    config.finish({"hidden_act"});
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
  return 0;
}
