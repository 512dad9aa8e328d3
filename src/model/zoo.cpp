#include "model/zoo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "config/check.hpp"
#include "model/check.hpp"
#include "model/trainable.hpp"
#include "model/zoo_models.hpp"

namespace pptrain {
namespace {

struct ZooEntry {
  std::string name;
  std::string source;
  std::function<ModelDescription(Precision)> build;
};

ZooEntry gpt_entry(const std::string& name, const std::string& source, const GptShape& shape) {
  return {name, source, [shape](Precision precision) { return gpt(shape, precision); }};
}

ZooEntry resnet_entry(const std::string& name, const std::string& source, const ResNetShape& shape) {
  return {name, source, [shape](Precision precision) { return resnet(shape, precision); }};
}

ZooEntry encoder_decoder_entry(const std::string& name, const std::string& source, const EncoderDecoderShape& shape) {
  return {name, source, [shape](Precision precision) { return encoder_decoder(shape, precision); }};
}

ZooEntry moe_entry(const std::string& name, const std::string& source, const MoeShape& shape) {
  return {name, source, [shape](Precision precision) { return gpt_moe(shape, precision); }};
}

const std::string amp =
    "Li et al., AMP, 2022, section 4.3 and appendix; heads and list: the authors' code, MccRee177/AMP 72eeea4";
const std::string residual = "He et al., Deep residual learning for image recognition, 2015, table 1";
const std::string whale_classes = residual + "; classes: Jia et al., Whale, 2022, section 5.1";
const std::string zeropp = "Tang et al., ZeroPP, 2024, table 4; vocabulary, not given: GPT-2's 50257";
const std::string alpa = "benchmark of Zheng et al., Alpa, 2022: alpa-projects/alpa b8078a9f, benchmark/alpa/";

std::vector<ZooEntry> make_zoo() {
  return {
      {"amp-gpt2-24", amp, amp_gpt2},
      {"amp-transgan", amp + "; Jiang et al., TransGAN, 2021", amp_transgan},
      {"bert-large",
       "Devlin et al., BERT, 2018, section 3 and appendix A.2: sequences of 128; vocabulary of 30522 and 20 "
       "predictions: "
       "the authors' release",
       bert_large},
      encoder_decoder_entry("t5-large",
                            "Raffel et al., T5, 2019, sections 2.1, 3.1 and 3.7: inputs of 512 tokens, targets of 114",
                            {24, 24, 1024, 16, 4096, 32128, 512, 114}),
      // 3840 is the multiple of 128 that gives 10 billion.
      encoder_decoder_entry(
          "m6-10b",
          "Jia et al., Whale, 2022, section 5.3.1: 24 + 24 layers, 10 billion parameters; the width "
          "3840 follows from that; vocabulary of Chinese BERT; lengths of 512 and 128, not given: ours",
          {24, 24, 3840, 32, 4 * 3840, 21128, 512, 128}),
      resnet_entry("resnet-50", residual, {{3, 4, 6, 3}, 64, 1, 1000}),
      resnet_entry("resnet-50-100k", whale_classes, {{3, 4, 6, 3}, 64, 1, 100'000}),
      resnet_entry("resnet-50-1m", whale_classes, {{3, 4, 6, 3}, 64, 1, 1'000'000}),
      resnet_entry("wide-resnet-4b", alpa + "suite_wresnet.py, 16 devices", {{3, 4, 6, 3}, 640, 2, 1024}),
      resnet_entry("wide-resnet-13b", alpa + "suite_wresnet.py, 64 devices", {{3, 4, 23, 3}, 320, 16, 1024}),
      gpt_entry("gpt-1.5b", zeropp, {22, 2304, 24, 50257, 1024}),
      gpt_entry("gpt-6.2b", zeropp, {30, 4096, 32, 50257, 1024}),
      gpt_entry("gpt-14.6b", zeropp, {46, 5120, 40, 50257, 1024}),
      gpt_entry("gpt-39b", alpa + "suite_manual_gpt.py, 64 devices", {48, 8192, 64, 51200, 1024}),
      moe_entry("gpt-moe-70b", alpa + "suite_manual_moe.py, 64 devices",
                {{32, 2048, 16, 32000, 1024}, 8 * 2048, 64, 2048}),
  };
}

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> entries = make_zoo();
  return entries;
}

bool in_zoo(const std::string& name) {
  return std::any_of(zoo().begin(), zoo().end(), [&](const ZooEntry& entry) { return entry.name == name; });
}

void refuse_dimensions(const Config& config) {
  for (const char* key : {"model.layers", "model.hidden_size", "model.heads", "model.vocabulary_size", "model.tied",
                          "model.initial_parameters", "training.sequence_length"}) {
    if (!config.places.contains(key)) continue;
    throw_bad_input({config.where(key), fmt::format("{} is given for {}", key, config.model.name),
                     "a model of the zoo has its own dimensions", "remove the key"});
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
    model.source = entry.source;
    return model;
  }
  PPTRAIN_ASSERT(false, "{} is not in the zoo", name);
}

ModelDescription describe(const Model& model, Precision precision) {
  ModelDescription description;
  description.name = model.name;
  description.source = "the configuration";
  description.precision = precision;
  description.tensor_parallel_degrees = dividing_degrees(model.divided_units());
  description.axes = axes_of(model);
  for (const Layer& layer : model.layers) {
    LayerDescription sizes;
    sizes.name = layer.name;
    sizes.forward = layer.work.forward;
    sizes.backward_input = layer.work.backward_input;
    sizes.backward_weight = layer.work.backward_weight;
    sizes.parameters = static_cast<double>(layer.num_parameters());
    sizes.output_bytes = layer.output_bytes;
    sizes.stored_bytes = layer.stored_bytes;
    sizes.tensor_parallel_allreduce_bytes = layer.tensor_parallel_allreduce_bytes;
    sizes.batch_norms = layer.batch_norms;
    sizes.batch_norm_channels = layer.batch_norm_channels;
    description.layers.push_back(sizes);
  }
  for (const SharedParameter& shared : model.shared_parameters()) {
    description.shared_parameters +=
        static_cast<double>(shared.spec->size()) * static_cast<double>(shared.layers.size() - 1);
  }
  return description;
}

ModelDescription describe_model(const Config& config) {
  const std::string& name = config.model.name;
  if (config.can_train_model()) {
    return describe(build_model_of(config), config.training.precision);
  }
  if (!in_zoo(name)) {
    std::vector<std::string> names = zoo_names();
    names.insert(names.begin(), trainable_models().begin(), trainable_models().end());
    const std::string nearest = nearest_name(name, names);
    throw_bad_input(
        {config.where("model.name"), fmt::format("model.name = \"{}\" is not in the zoo", name),
         "known are " + join(names),
         nearest.empty() ? "name its PROFILE.json in [profile] file" : fmt::format("did you mean \"{}\"?", nearest)});
  }
  refuse_dimensions(config);
  const ModelDescription model = zoo_model(name, config.training.precision);
  check_annotations(config, model.num_layers(), fmt::format("{} has {}", model.name, model.num_layers()));
  return model;
}

}  // namespace pptrain
