#include "config/published_models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/read.hpp"

namespace pptrain {
namespace {

constexpr std::int64_t gpt_tokens = 1024;

/// GPT-2 with other dimensions. Its output layer shares the embedding, and its feed-forward parts
/// have four times the width.
PublishedModel gpt(const std::string& name, const std::string& source, int layers, int hidden,
                   int heads, int vocabulary) {
  return {.name = name,
          .source = source,
          .description =
              fmt::format(R"({{"model_type": "gpt2", "n_layer": {}, "n_embd": {}, "n_head": {},
                                         "vocab_size": {}, "n_positions": {}}})",
                          layers, hidden, heads, vocabulary, gpt_tokens),
          .tokens = gpt_tokens};
}

struct EncoderDecoder {
  int layers = 0;  ///< of each of both
  int hidden = 0;
  int heads = 0;
  int vocabulary = 0;
  std::int64_t source_tokens = 0;
  std::int64_t target_tokens = 0;
};

/// T5 1.0: encoder and decoder of equal depth, ReLU, one table of tokens for both and the output.
PublishedModel encoder_decoder(const std::string& name, const std::string& source,
                               const EncoderDecoder& sizes) {
  return {.name = name,
          .source = source,
          .description =
              fmt::format(R"({{"model_type": "t5", "num_layers": {0}, "num_decoder_layers": {0},
                                         "d_model": {1}, "d_ff": {2}, "d_kv": {3}, "num_heads": {4}, "vocab_size": {5},
                                         "feed_forward_proj": "relu", "tie_word_embeddings": true,
                                         "decoder_start_token_id": 0, "pad_token_id": 0}})",
                          sizes.layers, sizes.hidden, 4 * sizes.hidden, sizes.hidden / sizes.heads,
                          sizes.heads, sizes.vocabulary),
          .tokens = sizes.target_tokens,
          .source_tokens = sizes.source_tokens};
}

PublishedModel resnet_50(const std::string& name, const std::string& source, int classes) {
  return {.name = name,
          .source = source,
          .description = fmt::format(R"({{"model_type": "resnet", "num_labels": {}}})", classes)};
}

/// VGG-19 on images of 224 x 224 pixels; behind each run of 3 x 3 convolutions the largest of 2 x 2
/// pixels are left.
PublishedModel vgg_19(const std::string& source) {
  std::string chain = "[[model.layer]]\nkind = \"images\"\n";
  for (const auto& [repeat, channels] :
       {std::pair{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}}) {
    chain += fmt::format(
        "[[model.layer]]\nkind = \"convolution\"\nrepeat = {}\nchannels = {}\npool = \"max\"\n",
        repeat, channels);
  }
  chain +=
      "[[model.layer]]\nkind = \"dense\"\nrepeat = 2\ncolumns = 4096\n[[model.layer]]\nkind = "
      "\"classes\"\nclasses = "
      "1000\n";
  return {.name = "vgg-19", .source = source, .chain = chain};
}

struct ResidualStage {
  int blocks;
  int inner;  ///< channels in front of the 3 x 3 convolutions
};

/// Bottlenecks on images of 224 x 224 pixels whose 3 x 3 convolutions widen `factor` times.
PublishedModel wide_resnet(const std::string& name, const std::string& source,
                           const std::vector<ResidualStage>& stages, int factor) {
  std::string chain = "[[model.layer]]\nkind = \"images\"\n";
  chain += fmt::format(
      "[[model.layer]]\nkind = \"convolution\"\nchannels = {}\nkernel = 7\nstride = 2\nbatch_norm "
      "= true\n"
      "pool = \"max\"\npool_size = 3\npool_stride = 2\npool_padding = 1\n",
      stages.front().inner);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto [blocks, inner] = stages[i];
    chain += fmt::format(
        "[[model.layer]]\nkind = \"residual\"\nrepeat = {}\nchannels = {}\ninner = {}\nwide = "
        "{}\nstride = {}\n",
        blocks, 4 * inner, inner, factor * inner, i == 0 ? 1 : 2);
  }
  chain +=
      "pool = \"average\"\npool_size = 0\n[[model.layer]]\nkind = \"classes\"\nclasses = 1024\n";
  return {.name = name, .source = source, .chain = chain};
}

