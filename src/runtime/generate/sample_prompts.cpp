#include "runtime/generate/sample_prompts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/names.hpp"

namespace pptrain {
namespace {

/// Tokens of a continuation.
constexpr std::int64_t sample_tokens = 32;

/// A parameter that a store has whole.
struct WholeParameter {
  const ParameterStore* store = nullptr;
  std::size_t index = 0;
};

/// Those of this rank, by name.
std::map<std::string, WholeParameter> whole_parameters(Session& session) {
  std::map<std::string, WholeParameter> whole;
  if (session.device() == nullptr) return whole;
  for (const auto& part : session.device()->parts()) {
    const ParameterStore& store = part->parameters();
    if (store.sharding().shards_weights()) continue;
    for (std::size_t i = 0; i < store.parameters().size(); ++i) {
      const LocalParameter& local = store.parameters()[i];
      if (static_cast<std::int64_t>(local.size()) == local.spec.size()) whole[local.spec.name] = {&store, i};
    }
  }
  return whole;
}

/// For a message: line feeds as \\n.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? "\\n" : std::string(1, c);
  return shown(line);
}

void copy_weights(Session& session, Continuation& text) {
  const std::map<std::string, WholeParameter> whole = whole_parameters(session);
  text.fill([&](const ParameterSpec& spec, Interval run, float* out) {
    const WholeParameter& from = whole.at(spec.name);
    session.arena().device().download(out, from.store->weight(from.index) + run.begin,
                                      static_cast<std::size_t>(run.size()) * sizeof(float));
  });
}

}  // namespace

SamplePrompts::SamplePrompts(const Config& config, const Model& model) : prompts_(config.metrics.sample_prompts) {
  if (prompts_.empty()) return;
  const std::string where = config.where("metrics.sample_prompts");
  const auto refuse = [&](const std::string& problem, const std::string& reason) {
    throw_bad_input({where, problem, reason, "leave sample_prompts out"});
  };
  if (!model.sample.tokens()) refuse(fmt::format("a {} continues no text", model.name), "its samples are numbers");
  if (!has_token_meaning(model, config.model.from)) {
    refuse(fmt::format("there is no tokenizer for the {} tokens of the model", model.sample.classes),
           "no tokenizer.json lies in [model] from, and the tokens of bytes are 256");
  }
  meaning_ = token_meaning(model, "", config.model.from, where);
  if (std::find(prompts_.begin(), prompts_.end(), "") != prompts_.end()) refuse("a prompt is empty", "");
  ends_ = end_tokens(config.model.from, "", meaning_);
  longest_ = longest_text(config.model.from, config.training);
}

bool SamplePrompts::can_print(Session& session) {
  const std::map<std::string, WholeParameter> whole = whole_parameters(session);
  const std::vector<ParameterSpec> all = logical_parameters(session.model());
  return std::all_of(all.begin(), all.end(), [&](const ParameterSpec& spec) { return whole.contains(spec.name); });
}

std::vector<std::string> SamplePrompts::lines(std::int64_t step, Session& session) const {
  std::vector<std::vector<std::uint32_t>> prompts;
  std::size_t places = 0;
  for (const std::string& prompt : prompts_) {
    prompts.push_back(meaning_.encode(prompt));
    places = std::max(places, prompts.back().size() + sample_tokens);
  }
  Continuation text(session.model(), longest_ ? std::min(*longest_, places) : places);
  copy_weights(session, text);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    lines.push_back(fmt::format("step {}: \"{}\" goes on \"{}\"", step + 1, one_line(prompts_[i]),
                                one_line(likeliest_text(text, meaning_, prompts[i], sample_tokens, ends_))));
  }
  return lines;
}

}  // namespace pptrain
