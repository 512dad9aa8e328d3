#include "runtime/generate/sample_prompts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/names.hpp"
#include "runtime/generate/mpi_text_team.hpp"

namespace pptrain {
namespace {

/// Tokens of a continuation.
constexpr std::int64_t sample_tokens = 32;

/// A parameter of this rank, whole or a shard.
struct HeldParameter {
  const ParameterStore* store = nullptr;
  std::size_t index = 0;
};

/// All parameters that this rank holds; parts of a stage that are divided differently may both have
/// one.
std::multimap<std::string, HeldParameter> held_parameters(Session& session) {
  std::multimap<std::string, HeldParameter> held;
  if (session.device() == nullptr) return held;
  for (const auto& part : session.device()->parts()) {
    const ParameterStore& store = part->parameters();
    for (std::size_t i = 0; i < store.parameters().size(); ++i) {
      held.emplace(store.parameters()[i].spec.name, HeldParameter{&store, i});
    }
  }
  return held;
}

/// Where elements `run` of the logical parameter are on the device; null where this is another
/// shard.
const float* find(const HeldParameter& held, Interval run) {
  const float* at = held.store->weight(held.index);
  for (const Interval& elements : held.store->parameters()[held.index].elements) {
    if (elements.begin <= run.begin && run.end <= elements.end)
      return at + (run.begin - elements.begin);
    at += elements.size();
  }
  return nullptr;
}

/// For a message: line feeds as \\n.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? "\\n" : std::string(1, c);
  return shown(line);
}

/// To the share of the same layers.
void copy_weights(Session& session, Continuation& text) {
  const std::multimap<std::string, HeldParameter> all = held_parameters(session);
  text.fill([&](const ParameterSpec& spec, Interval run, float* out) {
    const auto [begin, end] = all.equal_range(spec.name);
    const float* found = nullptr;
    for (auto held = begin; held != end && found == nullptr; ++held)
      found = find(held->second, run);
    PPTRAIN_ASSERT(found != nullptr, "{} is not on this rank", spec.name);
    session.arena().device().download(out, found,
                                      static_cast<std::size_t>(run.size()) * sizeof(float));
  });
}

}  // namespace

SamplePrompts::SamplePrompts(const Config& config, const Model& model)
    : prompts_(config.metrics.sample_prompts) {
  if (prompts_.empty()) return;
  const std::string where = config.where("metrics.sample_prompts");
  const auto refuse = [&](const std::string& problem, const std::string& reason) {
    throw_bad_input({where, problem, reason, "leave sample_prompts out"});
  };
  if (!model.sample.predicts_next()) {
    refuse(fmt::format("a {} continues no text", model.name), why_no_text(model.sample));
  }
  if (!has_token_meaning(model, config.model.from)) {
    refuse(
        fmt::format("there is no tokenizer for the {} tokens of the model", model.sample.classes),
        "no tokenizer.json lies in [model] from, and the tokens of bytes are 256");
  }
  meaning_ = token_meaning(model, "", config.model.from, where);
  if (std::find(prompts_.begin(), prompts_.end(), "") != prompts_.end())
    refuse("a prompt is empty", "");
  ends_ = end_tokens(config.model.from, "", meaning_);
  longest_ = longest_text(config.model.from, config.training);
}

bool SamplePrompts::can_print(const Plan& plan) {
  return std::none_of(plan.stages.begin(), plan.stages.end(), [](const Stage& stage) {
    const StageParts parts(stage);
    return std::any_of(parts.all().begin(), parts.all().end(), [](const StagePart& part) {
      return part.mesh->divides_weights() && part.mesh->sharding_group_of(0).size() > 1;
    });
  });
}

std::vector<std::string> SamplePrompts::lines(std::int64_t step, Session& session,
                                              const TrainedPlan& where, MPI_Comm world,
                                              Waiter& waiter) const {
  std::vector<std::vector<std::uint32_t>> prompts;
  std::size_t places = 0;
  for (const std::string& prompt : prompts_) {
    prompts.push_back(meaning_.encode(prompt));
    places = std::max(places, prompts.back().size() + sample_tokens);
  }
  MpiTextTeam team(world, waiter, first_replica(where.plan, where.map));
  Continuation text(session.model(), longest_ ? std::min(*longest_, places) : places, DType::f32,
                    team);
  copy_weights(session, text);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    lines.push_back(
        fmt::format("step {}: \"{}\" goes on \"{}\"", step + 1, one_line(prompts_[i]),
                    one_line(likeliest_text(text, meaning_, prompts[i], sample_tokens, ends_))));
  }
  return lines;
}

}  // namespace pptrain