/// GShard's form of GPT: every other block has experts, of which a position goes to two.
constexpr const char* gpt_moe_chain = R"(
[[model.layer]]
kind = "embedding"
columns = 2048
positions = true
[[model.layer]]
repeat = 32
heads = 16
feed_forward = 16384
experts = 64
experts_every = 2
experts_per_token = 2
expert_capacity = 1.0
[[model.layer]]
kind = "output"
tied = true
)";

const std::string residual =
    "He et al., Deep residual learning for image recognition, 2015, table 1";
const std::string whale_classes = residual + "; classes: Jia et al., Whale, 2022, section 5.1";
const std::string zeropp =
    "Tang et al., ZeroPP, 2024, table 4; vocabulary, not given: GPT-2's 50257";
const std::string alpa =
    "benchmark of Zheng et al., Alpa, 2022: alpa-projects/alpa b8078a9f, benchmark/alpa/";

std::vector<PublishedModel> all() {
  return {
      {.name = "bert-large",
       .source = "Devlin et al., BERT, 2018, section 3 and appendix A.2: sequences of 128; "
                 "vocabulary of 30522: the "
                 "authors' release",
       .description =
           R"({"model_type": "bert", "num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
                          "intermediate_size": 4096, "vocab_size": 30522, "max_position_embeddings": 512,
                          "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
                          "tie_word_embeddings": true})",
       .tokens = 128},
      encoder_decoder("t5-large",
                      "Raffel et al., T5, 2019, sections 2.1, 3.1 and 3.7: inputs of 512 tokens, "
                      "targets of 114",
                      {24, 1024, 16, 32128, 512, 114}),
      // 3840 is the multiple of 128 that gives 10 billion.
      encoder_decoder(
          "m6-10b",
          "Jia et al., Whale, 2022, section 5.3.1: 24 + 24 layers, 10 billion parameters; the "
          "width 3840 "
          "follows from that; vocabulary of Chinese BERT; lengths of 512 and 128, not given: ours",
          {24, 3840, 32, 21128, 512, 128}),
      resnet_50("resnet-50", residual, 1000),
      resnet_50("resnet-50-100k", whale_classes, 100'000),
      resnet_50("resnet-50-1m", whale_classes, 1'000'000),
      vgg_19("Simonyan and Zisserman, Very deep convolutional networks, 2014, table 1, E"),
      wide_resnet("wide-resnet-4b", alpa + "suite_wresnet.py, 16 devices",
                  {{3, 640}, {4, 1280}, {6, 2560}, {3, 5120}}, 2),
      wide_resnet("wide-resnet-13b", alpa + "suite_wresnet.py, 64 devices",
                  {{3, 320}, {4, 640}, {23, 1280}, {3, 2560}}, 16),
      gpt("gpt-1.5b", zeropp, 22, 2304, 24, 50257),
      gpt("gpt-6.2b", zeropp, 30, 4096, 32, 50257),
      gpt("gpt-14.6b", zeropp, 46, 5120, 40, 50257),
      gpt("gpt-39b", alpa + "suite_manual_gpt.py, 64 devices", 48, 8192, 64, 51200),
      {.name = "gpt-moe-70b",
       .source = alpa + "suite_manual_moe.py, 64 devices",
       .chain = gpt_moe_chain,
       .vocabulary = 32000,
       .tokens = gpt_tokens},
  };
}

}  // namespace

const std::vector<PublishedModel>& published_models() {
  static const std::vector<PublishedModel> models = all();
  return models;
}

const PublishedModel* published_model(const std::string& name) {
  const std::vector<PublishedModel>& models = published_models();
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const PublishedModel& model) { return model.name == name; });
  return found != models.end() ? &*found : nullptr;
}

void take_published(const PublishedModel& published, ModelConfig& model) {
  model.published = true;
  model.description = published.description;
  if (!published.chain.empty())
    model.layer = parse_config(published.chain, published.name, "").model.layer;
  if (published.vocabulary > 0) model.vocabulary_size = published.vocabulary;
}

void take_published(const PublishedModel& published, TrainingConfig& training) {
  if (published.tokens > 0) training.sequence_length = published.tokens;
  if (published.source_tokens > 0) training.source_length = published.source_tokens;
}

}  // namespace pptrain
