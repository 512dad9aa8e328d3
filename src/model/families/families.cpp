#include "model/families/families.hpp"

#include <algorithm>

namespace pptrain {

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"gpt2",
       build_gpt2_family,
       {".attn.bias", ".attn.masked_bias"},
       // These are keys of heads for other tasks; sums are fp32 in any case.
       {"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout",
        "reorder_and_upcast_attn"}},
      {"llama", build_llama, {".rotary_emb.inv_freq"}},
      {"mistral", build_mistral, {".rotary_emb.inv_freq"}},
      {"qwen2", build_qwen2},
      {"qwen3", build_qwen3},
      {"gemma", build_gemma, {}, {"hidden_act"}},
      {"gpt_neox",
       build_gpt_neox,
       {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
       // These are keys of a head for other tasks, and of a class that has one form.
       {"classifier_dropout", "is_decoder"}},
      {"opt", build_opt},
      // The output is tied; the rest belongs to heads for other tasks.
      {"bert",
       build_bert,
       {".position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "pooler.dense.weight",
        "pooler.dense.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias"},
       {"classifier_dropout"}},
      // These are keys and tensors of heads for other tasks, and the names of the classes.
      {"vit",
       build_vit,
       {"pooler.dense.weight", "pooler.dense.bias"},
       {"encoder_stride", "pooler_act", "pooler_output_size", "id2label", "label2id"}},
      // The balance of experts is a loss of the job's, not of the model's.
      {"mixtral", build_mixtral, {".rotary_emb.inv_freq"}, {"output_router_logits", "router_aux_loss_coef"}},
      {"qwen2_moe", build_qwen2_moe, {}, {"output_router_logits", "router_aux_loss_coef"}},
      // These are copies of the shared table, a table that older files have for a layer without one, and keys of a head
      // for other tasks and of places that there are none of.
      {"t5",
       build_t5,
       {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"},
       {"classifier_dropout", "n_positions", "output_past"}},
      // These are keys of a backbone without a head, and the names of the classes.
      {"resnet", build_resnet, {}, {"out_features", "out_indices", "stage_names", "id2label", "label2id"}},
      {"vgg", build_vgg},
  };
  return all;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.type);
  return names;
}

const Family& family_of(const ConfigJson& config) {
  const std::string type = config.model_type(family_names());
  return *std::find_if(families().begin(), families().end(), [&](const Family& f) { return f.type == type; });
}

Model build_family(const ConfigJson& config, const FamilyOptions& options) {
  const Family& family = family_of(config);
  Model model = family.build(config, options);
  config.finish(family.harmless);
  return model;
}

}  // namespace pptrain
