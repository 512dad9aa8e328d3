#include "model/zoo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "model/transformer.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {
namespace {

struct ZooEntry {
  std::string name;
  std::function<ModelDescription(Precision)> build;
};

ZooEntry gpt_entry(const std::string& name, const GptShape& shape) {
  return {name, [shape](Precision precision) { return gpt(shape, precision); }};
}

ZooEntry resnet_entry(const std::string& name, const ResNetShape& shape) {
  return {name, [shape](Precision precision) { return resnet(shape, precision); }};
}

ZooEntry encoder_decoder_entry(const std::string& name, const EncoderDecoderShape& shape) {
  return {name, [shape](Precision precision) { return encoder_decoder(shape, precision); }};
}

std::vector<ZooEntry> make_zoo() {
  return {
      {"amp-gpt2-24", amp_gpt2},
      {"amp-transgan", amp_transgan},
      {"bert-large", bert_large},
      // Raffel et al., T5, 2019, sections 2.1, 3.1.2, 3.8: "Large" has 24 layers each, d_model 1024, 16 heads, d_ff
      // 4096; 32,000 word pieces and 128 more; 512 tokens, of which 15 % in spans of 3 make targets of 114.
      encoder_decoder_entry("t5-large", {24, 24, 1024, 16, 4096, 32128, 512, 114}),
      // Whale, section 5.3.1: 24 encoder and 24 decoder layers, 10 billion parameters. Neither Whale
      // nor Lin et al., M6, 2021, prints the width: 3840 is the multiple of 128 that gives 10
      // billion. Vocabulary of Chinese BERT, 21128. No lengths are given: 512 and 128 are ours.
      encoder_decoder_entry("m6-10b", {24, 24, 3840, 32, 4 * 3840, 21128, 512, 128}),
      // He et al., Deep residual learning, 2015, table 1.
      resnet_entry("resnet-50", {{3, 4, 6, 3}, 64, 1, 1000}),
      resnet_entry("resnet-50-100k", {{3, 4, 6, 3}, 64, 1, 100'000}),  // Whale, section 5.1
      resnet_entry("resnet-50-1m", {{3, 4, 6, 3}, 64, 1, 1'000'000}),  // Whale, section 5.1
      // Alpa's benchmark (alpa-projects/alpa b8078a9f, benchmark/alpa/suite_wresnet.py): the models of
      // 16 and 64 devices; 1024 classes.
      resnet_entry("wide-resnet-4b", {{3, 4, 6, 3}, 640, 2, 1024}),
      resnet_entry("wide-resnet-13b", {{3, 4, 23, 3}, 320, 16, 1024}),
      // ZeroPP, table 4. It gives no vocabulary: GPT-2's.
      gpt_entry("gpt-1.5b", {22, 2304, 24, 50257, 1024}),
      gpt_entry("gpt-6.2b", {30, 4096, 32, 50257, 1024}),
      gpt_entry("gpt-14.6b", {46, 5120, 40, 50257, 1024}),
      // Alpa's benchmark for 64 devices (suite_manual_gpt.py, suite_manual_moe.py).
      gpt_entry("gpt-39b", {48, 8192, 64, 51200, 1024}),
      {"gpt-moe-70b",
       [](Precision precision) {
         return gpt_moe({{32, 2048, 16, 32000, 1024}, 8 * 2048, 64, 2048}, precision);
       }},
  };
}

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> entries = make_zoo();
  return entries;
}

bool in_zoo(const std::string& name) {
  return std::any_of(zoo().begin(), zoo().end(), [&](const ZooEntry& entry) { return entry.name == name; });
}

void add_work(LayerBuilder& builder, const Model& model, LayerKind kind) {
  const auto tokens = static_cast<double>(model.sequence_length);
  const auto hidden = static_cast<double>(model.hidden_size);
  switch (kind) {
    case LayerKind::embedding: add_embedding(builder, tokens, hidden); return;
    case LayerKind::output: add_output(builder, tokens, hidden, static_cast<double>(model.vocabulary_size)); return;
    case LayerKind::transformer_block: {
      const TransformerBlock block = transformer_block(model);
      add_self_attention(builder, block);
      add_feed_forward(builder, block);
      return;
    }
  }
}

void refuse_dimensions(const Config& config) {
  for (const char* key : {"model.layers", "model.hidden_size", "model.heads", "model.vocabulary_size", "model.tied",
                          "model.initial_parameters", "training.sequence_length"}) {
    if (!config.places.contains(key)) continue;
    throw_bad_input({config.where(key), fmt::format("{} is given for {}", key, config.model.name),
                     "a model of the zoo has its own dimensions", "remove the key"});
  }
}

void check_annotations(const Config& config, const ModelDescription& model) {
  for (const Annotation& annotation : config.model.annotate) {
    const Interval layers = annotation.layers;
    if (0 <= layers.begin && layers.begin < layers.end && layers.end <= model.num_layers()) continue;
    throw_bad_input({config.where("model.annotate"),
                     fmt::format("layers = [{}, {}] are not layers of the model", layers.begin, layers.end),
                     fmt::format("{} has {}", model.name, model.num_layers()),
                     "give the first layer and the one behind the last"});
  }
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  return names;
}

ModelDescription zoo_model(const std::string& name, Precision precision) {
  for (const ZooEntry& entry : zoo()) {
    if (entry.name != name) continue;
    ModelDescription model = entry.build(precision);
    model.name = name;
    return model;
  }
  PPTRAIN_ASSERT(false, "{} is not in the zoo", name);
}

ModelDescription describe(const Model& model, Precision precision) {
  ModelDescription description;
  description.name = model.name;
  description.precision = precision;
  description.tensor_parallel_degrees = dividing_degrees(model.heads);
  for (const Layer& layer : model.layers) {
    LayerBuilder builder(layer.name, element_bytes(precision));
    add_work(builder, model, layer.kind);
    LayerDescription& sizes = builder.layer();
    sizes.parameters = static_cast<double>(layer.num_parameters());
    sizes.output_bytes = layer.output_bytes;
    sizes.stored_bytes = layer.stored_bytes;
    sizes.tensor_parallel_allreduce_bytes = layer.tensor_parallel_allreduce_bytes;
    description.layers.push_back(sizes);
  }
  if (model.tied) description.shared_parameters = static_cast<double>(model.vocabulary_size * model.hidden_size);
  return description;
}

ModelDescription describe_model(const Config& config) {
  const std::string& name = config.model.name;
  if (config.can_train_model()) {
    return describe(build_model(config.model, config.training, config.source), config.training.precision);
  }
  if (!in_zoo(name)) {
    std::vector<std::string> names = zoo_names();
    names.insert(names.begin(), "gpt2");
    const std::string nearest = nearest_name(name, names);
    throw_bad_input(
        {config.where("model.name"), fmt::format("model.name = \"{}\" is not in the zoo", name),
         "known are " + join(names),
         nearest.empty() ? "name its PROFILE.json in [profile] file" : fmt::format("did you mean \"{}\"?", nearest)});
  }
  refuse_dimensions(config);
  const ModelDescription model = zoo_model(name, config.training.precision);
  check_annotations(config, model);
  return model;
}

}  // namespace pptrain
