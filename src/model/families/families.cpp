#include "model/families/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/families/config_keys.hpp"
#include "model/families/text_part.hpp"

namespace pptrain {
namespace {

/// Keys of heads that tell classes apart, which a model of texts has in its file and no use for.
constexpr std::array class_keys = {"_num_labels", "id2label", "label2id", "num_labels",
                                   "problem_type"};

/// Refuses models whose bytes and FLOP no count holds, whatever their sizes are one by one.
void check_parameters(const ConfigJson& config, const Model& model) {
  constexpr double most = 1e15;
  double parameters = 0.0;
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters)
      parameters += static_cast<double>(spec.size());
  }
  if (parameters <= most) return;
  config.refuse("", fmt::format("describes a model of {:.3g} parameters", parameters),
                fmt::format("at most {:.0e} can be planned", most), "correct its sizes");
}

/// The family of what describes a model of texts, or of a model without other parts.
const Family& family_of_part(const ConfigJson& text) {
  std::vector<std::string> known = family_names();
  for (const Family& family : families())
    known.insert(known.end(), family.text_types.begin(), family.text_types.end());
  const std::string type = family_of_text(text.model_type(known));
  return *std::find_if(families().begin(), families().end(),
                       [&](const Family& f) { return f.type == type; });
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"gpt2",
       "GPT2LMHeadModel",
       build_gpt2_family,
       {".attn.bias", ".attn.masked_bias"},
       // These are keys of heads for other tasks; sums are fp32 in any case.
       {"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
        "summary_first_dropout", "reorder_and_upcast_attn"}},
      {"llama", "LlamaForCausalLM", build_llama, {".rotary_emb.inv_freq"}},
      {"mistral",
       "MistralForCausalLM",
       build_mistral,
       {".rotary_emb.inv_freq"},
       {},
       {"attention_bias"}},
      {"qwen2",
       "Qwen2ForCausalLM",
       build_qwen2,
       {},
       {},
       {"attention_bias"},
       false,
       {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"}},
      {"qwen3", "Qwen3ForCausalLM", build_qwen3, {}, {}, {}, false, {"qwen3_vl_text"}},
      {"gemma", "GemmaForCausalLM", build_gemma},
      {"gemma2", "Gemma2ForCausalLM", build_gemma2},
      {"gemma3_text", "Gemma3ForCausalLM", build_gemma3_text, {}, {}, {"_sliding_window_pattern"}},
      {"smollm3", "SmolLM3ForCausalLM", build_smollm3, {}, {}, {"max_window_layers"}},
      {"granite", "GraniteForCausalLM", build_granite},
      {"olmo2", "Olmo2ForCausalLM", build_olmo2},
      // Published files name code that is older than transformers' class.
      {"phi3", "Phi3ForCausalLM", build_phi3, {}, {}, {"attention_bias", "auto_map"}},
      {"gpt_neox",
       "GPTNeoXForCausalLM",
       build_gpt_neox,
       {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
       // These are keys of a head for other tasks, and of a class that has one form.
       {"classifier_dropout", "is_decoder"}},
      {"opt", "OPTForCausalLM", build_opt},
      // The output is tied; the rest belongs to heads for other tasks.
      {"bert",
       "BertForMaskedLM",
       build_bert,
       {".position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias",
        "pooler.dense.weight", "pooler.dense.bias", "cls.seq_relationship.weight",
        "cls.seq_relationship.bias"},
       {"classifier_dropout"},
       {"pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
        "pooler_size_per_head", "pooler_type"}},
      // These are keys and tensors of heads for other tasks, and the names of the classes.
      {"vit",
       "ViTForImageClassification",
       build_vit,
       {"pooler.dense.weight", "pooler.dense.bias"},
       {"encoder_stride", "pooler_act", "pooler_output_size", "id2label", "label2id"},
       {"tie_word_embeddings"},
       true},
      // The balance of experts is a loss of the job's, not of the model's.
      {"mixtral",
       "MixtralForCausalLM",
       build_mixtral,
       {".rotary_emb.inv_freq"},
       {"output_router_logits", "router_aux_loss_coef"},
       {"attention_bias", "layer_types"}},
      {"qwen2_moe",
       "Qwen2MoeForCausalLM",
       build_qwen2_moe,
       {},
       {"output_router_logits", "router_aux_loss_coef"},
       {"attention_bias"}},
      {"qwen3_moe",
       "Qwen3MoeForCausalLM",
       build_qwen3_moe,
       {},
       {"output_router_logits", "router_aux_loss_coef"},
       {"max_window_layers"}},
      // These are copies of the shared table, a table that older files have for a layer without
      // one, and keys of a head for other tasks and of places that there are none of.
      {"t5",
       "T5ForConditionalGeneration",
       build_t5,
       {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"},
       {"classifier_dropout", "n_positions"}},
      // These are keys of a backbone without a head, and the names of the classes.
      {"resnet",
       "ResNetForImageClassification",
       build_resnet,
       {},
       {"out_features", "out_indices", "stage_names", "id2label", "label2id"},
       {"tie_word_embeddings"},
       true},
      {"vgg", "", build_vgg, {}, {}, {}, true},
  };
  return all;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.type);
  return names;
}

const Family& family_of(const ConfigJson& config) { return family_of_part(text_part(config)); }

Model build_family(const ConfigJson& whole, const FamilyOptions& options) {
  const ConfigJson config = text_part(whole);
  const Family& family = family_of_part(config);
  Model model = family.build(config, options);
  check_parameters(config, model);
  note_dropout(config);
  std::vector<std::string> harmless = family.harmless, ignored = family.ignored;
  if (!family.has_classes) ignored.insert(ignored.end(), class_keys.begin(), class_keys.end());
  if (config.text("model_type") != family.type)
    harmless.insert(harmless.end(), keys_beside_text().begin(), keys_beside_text().end());
  config.finish(harmless, ignored);
  return model;
}

}  // namespace pptrain
