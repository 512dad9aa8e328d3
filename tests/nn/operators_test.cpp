// Operators in every combination that families use, against finite differences of the plain double
// versions; fusions against the operators one by one.
#include <cmath>

#include "base/random.hpp"
#include "config/read.hpp"
#include "derivatives.hpp"
#include "kernels/backend.hpp"
#include "model/build/dropout.hpp"
#include "model/families/families.hpp"
#include "model/folds/kept_values.hpp"
#include "model/graph/chain.hpp"
#include "model/graph/layer_graph.hpp"
#include "nn/run/operator_layer.hpp"
#include "plain_operators.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr std::size_t samples = 2;

Values random_values(const std::string& name, std::size_t n, double scale, double shift = 0.0) {
  std::vector<float> values(n);
  CounterRandom(17, name).fill_normal(0, n, values.data());
  Values result(n);
  // Rounded to fp32, so that both sides start from the same numbers.
  for (std::size_t i = 0; i < n; ++i) result[i] = static_cast<float>(values[i] * scale + shift);
  return result;
}

/// A small decoder with everything that families switch on.
ChainShape rich() {
  ChainShape shape;
  shape.name = "test";
  shape.hidden = 12;
  shape.vocabulary = 19;
  shape.tokens = 5;
  shape.embedding_scale = 3.0;
  BlockShape& block = shape.blocks.emplace_back();
  block.heads = 6;
  block.key_heads = 2;
  block.head_size = 4;
  block.feed_forward = 10;
  block.rotary = {100.0, 4, RotaryForm::Scaling::llama3, 4.0, 1.0, 2.0, 16.0};
  block.query_bias = block.output_bias = block.feed_forward_bias = block.head_norms = true;
  block.window = 3;
  return shape;
}

/// One layer with random parameters on one device, its operators fused or one by one.
struct Bench {
  Model model;
  Arena arena;
  SilentCommunicator group;
  ParameterStore store;
  LayerContext context;
  const Layer& layer;
  std::unique_ptr<OperatorLayer> module;
  Parameters parameters;
  PlainBatch plain;
  Batch batch;
  double loss = 0.0;

  Bench(Model made, std::size_t index, bool fuses = true, Recompute recompute = Recompute::none)
      : model(std::move(made)),
        context{host_backend(), arena, group, store, model, DType::f32, {}, recompute},
        layer(model.layers[index]) {
    arena.poison(true);
    store.start_unit(ChunkId(0));
    std::vector<std::size_t> indices;
    for (const ParameterSpec& spec : layer.parameters) {
      indices.push_back(store.add(spec, context.part(spec.axis), model.axis_size(spec.axis)));
    }
    for (const ParameterSpec& buffer : layer.buffers) store.buffers().add(buffer);
    const std::vector<FusedOperator> operators =
        fuses ? fused(layer.operators) : unfused(layer.operators);
    module = std::make_unique<OperatorLayer>(layer.operators, operators, indices, context);
    store.allocate(arena, host_kernels(), DType::f32);
    store.fill([&](const ParameterSpec& spec, Interval run, float* out) {
      const Values values = random_values(spec.name, static_cast<std::size_t>(run.size()), 0.4,
                                          spec.initial == Initial::ones ? 1.0 : 0.0);
      std::copy(values.begin(), values.end(), out);
      parameters[spec.name] = values;
    });
    const auto rows = samples * static_cast<std::size_t>(model.sample.rows);
    plain.samples = samples;
    for (std::size_t i = 0; i < samples * static_cast<std::size_t>(model.sample.input_tokens());
         ++i) {
      plain.tokens.push_back(static_cast<std::uint32_t>(i * 7 % 19));
    }
    for (std::size_t i = 0; i < rows; ++i) {
      plain.decoder_tokens.push_back(static_cast<std::uint32_t>(i * 3 % 19));
      plain.targets.push_back(static_cast<std::int32_t>(
          i * 5 % std::max<std::size_t>(static_cast<std::size_t>(model.sample.classes), 1)));
      plain.token_types.push_back(static_cast<std::uint32_t>(i / 3 % 2));
    }
    batch.samples = samples;
    batch.tokens = plain.tokens.data();
    plain.features.resize(samples * static_cast<std::size_t>(model.sample.features));
    CounterRandom(18, "features").fill_normal(0, plain.features.size(), plain.features.data());
    batch.features = plain.features.data();
    plain.drawings.resize(samples * static_cast<std::size_t>(model.sample.drawing.pixels()));
    CounterRandom(19, "drawings").fill_normal(0, plain.drawings.size(), plain.drawings.data());
    batch.drawings = plain.drawings.data();
    batch.token_types = plain.token_types.data();
    batch.decoder_tokens = plain.decoder_tokens.data();
    batch.targets = plain.targets.data();
    batch.loss_scale = 1.0F;
    batch.loss = &loss;
  }

