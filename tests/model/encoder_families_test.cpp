// What is particular to families in which every position attends to all.
#include <algorithm>

#include "model/families/families.hpp"
#include "model/graph/layer_graph.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

Model build(const std::string& type, const std::string& more, std::int64_t tokens = 8) {
  const std::string text = R"({"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3,
    "intermediate_size": 20, "model_type": ")" +
                           type + "\"" + more + "}";
  return build_family(ConfigJson::parse(text, "config.json"), {tokens, 4.0});
}

Model bert(const std::string& more = "", std::int64_t tokens = 8) {
  return build("bert", R"(, "vocab_size": 30, "max_position_embeddings": 10)" + more, tokens);
}

Model vit(const std::string& more = "") {
  return build("vit", R"(, "image_size": 8, "patch_size": 4, "num_channels": 2)" + more);
}

const ParameterSpec& parameter(const Model& model, const std::string& name) {
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters) {
      if (spec.name == name) return spec;
    }
  }
  throw std::out_of_range(name);
}

TEST_CASE("a sum reads another value than the divided products beside it", "[families]") {
  const Model model = bert();
  const OperatorList& list = model.layers[1].operators;
  std::vector<ValueIndex> apart;
  for (const Operator& op : list.operators) {
    if (op.as<op::Enter>() == nullptr) continue;
    REQUIRE(!op.in_place());
    apart.push_back(*op.output);
  }
  CHECK(apart.size() == 2);  // before attention, before the feed-forward part
  for (const Operator& op : list.operators) {
    const bool reads_apart = std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueIndex v) {
      return std::find(apart.begin(), apart.end(), v) != apart.end();
    });
    if (op.as<op::Addition>() != nullptr) CHECK(!reads_apart);
    const auto* product = op.as<op::Linear>();
    if (product != nullptr) CHECK(reads_apart == (product->division == WeightDivision::columns));
  }
}

TEST_CASE("samples of encoders say what they are", "[families]") {
  const SampleShape text = bert(R"(, "type_vocab_size": 3)").sample;
  CHECK((text.rows == 8 && text.classes == 30 && text.token_types == 3));
  CHECK((text.tokens() && text.has_unlabelled() && !text.predicts_next()));
  const SampleShape image = vit(R"(, "id2label": {"0": "a", "1": "b", "2": "c"})").sample;
  CHECK((image.rows == 1 && image.classes == 3 && image.features == 2 * 8 * 8 &&
         image.image.num_patches() == 4));
  CHECK((image.is_image() && !image.has_unlabelled() && !image.predicts_next()));
  CHECK(vit().sample.classes == 2);
}

TEST_CASE("weights of patches, of the class and of places are matrices with the shapes of files",
          "[families]") {
  const Model model = vit();
  const ParameterSpec& patches =
      parameter(model, "vit.embeddings.patch_embeddings.projection.weight");
  CHECK(patches.shape == std::vector<std::int64_t>{12, 32});
  CHECK(patches.file_shape == std::vector<std::int64_t>{12, 2, 4, 4});
  CHECK(parameter(model, "vit.embeddings.patch_embeddings.projection.bias").file_shape.empty());
  CHECK(parameter(model, "vit.embeddings.cls_token").file_shape ==
        std::vector<std::int64_t>{1, 1, 12});
  const ParameterSpec& places = parameter(model, "vit.embeddings.position_embeddings");
  CHECK(places.file_shape == std::vector<std::int64_t>{1, 5, 12});
  CHECK((places.decays() && parameter(model, "vit.embeddings.cls_token").decays()));
}

TEST_CASE("attention of every position to all is priced as such", "[families]") {
  op::SelfAttention causal = {3, 3, 4, 0.5};
  const auto flop = [](const op::SelfAttention& shape) {
    LayerGraph g("layer", "");
    const ValueIndex x = g.input({8, 12});
    const auto product = [&](const char* name) { return g.linear(name, x, {.out = 12}); };
    const ValueIndex q = product("q"), k = product("k"), v = product("v");
    g.output(g.convert(g.attention({q, k, v}, shape), Element::fp32));
    return g.finish(4.0).flop_forward;
  };
  const double products = 3 * 2.0 * 8 * 12 * 12, pairs = 2.0 * 2.0 * 12;
  CHECK(flop(causal) == Approx(products + pairs * 36));
  causal.causal = false;
  CHECK(flop(causal) == Approx(products + pairs * 64));
}

TEST_CASE("what an encoder cannot follow is refused", "[families]") {
  CHECK_THAT(complaint_of([] { bert("", 11); }), Catch::Contains("sequence_length = 11"));
  CHECK_THAT(complaint_of([] { bert(R"(, "is_decoder": true)"); }), Catch::Contains("is_decoder"));
  CHECK_THAT(complaint_of([] { bert(R"(, "position_embedding_type": "relative_key")"); }),
             Catch::Contains("position_embedding_type"));
  CHECK_THAT(complaint_of([] { bert(R"(, "tie_word_embeddings": false)"); }),
             Catch::Contains("tie_word_embeddings"));
  CHECK_THAT(complaint_of([] { vit(R"(, "problem_type": "regression")"); }),
             Catch::Contains("problem_type"));
  CHECK_THAT(complaint_of([] { vit(R"(, "id2label": {})"); }), Catch::Contains("id2label"));
  const auto image = [](const char* size, const char* patch) {
    return complaint_of([&] {
      build("vit", std::string(R"(, "image_size": )") + size + R"(, "patch_size": )" + patch);
    });
  };
  CHECK_THAT(image("10", "4"), Catch::Contains("patches of 4 pixels in images of 10"));
  CHECK_THAT(image("16385", "5"), Catch::Contains("at most 16384"));
}

}  // namespace
}  // namespace pptrain
