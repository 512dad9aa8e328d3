// Texts that models continue: how tokens are drawn, how their text comes, and what a model may be
// opened from.
#include "runtime/generate/generate.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/names.hpp"
#include "runtime/generate/mpi_text_team.hpp"
#include "runtime/generate/sample_prompts.hpp"
#include "runtime/reference.hpp"
#include "runtime/shaped_plans.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"
#include "text/utf8.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::vector<float> logits = {0.3F, -1.2F, 2.0F, 0.3F, 1.1F, -4.0F};

std::vector<double> plain_probabilities(double temperature) {
  std::vector<double> p;
  double sum = 0.0;
  for (const float logit : logits) sum += p.emplace_back(std::exp(logit / temperature));
  for (double& each : p) each /= sum;
  return p;
}

std::vector<std::uint32_t> tokens_of(const std::vector<LikelyToken>& likely) {
  std::vector<std::uint32_t> tokens;
  for (const LikelyToken& each : likely) tokens.push_back(each.token);
  return tokens;
}

using Tokens = std::vector<std::uint32_t>;

/// A recorded model with the weights it was recorded with.
struct Recorded {
  Reference reference;
  Model model;

  explicit Recorded(const std::string& name)
      : reference(name),
        model(build_model(reference.config.model, reference.config.training, name)) {}
  void fill(Continuation& text) const {
    text.fill([&](const ParameterSpec& spec, Interval run, float* out) {
      std::copy_n(reference.weights.at(spec.name).begin() + run.begin, run.size(), out);
    });
  }
};

Tokens draw(Continuation& model, const Tokens& prompt, const SamplingOptions& options, int count) {
  NextTokens tokens(model, prompt, options);
  Tokens drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(tokens.next());
  return drawn;
}

}  // namespace

TEST_CASE(
    "temperature, top-k and top-p leave the tokens that they are to leave, with their "
    "probabilities") {
  const std::vector<double> plain = plain_probabilities(0.7);
  const std::vector<LikelyToken> all = likely_tokens(logits, {.temperature = 0.7});
  CHECK(tokens_of(all) == Tokens{2, 4, 0, 3, 1, 5});
  for (const LikelyToken& each : all)
    CHECK(each.probability == Approx(plain[each.token]).epsilon(1e-6));

  const std::vector<LikelyToken> three = likely_tokens(logits, {.temperature = 0.7, .top_k = 3});
  CHECK(tokens_of(three) == Tokens{2, 4, 0});  // of the equal 0 and 3 the smaller
  for (const LikelyToken& each : three) {
    CHECK(each.probability ==
          Approx(plain[each.token] / (plain[2] + plain[4] + plain[0])).epsilon(1e-6));
  }
  CHECK(tokens_of(likely_tokens(logits, {.temperature = 0.7, .top_k = 99})) == tokens_of(all));

  CHECK(tokens_of(likely_tokens(logits, {.temperature = 0.7, .top_p = plain[2] - 1e-6})) ==
        Tokens{2});
  CHECK(tokens_of(likely_tokens(logits, {.temperature = 0.7, .top_p = plain[2] + 1e-6})) ==
        Tokens{2, 4});
  CHECK(tokens_of(likely_tokens(logits, {.temperature = 0.7, .top_p = 0.0})) == Tokens{2});
  // Behind top-k the probabilities are those among what is left.
  const double second = (plain[2] + plain[4]) / (plain[2] + plain[4] + plain[0]);
  CHECK(tokens_of(likely_tokens(
            logits, {.temperature = 0.7, .top_k = 3, .top_p = second - 1e-6})) == Tokens{2, 4});
  CHECK(tokens_of(likely_tokens(
            logits, {.temperature = 0.7, .top_k = 3, .top_p = second + 1e-6})) == Tokens{2, 4, 0});
}

TEST_CASE("drawn tokens are as frequent as their probabilities say") {
  constexpr int draws = 60000;
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 1.3, .seed = 5},
        SamplingOptions{.temperature = 0.7, .top_k = 4, .seed = 6},
        SamplingOptions{.temperature = 2.0, .top_p = 0.8, .seed = 7}}) {
    const TokenSampler sampler(options);
    std::map<std::uint32_t, int> counts;
    for (int i = 0; i < draws; ++i) ++counts[sampler.draw(logits, static_cast<std::size_t>(i))];
    const std::vector<LikelyToken> likely = likely_tokens(logits, options);
    double chi_square = 0.0;
    int counted = 0;
    for (const LikelyToken& each : likely) {
      const double expected = draws * each.probability;
      counted += counts[each.token];
      chi_square += (counts[each.token] - expected) * (counts[each.token] - expected) / expected;
    }
    CHECK(counted == draws);
    // The sum has at most five degrees of freedom: 25.7 is passed once in ten thousand seeds, and
    // the seeds are fixed.
    CHECK(chi_square < 25.7);
  }
}