  /// Divides the five positions of each sample; those of the second sample are divided elsewhere.
  void divide_into_documents() {
    plain.document_begin = {0, 0, 0, 3, 3, 0, 1, 2, 2, 2};
    batch.document_begin = plain.document_begin.data();
  }
  /// Some positions are without a label.
  void leave_out_labels() {
    for (const std::size_t i : {0, 3, 4, 8}) plain.targets[i] = -100;
  }
  /// The second sample's source ends before the first one's, and that before its last place.
  void shorten_sources() {
    plain.input_lengths = {6, 2};
    batch.input_lengths = plain.input_lengths.data();
  }
  std::size_t size_of(const Boundary& boundary) const {
    return samples * static_cast<std::size_t>(boundary.elements());
  }
  Tensor tensor(const std::optional<Boundary>& boundary, const Values& values) {
    if (!boundary) return {};
    const Port port = boundary->packed();
    Tensor t(arena, samples * static_cast<std::size_t>(port.rows),
             static_cast<std::size_t>(port.columns));
    std::copy(values.begin(), values.end(), t.f32());
    return t;
  }
};

/// Forward values and all gradients of the layer, the balance of its experts weighted as the batch
/// says.
void check_layer(Bench& bench) {
  const Layer& layer = bench.layer;
  Values x = layer.input ? random_values("x", bench.size_of(*layer.input), 1.0) : Values();
  const Values weights =
      layer.output ? random_values("weights", bench.size_of(*layer.output), 1.0) : Values{1.0};
  const auto evaluate = [&] { return plain_operators(layer, bench.parameters, bench.plain, x); };
  const auto loss = [&] {
    const Values y = evaluate();
    double sum = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
    return sum + bench.batch.balance * plain_balance(layer, bench.parameters, bench.plain, x);
  };
  SavedPtr saved;
  const Tensor y = bench.module->forward(bench.batch, bench.tensor(layer.input, x), &saved);
  if (layer.output) CHECK(error(y.f32(), evaluate()) < 1e-5);
  if (!layer.output) CHECK(bench.loss == Approx(evaluate()[0]).epsilon(1e-6));
  const Tensor dx =
      bench.module->backward_input(bench.batch, bench.tensor(layer.output, weights), *saved);
  bench.module->backward_weight(bench.batch, *saved);
  if (layer.input) CHECK(error(dx.f32(), derivative(x, loss)) < 2e-5);
  for (std::size_t i = 0; i < bench.store.parameters().size(); ++i) {
    const std::string& name = bench.store.parameters()[i].spec.name;
    INFO(name);
    const Values expected = derivative(bench.parameters.at(name), loss);
    double largest = 0.0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    if (largest > 1e-6) CHECK(error(bench.store.gradient_matrix(i).f32(), expected) < 2e-5);
  }
}

