// A text that is read a few tokens at a time, with kept keys and values, against whole forward
// passes of the plain double versions of all operators.
#include "nn/run/continuation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "nn/plain_operators.hpp"
#include "runtime/execute/model_weights.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/published_models.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// A model of tests/data/models with its weights.
struct Published {
  Model model;
  Parameters parameters;

  explicit Published(const std::string& name, std::int64_t length = 16) {
    ModelConfig config;
    config.from = test_data("models/") + name;
    TrainingConfig training;
    training.sequence_length = length;
    model = build_model(config, training, name);
    const ModelWeights files(config.from, model);
    for (const Layer& layer : model.layers) {
      for (const ParameterSpec& spec : layer.parameters) {
        std::vector<float> values(static_cast<std::size_t>(spec.size()));
        files.read(spec, {0, spec.size()}, values.data());
        parameters[spec.name] = Values(values.begin(), values.end());
      }
    }
  }

  void fill(Continuation& text) const {
    text.fill([&](const ParameterSpec& spec, Interval run, float* out) {
      const Values& values = parameters.at(spec.name);
      std::copy_n(values.begin() + run.begin, run.size(), out);
    });
  }

  std::vector<std::uint32_t> tokens(std::size_t count) const {
    std::vector<std::uint32_t> result;
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back(static_cast<std::uint32_t>((i * i * 7 + 3 * i + 1) %
                                                  static_cast<std::size_t>(model.sample.classes)));
    }
    return result;
  }

  /// Logits (tokens, vocabulary) by a whole pass.
  Values logits(const std::vector<std::uint32_t>& tokens) const {
    PlainBatch batch;
    batch.samples = 1;
    batch.tokens = tokens;
    Values x;
    double cap = 0.0;
    for (Layer layer : model.layers) {
      for (Value& value : layer.operators.values)
        value.rows = static_cast<std::int64_t>(tokens.size());
      if (layer.computes_loss()) {
        cap = layer.operators.operators.back().as<op::Loss>()->cap;
        layer.operators.output = layer.operators.operators.back().inputs.front();
        layer.operators.operators.pop_back();
      }
      x = plain_operators(layer, parameters, batch, x);
    }
    for (double& logit : x) logit = cap > 0.0 ? cap * std::tanh(logit / cap) : logit;
    return x;
  }

  std::uint32_t greedy(const std::vector<std::uint32_t>& tokens) const {
    const Values all = logits(tokens);
    const auto last = all.end() - static_cast<std::ptrdiff_t>(model.sample.classes);
    return static_cast<std::uint32_t>(std::max_element(last, all.end()) - last);
  }
};

/// Largest difference in units of the largest logit.
double error(const std::vector<float>& values, const double* expected) {
  double largest = 0.0, difference = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    const double d = std::abs(values[i] - expected[i]);
    difference = d <= difference ? difference : d;  // a NaN stays
  }
  return difference / largest;
}

}  // namespace

TEST_CASE(
    "logits of every token equal those of a whole pass, however many tokens are read at once") {
  for (const std::string& name : published_texts()) {
    const Published published(name);
    const std::vector<std::uint32_t> tokens = published.tokens(16);
    const Values expected = published.logits(tokens);
    Continuation text(published.model, tokens.size());
    published.fill(text);
    for (const std::vector<std::size_t>& pieces :
         {std::vector<std::size_t>(16, 1), std::vector<std::size_t>{16},
          std::vector<std::size_t>{5, 1, 1, 3, 6}}) {
      INFO(name << " in " << pieces.size() << " pieces");
      text.restart();
      for (const std::size_t piece : pieces) {
        const std::size_t first = text.length();
        const std::vector<float> logits = text.read_each(std::span(tokens).subspan(first, piece));
        REQUIRE(logits.size() == piece * text.vocabulary());
        CHECK(error(logits, expected.data() + first * text.vocabulary()) < 1e-5);
      }
    }
  }
}

TEST_CASE("the logits behind the last token are the last of those behind each") {
  const Published published("llama");
  const std::vector<std::uint32_t> tokens = published.tokens(9);
  Continuation text(published.model, 9);
  published.fill(text);
  const std::vector<float> each = text.read_each(tokens);
  text.restart();
  const std::vector<float> last = text.read(tokens);
  REQUIRE(last.size() == text.vocabulary());
  // Products of one row add up in another order than those of many.
  const Values expected(each.end() - static_cast<std::ptrdiff_t>(last.size()), each.end());
  CHECK(error(last, expected.data()) < 1e-6);
}

TEST_CASE("the likeliest continuation equals that of whole passes") {
  for (const std::string& name : published_texts()) {
    INFO(name);
    const Published published(name);
    std::vector<std::uint32_t> expected = published.tokens(4);
    std::vector<std::uint32_t> tokens = expected;
    Continuation text(published.model, 16);
    published.fill(text);
    std::vector<float> logits = text.read(tokens);
    while (tokens.size() < 16) {
      expected.push_back(published.greedy(expected));
      tokens.push_back(static_cast<std::uint32_t>(std::max_element(logits.begin(), logits.end()) -
                                                  logits.begin()));
      logits = text.read(std::span(tokens).last(1));
    }
    CHECK(tokens == expected);
  }
}

TEST_CASE("the window of the published model is shorter than the texts here") {
  const Published published("mistral");
  std::vector<std::int64_t> windows;
  for (const Operator& op : published.model.layers[1].operators.operators) {
    if (const auto* attention = op.as<op::SelfAttention>()) windows.push_back(attention->window);
  }
  REQUIRE(windows.size() == 1);
  CHECK(windows.front() > 0);
  CHECK(windows.front() < 16);
}

TEST_CASE("activations of 16 bits give the logits of fp32 up to their rounding") {
  for (const char* name : {"llama", "gpt2-hf", "gpt-neox"}) {
    const Published published(name);
    const std::vector<std::uint32_t> tokens = published.tokens(12);
    const Values expected = published.logits(tokens);
    Continuation text(published.model, 12, DType::bf16);
    published.fill(text);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      // Numbers of 8 bits are off by 2^-9 each; some thousand of them add up in a few layers.
      CHECK(error(text.read(std::span(tokens).subspan(i, 1)),
                  expected.data() + i * text.vocabulary()) < 0.03);
    }
  }
}

// models/exported.py starts it and compares with the logits of transformers.
TEST_CASE("logits of a model's folder for another program to compare", "[.][logits_for_peer]") {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr)
      throw std::runtime_error(std::string(name) + " is not set: start this by exported.py");
    return std::string(value);
  };
  ModelConfig config;
  config.from = variable("PPTRAIN_PEER_MODEL");
  std::ifstream file(variable("PPTRAIN_PEER_TOKENS"));
  const std::vector<std::uint32_t> tokens{std::istream_iterator<std::uint32_t>(file), {}};
  TrainingConfig training;
  training.sequence_length = static_cast<std::int64_t>(tokens.size());
  const Model model = build_model(config, training, config.from);
  const ModelWeights weights(config.from, model);
  Continuation text(model, tokens.size());
  text.fill(
      [&](const ParameterSpec& spec, Interval run, float* out) { weights.read(spec, run, out); });
  const std::vector<float> logits = text.read_each(tokens);
  std::ofstream out(variable("PPTRAIN_PEER_LOGITS"), std::ios::binary);
  out.write(reinterpret_cast<const char*>(logits.data()),
            static_cast<std::streamsize>(logits.size() * sizeof(float)));
  REQUIRE(out.flush());
}