TEST_CASE("without a temperature and with one token left the likeliest token is taken") {
  CHECK(TokenSampler({}).draw(logits, 3) == 2);
  for (std::size_t place = 0; place < 50; ++place) {
    CHECK(TokenSampler({.temperature = 5.0, .top_k = 1, .seed = 9}).draw(logits, place) == 2);
  }
}

TEST_CASE("logits that are no numbers are said to be so") {
  std::vector<float> bad = logits;
  bad[3] = std::nanf("");
  CHECK_THROWS_AS(TokenSampler({}).draw(bad, 0), Error);
}

TEST_CASE("a seed gives the same tokens again, and another one others") {
  const Recorded recorded("llama");
  Continuation model(recorded.model, 40);
  recorded.fill(model);
  const Tokens prompt = {1, 5, 3};
  const SamplingOptions options = {.temperature = 1.0, .seed = 11};
  const Tokens first = draw(model, prompt, options, 30);
  CHECK(draw(model, prompt, options, 30) == first);
  CHECK(draw(model, prompt, {.temperature = 1.0, .seed = 12}, 30) != first);
  CHECK(draw(model, prompt, {.temperature = 1.0, .top_k = 1, .seed = 11}, 30) ==
        draw(model, prompt, {}, 30));
}

TEST_CASE("a text that is longer than the model's places goes on from its second half") {
  const Recorded recorded("gpt2-hf");
  Continuation model(recorded.model, 8), other(recorded.model, 8);
  recorded.fill(model);
  recorded.fill(other);
  Tokens text = {1, 5, 3, 2, 7, 4, 6};
  const Tokens drawn = draw(model, text, {}, 10);
  for (const std::uint32_t token : drawn) {
    // Places are full with 8 tokens and read anew from 4 on: 8, then 4 to 8 of them, as often as it
    // takes.
    const std::size_t seen = text.size() <= 8 ? text.size() : 4 + (text.size() - 9) % 5;
    other.restart();
    const std::vector<float> plain = other.read(std::span<const std::uint32_t>(text).last(seen));
    CHECK(token ==
          static_cast<std::uint32_t>(std::max_element(plain.begin(), plain.end()) - plain.begin()));
    text.push_back(token);
  }
  // A prompt beyond the places is read from its end.
  const Tokens tail(text.end() - 4, text.end());
  CHECK(draw(model, text, {}, 4) == draw(other, tail, {}, 4));
}

TEST_CASE("the text of tokens comes in whole characters and is that of all of them") {
  const std::string story =
      "On the Straße, naïve café: 日本語のテキスト 🙂🙃 and  plain words.\n";
  for (const char* name : {"gpt2", "llama2", "llama3", "qwen2", "gemma", "bytes"}) {
    INFO(name);
    const std::string folder = test_data("tokenizers/") + name;
    const TokenMeaning meaning =
        std::string(name) == "bytes" ? TokenMeaning() : TokenMeaning(Tokenizer::read(folder));
    const Tokens tokens = meaning.encode(story);
    for (const std::size_t prompt : {std::size_t{1}, std::size_t{4}}) {
      // A prompt ends with a whole character.
      const Tokens before(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt));
      TokenText words(meaning, before);
      std::string text = meaning.decode(before);
      for (std::size_t i = prompt; i < tokens.size(); ++i) {
        const std::string piece = words.add(tokens[i]);
        CHECK(is_utf8(piece));
        text += piece;
      }
      text += words.finish();
      CHECK(text == meaning.decode(tokens));
    }
  }
}

TEST_CASE("bytes that are no text do not hold back what follows for ever") {
  const TokenMeaning meaning;
  TokenText words(meaning, {'a'});
  CHECK(words.add(0xE2).empty());
  CHECK(words.add(0x82).empty());
  CHECK(words.add(0xAC) == "\u20AC");
  CHECK(words.add(0xC3).empty());
  CHECK(words.add('b') == "\uFFFDb");
  CHECK(words.add(0xC3).empty());
  CHECK(words.finish() == "\uFFFD");
  std::string text;
  for (int i = 0; i < 40; ++i) text += words.add(0x80);
  CHECK(!text.empty());
}

TEST_CASE("what ends a text and how long it may be is in the folder of a model") {
  const std::string folder = test_data("models/mistral");
  const std::optional<std::size_t> longest = longest_text(folder);
  REQUIRE(longest);
  CHECK(*longest >= 16);
  CHECK(!longest_text(""));
  CHECK(end_tokens("", "", TokenMeaning()).empty());
  CHECK(end_tokens(folder, "", TokenMeaning()) == std::set<std::uint32_t>{2});
}