/// A block whose two parts are added to the stream together, with queries, keys and values in one
/// product of which a part turns.
Model parallel_model(Activation activation) {
  Model model = build_chain(rich());
  LayerGraph g("block", "b.");
  const ValueIndex x = g.input({5, 12});
  const NormForm norm = {NormKind::layer, 1e-5F, false};
  const ValueIndex qkv = g.linear("qkv", g.norm("n1", x, norm),
                                  {.out = 72, .columns = {ShardAxis::heads, 3, 4}, .bias = true});
  g.rotary(qkv, {10.0, 2}, 4, true);
  const ValueIndex attended = g.linear("dense", g.attention({qkv}, {6, 6, 4, 0.5}),
                                       {.out = 12, .rows = {ShardAxis::heads, 1, 4}, .bias = true});
  const ValueIndex up = g.linear("up", g.norm("n2", x, norm),
                                 {.out = 10, .columns = {ShardAxis::columns}, .bias = true});
  const ValueIndex down = g.linear("down", g.activate(up, activation),
                                   {.out = 12, .rows = {ShardAxis::columns}, .bias = true});
  g.output(g.add(g.add(x, attended), down));
  model.layers[1] = g.finish(4.0);
  return model;
}

/// A layer with two ports of unlike shapes of which it changes one, `b`. `passes`: it hands the
/// other one on and adds a port; else nothing reads `a` any more.
Model ported_model(bool passes) {
  Model model = build_chain(rich());
  LayerGraph g("block", "p.");
  const std::vector<ValueIndex> ports = g.inputs({{5, 12, "a"}, {2, 7, "b"}});
  const AxisDivision columns = {ShardAxis::columns};
  const ValueIndex up =
      g.linear("up", ports[1], {.out = 10, .columns = columns, .bias = true, .wide = true});
  const ValueIndex changed = g.add(ports[1], g.linear("down", g.activate(up, Activation::gelu),
                                                      {.out = 7, .rows = columns, .bias = true}));
  if (passes) {
    const ValueIndex added = g.linear("own", ports[0], {.out = 3, .bias = true, .wide = true});
    g.outputs({{"a", ports[0]}, {"b", changed}, {"c", added}});
  } else {
    g.outputs({{"b", changed}});
  }
  model.layers[1] = g.finish(4.0);
  return model;
}

}  // namespace

TEST_CASE("dropout drops the same elements forward and backward, by seed, layer and sample") {
  for (const bool fuses : {true, false}) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
      for (const std::size_t layer : {0, 1}) {
        // Without numbers, as in evaluations, nothing is dropped.
        for (const std::optional<DropoutNumbers>& numbers :
             {std::optional(DropoutNumbers{11, 7}), {}}) {
          Model model = build_chain(rich());
          add_dropout(model, 0.25, 4.0, "test");
          Bench bench(std::move(model), layer, fuses, recompute);
          bench.batch.dropout = bench.plain.dropout = numbers;
          check_layer(bench);
        }
      }
    }
  }
}

TEST_CASE("dropout takes biases to the products whose results it drops") {
  Model model = build_chain(rich());
  const auto sums_with_bias = [&] {
    const auto& list = model.layers[1].operators.operators;
    return std::count_if(list.begin(), list.end(), [](const Operator& op) {
      return op.as<op::Addition>() != nullptr && op.as<op::Addition>()->bias;
    });
  };
  CHECK(sums_with_bias() == 2);
  const std::string before = model.layers[1].signature;
  add_dropout(model, 0.25, 4.0, "test");
  CHECK(sums_with_bias() == 0);
  CHECK(model.layers[1].signature != before);
}

TEST_CASE("gradients of layers with several ports") {
  for (const bool passes : {true, false}) {
    for (const bool fuses : {true, false}) {
      Bench bench(ported_model(passes), 1, fuses);
      CHECK(bench.layer.input->packed() == Port{1, 74, "ports"});
      CHECK(bench.layer.output->elements() == (passes ? 60 + 14 + 15 : 14));
      CHECK(bench.layer.output->ports.back().name == (passes ? "c" : "b"));
      check_layer(bench);
    }
  }
}

TEST_CASE("a device without samples has nothing of several ports") {
  for (const bool passes : {true, false}) {
    Bench bench(ported_model(passes), 1);
    bench.batch.samples = 0;
    SavedPtr saved;
    CHECK(bench.module->forward(bench.batch, Tensor(bench.arena, 0, 74), &saved).size() == 0);
    const auto elements = static_cast<std::size_t>(bench.layer.output->packed().columns);
    CHECK(bench.module->backward_input(bench.batch, Tensor(bench.arena, 0, elements), *saved)
              .size() == 0);
    bench.module->backward_weight(bench.batch, *saved);
  }
}

