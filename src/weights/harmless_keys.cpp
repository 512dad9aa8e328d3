#include "weights/config_json.hpp"

namespace pptrain {
namespace {

constexpr const char* about_files = "says by what and how the files were written";
constexpr const char* about_start = "draws initial weights: those of the file are taken";
constexpr const char* about_generation = "is for generating text";
constexpr const char* about_tokens =
    "names a token: data come as numbers, and all of them are trained on alike";
constexpr const char* about_execution = "chooses how transformers computes, not what";
constexpr const char* about_heads = "is for heads of other tasks";
constexpr const char* no_reader = "no class of transformers reads it";
constexpr const char* about_results = "chooses what transformers returns";

}  // namespace

// Dropout, quantization, code of its own (auto_map) and all that shapes the network are not here:
// families ask for such keys, or the file is refused.
const std::vector<HarmlessKey>& harmless_config_keys() {
  static const std::vector<HarmlessKey> keys = {
      {"_commit_hash", about_files},
      {"_name_or_path", about_files},
      {"name_or_path", about_files},
      {"architectures",
       "names a class of transformers: model_type and the tensors of the file say more"},
      {"dtype", about_files},
      {"model_type", "is asked for first"},
      {"tokenizer_class", about_files},
      {"torch_dtype", about_files},
      {"transformers_version", about_files},
      {"init_std", about_start},
      {"initializer_factor", about_start},
      {"initializer_range", about_start},
      {"bos_token_id", about_tokens},
      {"eos_token_id", about_tokens},
      {"pad_token_id", about_tokens},
      {"sep_token_id", about_tokens},
      {"cls_token_id", about_tokens},
      {"mask_token_id", about_tokens},
      {"unk_token_id", about_tokens},
      {"decoder_start_token_id", about_generation},
      {"bad_words_ids", about_generation},
      {"begin_suppress_tokens", about_generation},
      {"cache_implementation", about_generation},
      {"diversity_penalty", about_generation},
      {"do_sample", about_generation},
      {"early_stopping", about_generation},
      {"encoder_no_repeat_ngram_size", about_generation},
      {"exponential_decay_length_penalty", about_generation},
      {"forced_bos_token_id", about_generation},
      {"forced_eos_token_id", about_generation},
      {"length_penalty", about_generation},
      {"max_length", about_generation},
      {"max_new_tokens", about_generation},
      {"min_length", about_generation},
      {"no_repeat_ngram_size", about_generation},
      {"num_beam_groups", about_generation},
      {"num_beams", about_generation},
      {"num_return_sequences", about_generation},
      {"prefix", about_generation},
      {"remove_invalid_values", about_generation},
      {"repetition_penalty", about_generation},
      {"suppress_tokens", about_generation},
      {"task_specific_params", about_generation},
      {"temperature", about_generation},
      {"top_k", about_generation},
      {"top_p", about_generation},
      {"typical_p", about_generation},
      {"use_cache", about_generation},
      {"_attn_implementation", about_execution},
      {"_experts_implementation", about_execution},
      {"_flash_attn_2_enabled", about_execution},
      {"experts_implementation", about_execution},
      {"_attn_implementation_autoset", about_execution},
      {"attn_implementation", about_execution},
      {"chunk_size_feed_forward", about_execution},
      {"gradient_checkpointing", about_execution},
      {"pretraining_tp", about_execution},
      {"tf_legacy_loss", about_execution},
      {"torchscript", about_execution},
      {"use_bfloat16", about_execution},
      {"output_attentions", about_results},
      {"output_hidden_states", about_results},
      {"output_scores", about_results},
      {"return_dict", about_results},
      {"return_dict_in_generate", about_results},
  };
  return keys;
}

const std::vector<NeutralKey>& neutral_config_keys() {
  static const std::vector<NeutralKey> keys = {
      {"add_cross_attention", "false", "there is one stream"},
      {"attention_bias", "false", "these products have no biases, or always have them"},
      {"directionality", "\"bidi\"", "every position attends to all"},
      {"finetuning_task", "", about_heads},
      {"is_decoder", "false", "the model is used by itself"},
      {"is_encoder_decoder", "false", "the model is one side"},
      {"is_llama_config", "", no_reader},
      {"max_sequence_length", "", "is the longest sample that the model was trained on"},
      {"mlp_bias", "false", "these products have no biases"},
      {"n_special", "", no_reader},
      {"output_past", "", about_generation},
      {"output_router_logits", "false", "there are no routers"},
      {"partial_rotary_factor", "1.0", "all columns of a head turn"},
      {"predict_special_tokens", "", no_reader},
      {"pruned_heads", "{}", "all heads are there"},
      {"qk_layernorm", "false", "queries and keys have no norms"},
      {"rope_interleaved", "false", "pairs of columns that turn are half a head apart"},
      {"tie_encoder_decoder", "false", "two stacks do not share their weights"},
      {"transformers.js_config", "", no_reader},
      {"unsloth_fixed", "", about_files},
      {"unsloth_version", "", about_files},
      {"use_bidirectional_attention", "false", "attention is causal"},
      {"use_mrope", "false", "a position is one number"},
      {"use_qk_norm", "false", "queries and keys have no norms"},
      {"use_sliding_window", "false", "positions attend to all before them"},
      {"xla_device", "", about_execution},
  };
  return keys;
}

}  // namespace pptrain