TEST_CASE("logits of published models are those of transformers", "[np1]") {
  for (const std::string& name : published_texts()) {
    INFO(name);
    const Recorded recorded(name);
    const nlohmann::json run =
        nlohmann::json::parse(std::ifstream(test_data("models/") + name + "/expected.json"))
            .at("logits_first_sample");
    const std::size_t length = run.at("shape").at(0);
    Continuation text(recorded.model, length);
    recorded.fill(text);
    const std::vector<float> values =
        text.read_each(std::span(recorded.reference.tokens).first(length));
    REQUIRE(values.size() == length * text.vocabulary());
    check_first_logits(name, values);
  }
}

TEST_CASE("a model whose tokens have no known meaning is refused with what to do") {
  const Recorded recorded("gpt-neox");
  CHECK(!has_token_meaning(recorded.model, ""));
  CHECK_THAT(complaint_of([&] { token_meaning(recorded.model, "", "", "model.h5"); }),
             Catch::Contains("--tokenizer"));
  CHECK_THAT(complaint_of([&] {
               token_meaning(recorded.model, test_data("tokenizers/gpt2"), "", "model.h5");
             }),
             Catch::Contains("the tokenizer has"));
  Config config = recorded.reference.config;
  CHECK(SamplePrompts(config, recorded.model).empty());
  config.metrics.sample_prompts = {"a"};
  CHECK_THAT(complaint_of([&] { SamplePrompts(config, recorded.model); }),
             Catch::Contains("sample_prompts"));
}

namespace {

/// Samples by a plan on all ranks of the world: continuations that one process gives of the same
/// weights.
void check_samples(const Config& config, const Plan& plan) {
  INFO(plan.shape());
  const Model model = build_model(config.model, config.training, "test");
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const RankMap map = RankMap::identity(ranks);
  Session session(MPI_COMM_WORLD, config, model, plan, map);
  const auto fill = [](const ParameterSpec& spec, Interval run, float* out) {
    CounterRandom(1, spec.name)
        .fill_normal(static_cast<std::uint64_t>(run.begin), static_cast<std::size_t>(run.size()),
                     out);
  };
  if (session.device() != nullptr) session.device()->fill(fill);
  REQUIRE(SamplePrompts::can_print(plan));
  Waiter waiter(600.0, CoreUse::shared);
  const std::vector<std::string> lines =
      SamplePrompts(config, model).lines(9, session, {plan, map}, MPI_COMM_WORLD, waiter);
  Continuation text(model, 32);
  text.fill(fill);
  const auto line = [&](const Tokens& prompt) {
    std::string text_behind;
    for (const char c : likeliest_text(text, TokenMeaning(), prompt, 32, {})) {
      text_behind += c == '\n' ? "\\n" : std::string(1, c);
    }
    return " goes on \"" + shown(text_behind) + "\"";
  };
  CHECK(lines == std::vector<std::string>{"step 10: \"ab\"" + line({'a', 'b'}),
                                          "step 10: \"x\\ny\"" + line({'x', '\n', 'y'})});
}

Config job_with_samples() {
  Config config;
  config.model.vocabulary_size = 256;
  config.metrics.sample_prompts = {"ab", "x\ny"};
  return config;
}

/// Even layers and shards.
Plan grid(const Config& config, int pipeline, int data, int tensor) {
  const Model model = build_model(config.model, config.training, "test");
  return uniform_plan(even_division(model.num_layers(), pipeline), data, tensor,
                      config.training.global_batch_size, 4, ScheduleChoice{"1f1b", 1, 0});
}

}  // namespace

TEST_CASE("samples in training are the likeliest continuations by the present weights", "[np1]") {
  const Config config = job_with_samples();
  check_samples(config, grid(config, 1, 1, 1));
}

TEST_CASE("samples in training are the same by any plan", "[np4]") {
  const Config config = job_with_samples();
  for (const auto& [pipeline, data, tensor] :
       {std::array{4, 1, 1}, {2, 1, 2}, {1, 2, 2}, {1, 4, 1}, {3, 1, 1}}) {
    check_samples(config, grid(config, pipeline, data, tensor));
  }
  Plan blocks = grid(config, 1, 2, 2);
  blocks.stages[0].blocks = {
      {{1, 3}, 4, 1, TensorPattern::replicate, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, {}}};
  check_samples(config, blocks);
  Plan divided = grid(config, 1, 4, 1);
  divided.stages[0].zero_stage = 2;
  check_samples(config, divided);
  divided.stages[0].zero_stage = 3;
  CHECK(!SamplePrompts::can_print(divided));
}