TEST_CASE("gradients of a decoder's layers") {
  for (const std::size_t index : {0, 1, 2}) {
    INFO("layer " << index);
    Bench bench(build_chain(rich()), index);
    check_layer(bench);
  }
}

TEST_CASE("gradients with gains of 1 + w, without biases, with one key head") {
  ChainShape shape = rich();
  BlockShape& block = shape.blocks.front();
  block.norm.one_plus = shape.norm.one_plus = true;
  block.query_bias = block.output_bias = block.feed_forward_bias = block.head_norms = false;
  block.key_heads = 1;
  block.activation = Activation::gelu_tanh;
  block.window = 0;
  Bench bench(build_chain(shape), 1);
  check_layer(bench);
}

TEST_CASE(
    "gradients with norms behind parts, norms of all heads, scaled parts and positions by YaRN") {
  for (const NormPlaces places : {NormPlaces::behind, NormPlaces::both}) {
    for (const bool fuses : {true, false}) {
      for (const double part_scale : {1.0, 0.3}) {
        ChainShape shape = rich();
        shape.logit_scale = 0.5;
        BlockShape& block = shape.blocks.front();
        block.norm_places = places;
        block.head_norms = false;
        block.whole_norms = true;
        block.score_scale = 0.7;
        block.part_scale = part_scale;
        block.rotary = {
            .theta = 100.0, .rotated = 4, .scaling = RotaryForm::Scaling::yarn, .factor = 4.0};
        block.rotary.original_length = 16.0;
        block.rotary.attention_factor = 1.2;
        for (const std::size_t layer : {1, 2}) {
          INFO("places " << static_cast<int>(places) << ", fused " << fuses << ", scale "
                         << part_scale);
          Bench bench(build_chain(shape), layer, fuses);
          check_layer(bench);
        }
      }
    }
  }
}

TEST_CASE("gradients of parallel residuals and packed queries, keys and values") {
  for (const Activation activation :
       {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::silu}) {
    INFO("activation " << static_cast<int>(activation));
    Bench bench(parallel_model(activation), 1);
    check_layer(bench);
  }
}

TEST_CASE("gradients of attention within documents") {
  for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
    for (const bool fuses : {true, false}) {
      for (const Model& model : {build_chain(rich()), parallel_model(Activation::gelu)}) {
        Bench bench(model, 1, fuses, recompute);
        bench.divide_into_documents();
        check_layer(bench);
      }
    }
  }
}

TEST_CASE(
    "gradients of an encoder whose norms stand behind the sums, some positions without a label") {
  const ConfigJson config = ConfigJson::parse(
      R"({"model_type": "bert", "vocab_size": 19, "hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3,
          "intermediate_size": 10, "max_position_embeddings": 7, "type_vocab_size": 2})",
      "here");
  for (const bool fuses : {true, false}) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
      for (const std::size_t index : {0, 1, 2}) {
        INFO("layer " << index << ", fused " << fuses << ", " << to_string(recompute));
        Bench bench(build_family(config, {5, 4.0}), index, fuses, recompute);
        bench.leave_out_labels();
        check_layer(bench);
      }
    }
  }
}

TEST_CASE("gradients of an encoder of images") {
  const ConfigJson config = ConfigJson::parse(
      R"({"model_type": "vit", "hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3, "image_size": 6,
          "intermediate_size": 10, "patch_size": 2, "num_channels": 2, "id2label": {"0": "a", "1": "b", "2": "c"}})",
      "here");
  for (const bool fuses : {true, false}) {
    for (const std::size_t index : {0, 1, 2}) {
      INFO("layer " << index << ", fused " << fuses);
      Bench bench(build_family(config, {5, 4.0}), index, fuses);
      check_layer(bench);
    }
  }
}

TEST_CASE("gradients of an encoder and a decoder, some sources with padding") {
  const std::string sizes =
      R"({"model_type": "t5", "vocab_size": 19, "d_model": 12, "num_layers": 1, "num_heads": 3,
      "num_decoder_layers": 2, "d_kv": 4, "d_ff": 10, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 6)";
  for (const std::string kind :
       {R"(, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})", "}"}) {
    const ConfigJson config = ConfigJson::parse(sizes + kind, "here");
    // Two of the four combinations: each of them takes as long as all other families together.
    for (const bool fuses : {true, false}) {
      const Recompute recompute = fuses ? Recompute::selective : Recompute::none;
      for (const std::size_t index : {0, 1, 2, 3, 4, 5}) {
        INFO("layer " << index << ", fused " << fuses << ", " << to_string(recompute) << kind);
        Bench bench(build_family(config, {5, 4.0, 7}), index, fuses, recompute);
        bench.leave_out_labels();
        bench.shorten_sources();
        check_layer(bench);
      }
    }
  }
}

TEST_CASE("gradients of feed-forward parts with experts") {
  const ConfigJson normalised = ConfigJson::parse(
      R"({"model_type": "mixtral", "vocab_size": 19, "hidden_size": 12, "num_hidden_layers": 1,
          "num_attention_heads": 3, "num_key_value_heads": 1, "intermediate_size": 10, "num_local_experts": 5})",
      "here");
  const ConfigJson shared = ConfigJson::parse(
      R"({"model_type": "qwen2_moe", "vocab_size": 19, "hidden_size": 12, "num_hidden_layers": 2,
          "num_attention_heads": 3, "num_key_value_heads": 3, "intermediate_size": 10, "moe_intermediate_size": 4,
          "shared_expert_intermediate_size": 6, "num_experts": 6, "num_experts_per_tok": 3, "mlp_only_layers": [1]})",
      "here");
  for (const bool fuses : {true, false}) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
      INFO("fused " << fuses << ", " << to_string(recompute));
      for (const double balance : {0.0, 0.7}) {
        Bench of_normalised(build_family(normalised, {5, 4.0}), 2, fuses, recompute);
        double sum = 0.0;
        of_normalised.batch.balance = balance;
        of_normalised.batch.balance_sum = &sum;
        check_layer(of_normalised);
        CHECK((sum > 0.0) == (balance > 0.0));
      }
      for (const std::size_t index : {2, 3}) {
        Bench of_shared(build_family(shared, {5, 4.0}), index, fuses, recompute);
        check_layer(of_shared);
      }
    }
  }
}

TEST_CASE("gradients of experts that do not take all rows") {
  ChainShape routed = rich();
  BlockShape& block = routed.blocks.front();
  block.feed_forward_bias = block.parallel = false;
  for (const bool normalised : {true, false}) {
    block.experts = {{4, 2}, normalised, 0.4, 20};  // each takes one row of a sample
    block.gated = normalised;                       // with a gate and without
    Bench bench(build_chain(routed), 2);
    double sum = 0.0;
    bench.batch.balance = 0.7;
    bench.batch.balance_sum = &sum;
    check_layer(bench);
  }
}

TEST_CASE("gradients of experts that rows are sent to") {
  ChainShape routed = rich();
  BlockShape& block = routed.blocks.front();
  block.feed_forward_bias = block.parallel = false;
  for (const double capacity : {0.0, 0.4}) {
    block.experts = {{4, 2}, capacity > 0.0, capacity, 20};
    Model model = build_chain(routed);
    REQUIRE(model.layers[2].has_division(WeightDivision::exchange));
    model.layers[2].operators = model.layers[2].divided_by(WeightDivision::exchange);
    for (const bool fuses : {true, false}) {
      Bench bench(model, 2, fuses);
      bench.context.division = WeightDivision::exchange;
      double sum = 0.0;
      bench.batch.balance = 0.7;
      bench.batch.balance_sum = &sum;
      check_layer(bench);
    }
  }
}

TEST_CASE("gradients of a network of convolutions and dense layers") {
  for (const char* hidden : {"[6, 5]", "[6, 5, 4]"}) {
    const ConfigJson config = ConfigJson::parse(
        std::string(
            R"({"model_type": "vgg", "cfg": [3, "M", 4, 2, "M"], "num_labels": 4, "image_size": 7, "hidden": )") +
            hidden + "}",
        "here");
    const Model model = build_family(config, {5, 4.0});
    for (std::size_t index = 0; index < model.layers.size(); ++index) {
      INFO("layer " << index << ", dense layers " << hidden);
      Bench bench(model, index);
      check_layer(bench);
    }
  }
}