namespace {

/// Largest difference in units of the largest logit; infinite where there are not as many.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0.0, difference = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i])));
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    difference = d <= difference ? difference : d;  // a NaN stays
  }
  return difference / largest;
}

/// The logits behind each of some tokens, which are read in pieces, by all ranks of the world;
/// nothing on those without a share in the last layer.
std::vector<float> logits_of_team(const Recorded& recorded, const TextDivision& division,
                                  DType type, const Tokens& tokens) {
  Waiter waiter(600.0, CoreUse::shared);
  MpiTextTeam team(MPI_COMM_WORLD, waiter, division);
  Continuation text(recorded.model, tokens.size(), type, team);
  recorded.fill(text);
  std::vector<float> all;
  for (const std::size_t piece : {5, 1, 2, 4}) {
    const std::vector<float> logits =
        text.read_each(std::span(tokens).subspan(text.length(), piece));
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

/// A team's logits are those of one process: up to rounding, which sums of bf16 do where those of
/// one process do not. It may turn a router's choice of experts, so that models with experts are
/// compared in fp32 alone.
void check_team(const Recorded& recorded, const TextDivision& division) {
  const Tokens tokens = {1, 5, 3, 2, 7, 4, 6, 1, 9, 8, 2, 11};
  for (const auto& [type, most] : {std::pair{DType::f32, 1e-5}, {DType::bf16, 3e-2}}) {
    if (type == DType::bf16 && recorded.model.routes()) continue;
    Continuation alone(recorded.model, tokens.size());
    recorded.fill(alone);
    const std::vector<float> logits = logits_of_team(recorded, division, type, tokens);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::vector<int>& last = division.back().ranks;
    const bool has_logits = std::find(last.begin(), last.end(), rank) != last.end();
    CHECK(logits.empty() == !has_logits);
    if (has_logits) CHECK(difference(alone.read_each(tokens), logits) < most);
  }
}

}  // namespace

TEST_CASE("ranks that share every layer continue a text as one process does", "[np2][np4]") {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const std::string& name : published_texts()) {
    INFO(name);
    const Recorded recorded(name);
    if (ranks > recorded.model.axis_size(ShardAxis::heads)) continue;
    check_team(recorded, shared_by_all(recorded.model, ranks, name));
  }
}

TEST_CASE("ranks continue a text by plans that are drawn as one process does", "[np4]") {
  std::uint64_t seed = 31;
  for (const std::string& name : published_texts()) {
    const Recorded recorded(name);
    RandomShapes shapes(
        ++seed, DrawnBlocks::some,
        {recorded.model.num_layers(), recorded.reference.config.training.global_batch_size,
         axes_of(recorded.model)});
    for (int i = 0; i < 4; ++i) {
      INFO("plan " << i << " of seed " << seed << ", " << name);
      check_team(recorded, first_replica_alone(shapes.plan(4), recorded.model, 4, "drawn"));
    }
  }
}

TEST_CASE("all ranks hear the token of the first that has logits", "[np4]") {
  const Recorded recorded("llama");
  const TextDivision division =
      first_replica_alone(recorded.reference.plan(4, 1, 1, 4, "1f1b"), recorded.model, 4, "made");
  Waiter waiter(600.0, CoreUse::shared);
  MpiTextTeam team(MPI_COMM_WORLD, waiter, division);
  Continuation together(recorded.model, 40, DType::f32, team);
  Continuation alone(recorded.model, 40);
  recorded.fill(together);
  recorded.fill(alone);
  for (const SamplingOptions& options :
       {SamplingOptions{}, SamplingOptions{.temperature = 0.5, .seed = 3}}) {
    CHECK(draw(together, {1, 5, 3}, options, 30) == draw(alone, {1, 5, 3}, options, 30));
  }
}

TEST_CASE("plans for other models and for more ranks are refused") {
  const Recorded recorded("llama");
  const Reference other("gpt2-hf");
  CHECK(complaint_of([&] {
          shared_by_all(recorded.model, 5, "here");
        }).find("the model has 4 heads") != std::string::npos);
  CHECK(complaint_of([&] {
          first_replica_alone(recorded.reference.plan(2, 2, 2, 4, "1f1b"), recorded.model, 3,
                              "P.json");
        }).find("one replica of the plan is on 4 devices, but the job has 3 ranks") !=
        std::string::npos);
  CHECK(complaint_of([&] {
          first_replica_alone(other.plan(2, 1, 1, 4, "1f1b"), recorded.model, 2, "P.json");
        }).find("P.json") != std::string::npos);
}