TEST_CASE("gradients of residual blocks with batch normalisation") {
  for (const char* blocks :
       {R"("layer_type": "bottleneck")", R"("layer_type": "basic")",
        R"("downsample_in_bottleneck": true, "downsample_in_first_stage": true)"}) {
    const ConfigJson config = ConfigJson::parse(
        std::string(
            R"({"model_type": "resnet", "embedding_size": 3, "hidden_sizes": [8, 8], "depths": [2, 1],
                        "num_channels": 2, "id2label": {"0": "a", "1": "b", "2": "c"}, )") +
            blocks + "}",
        "here");
    // Images of this size leave no ReLU's input so near 0 that a finite difference crosses it.
    const Model model = build_family(config, {.tokens = 5, .image_size = 19});
    for (std::size_t index = 0; index < model.layers.size(); ++index) {
      INFO("layer " << index << ", " << blocks);
      Bench bench(model, index);
      check_layer(bench);
    }
  }
}

TEST_CASE("gradients of a network that draws images") {
  const Config config = parse_config(R"(
[[model.layer]]
kind = "latent"
inputs = 5
image_size = 2
columns = 8
positions = true
[[model.layer]]
heads = 2
[[model.layer]]
kind = "enlarge"
method = "bicubic"
positions = true
[[model.layer]]
repeat = 2
heads = 4
window = 2
[[model.layer]]
kind = "enlarge"
method = "shuffle"
[[model.layer]]
heads = 1
window = 4
[[model.layer]]
kind = "pixels"
channels = 2
)",
                                     "drawing.toml", "");
  const Model model = build_model(config.model, config.training, "test");
  REQUIRE(model.layers.size() == 8);
  CHECK((model.sample.drawing == ImageShape{2, 8, 8, 0} && model.sample.features == 5));
  // Blocks that are alike are equal layers: what orders pixels stands in those around them.
  CHECK(model.layers[3].signature != model.layers[4].signature);
  CHECK(model.layers[4].operators.operators.back().as<op::Tiles>() != nullptr);
  for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
    for (std::size_t index = 0; index < model.layers.size(); ++index) {
      INFO("layer " << index << ", " << to_string(recompute));
      Bench bench(model, index, true, recompute);
      check_layer(bench);
    }
  }
}

TEST_CASE("operators one by one give the gradients of fused ones") {
  for (const Activation activation : {Activation::gelu_tanh, Activation::relu}) {
    Bench bench(parallel_model(activation), 1, false);
    check_layer(bench);
  }
  Bench bench(build_chain(rich()), 1, false);
  check_layer(bench);
}

TEST_CASE("a layer whose attention is made again gives the same gradients") {
  Bench bench(build_chain(rich()), 1, true, Recompute::selective);
  check_layer(bench);
}

TEST_CASE("a layer keeps from forward to backward what its description says") {
  ChainShape routed = rich();
  BlockShape& block = routed.blocks.emplace_back(routed.blocks.front());
  block.feed_forward_bias = false;
  block.experts = {{7, 3}, true, 0.0, 20};
  for (const std::size_t index : {1, 2, 3}) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
      Bench bench(build_chain(routed), index, true, recompute);
      bench.arena.poison(false);
      const Values x = random_values("x", bench.size_of(*bench.layer.input), 1.0);
      const std::size_t before = bench.arena.bytes_in_use();
      SavedPtr saved;
      Tensor y = bench.module->forward(bench.batch, bench.tensor(bench.layer.input, x), &saved);
      y.reset();
      const double described = samples * kept_bytes(bench.layer.operators, recompute, 4.0);
      // Every tensor begins on a cache line.
      const double padding = 64.0 * static_cast<double>(saved->kept().size());
      const double kept = static_cast<double>(bench.arena.bytes_in_use() - before);
      INFO("layer " << index << ", " << to_string(recompute));
      CHECK(kept >= described);
      CHECK(kept <= described + padding);
    }
  }
}
