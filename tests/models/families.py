"""The families whose references make_references.py makes: small networks in which every key that could be read wrongly
changes a loss.

A family has the class of transformers, the keys of its configuration, and mutants: the same run with keys changed as a
reader might get them wrong. Vocabularies are of 257 to 300 tokens, and the data leave out the first few ids, which are
those of padding in some families."""

from dataclasses import dataclass, field

LLAMA = {
    "vocab_size": 257, "hidden_size": 48, "intermediate_size": 104, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2,
    "attention_dropout": 0.0, "tie_word_embeddings": False,
}


def rope(theta, **keys):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, **keys}}


def rope_by_kind(theta, local_theta, **keys):
    """Of layers that see all positions, and of those that see a window."""
    kinds = {"full_attention": {"rope_type": "default", "rope_theta": theta, **keys},
             "sliding_attention": {"rope_type": "default", "rope_theta": local_theta}}
    return {"rope_parameters": kinds}


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 4, "beta_slow": 0.5}


@dataclass
class Family:
    config_class: str
    model_class: str
    config: dict
    length: int = 32  # tokens of a sample
    mutants: dict = field(default_factory=dict)
    names: dict = field(default_factory=dict)  # of a parameter in the file, where the class names it otherwise
    sharded: bool = False  # the same weights in several files too
    seed: int = 1  # one for which rounding stays far below the gate
    source: int = 0  # tokens of a source, where there is one
    num_seeds: int = 1  # from that one on, of which the one is taken that stays farthest from its decisions


FAMILIES = {
    # Each position sees the last 6 of 32, itself among them.
    "mistral": Family(
        "MistralConfig", "MistralForCausalLM",
        {**LLAMA, **rope(10000.0), "sliding_window": 6, "rms_norm_eps": 1e-5},
        sharded=True, seed=6,
        mutants={"no_window": {"sliding_window": None}, "window_plus_1": {"sliding_window": 7},
                 "window_minus_1": {"sliding_window": 5}, "eps_x10": {"rms_norm_eps": 1e-4},
                 "theta": rope(20000.0)}),
    # Norms of queries and keys, heads of 20 on a width of 48 / 4.
    "qwen3": Family(
        "Qwen3Config", "Qwen3ForCausalLM",
        {**LLAMA, **rope(1e6), "head_dim": 20, "rms_norm_eps": 1e-6, "tie_word_embeddings": True,
         "use_sliding_window": False, "attention_bias": False},
        seed=2,
        mutants={"eps_x10": {"rms_norm_eps": 1e-5}, "theta": rope(10000.0)}),
    # Norms by 1 + w, embeddings times sqrt(48), gates by GELU with tanh, one head of keys and values.
    "gemma": Family(
        "GemmaConfig", "GemmaForCausalLM",
        {**LLAMA, **rope(10000.0), "head_dim": 16, "num_key_value_heads": 1, "rms_norm_eps": 2e-5, "pad_token_id": 0,
         "tie_word_embeddings": True, "hidden_act": "gelu_pytorch_tanh"},
        mutants={"gelu_erf": {"hidden_act": "gelu"}, "silu": {"hidden_act": "silu"}, "eps_default": {"rms_norm_eps": 1e-6}}),
    # Rotary positions on a quarter of a head of 16, attention and feed-forward beside each other, biases everywhere.
    "gpt-neox": Family(
        "GPTNeoXConfig", "GPTNeoXForCausalLM",
        {"vocab_size": 288, "hidden_size": 48, "intermediate_size": 112, "num_hidden_layers": 2, "num_attention_heads": 3,
         "max_position_embeddings": 64, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "use_parallel_residual": True,
         "attention_bias": True, "tie_word_embeddings": False, "attention_dropout": 0.0, "hidden_dropout": 0.0,
         "bos_token_id": 0, "eos_token_id": 0, **rope(10000.0, partial_rotary_factor=0.25)},
        seed=2, names={"lm_head.weight": "embed_out.weight"},
        mutants={"sequential": {"use_parallel_residual": False}, "gelu_tanh": {"hidden_act": "gelu_new"},
                 "rotary_half": rope(10000.0, partial_rotary_factor=0.5), "eps_x10": {"layer_norm_eps": 1e-4}}),
    # The same one after the other, half of a head of 8, GELU with tanh.
    "gpt-neox-sequential": Family(
        "GPTNeoXConfig", "GPTNeoXForCausalLM",
        {"vocab_size": 288, "hidden_size": 40, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 5,
         "max_position_embeddings": 64, "hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "use_parallel_residual": False,
         "attention_bias": True, "tie_word_embeddings": False, "attention_dropout": 0.0, "hidden_dropout": 0.0,
         "bos_token_id": 0, "eos_token_id": 0, **rope(5000.0, partial_rotary_factor=0.5)},
        seed=3, names={"lm_head.weight": "embed_out.weight"},
        mutants={"parallel": {"use_parallel_residual": True}, "gelu_erf": {"hidden_act": "gelu"},
                 "theta": rope(10000.0, partial_rotary_factor=0.5)}),
    # Learned positions, of which the first two rows are not used; ReLU; norms before.
    "opt": Family(
        "OPTConfig", "OPTForCausalLM",
        {"vocab_size": 272, "hidden_size": 40, "word_embed_proj_dim": 40, "ffn_dim": 48, "num_hidden_layers": 2,
         "num_attention_heads": 4, "max_position_embeddings": 24, "activation_function": "relu",
         "do_layer_norm_before": True, "dropout": 0.0, "attention_dropout": 0.0, "layerdrop": 0.0, "pad_token_id": 1,
         "bos_token_id": 2, "eos_token_id": 2},
        length=16, num_seeds=60,
        mutants={"norm_after": {"do_layer_norm_before": False}, "gelu": {"activation_function": "gelu"}}),
    # Biases of all products.
    "llama-biases": Family(
        "LlamaConfig", "LlamaForCausalLM",
        {**LLAMA, **rope(10000.0), "attention_bias": True, "mlp_bias": True, "rms_norm_eps": 1e-6, "hidden_act": "silu"},
        seed=4,
        mutants={"eps_x10": {"rms_norm_eps": 1e-5}, "theta": rope(20000.0), "gelu": {"hidden_act": "gelu"}}),
    # Version 1.0: ReLU, the output tied and scaled; more layers on one side, sources and targets of many lengths.
    "t5-tied": Family(
        "T5Config", "T5ForConditionalGeneration",
        {"vocab_size": 257, "d_model": 40, "d_kv": 12, "d_ff": 20, "num_layers": 1, "num_decoder_layers": 2, "num_heads": 4,
         "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20, "feed_forward_proj": "relu",
         "dropout_rate": 0.0, "layer_norm_epsilon": 1e-5, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
        length=13, source=21, num_seeds=24,
        mutants={"eps_x10": {"layer_norm_epsilon": 1e-4}, "not_scaled": {"scale_decoder_outputs": False},
                 "largest_distance": {"relative_attention_max_distance": 21}}),
    # Positions divided by 4, heads of 20 on a width of 48 / 4.
    "llama-linear-rope": Family(
        "LlamaConfig", "LlamaForCausalLM",
        {**LLAMA, **rope(10000.0, rope_type="linear", factor=4.0), "head_dim": 20, "rms_norm_eps": 1e-5},
        seed=3,
        mutants={"not_scaled": rope(10000.0), "factor": rope(10000.0, rope_type="linear", factor=2.0)}),
    # Frequencies behind a ramp within the pairs, sines and cosines times 0.1 ln 4 + 1.
    "llama-yarn": Family(
        "LlamaConfig", "LlamaForCausalLM",
        {**LLAMA, **rope(10000.0, **YARN), "head_dim": 20, "rms_norm_eps": 1e-5},
        seed=2,
        mutants={"not_scaled": rope(10000.0), "factor": rope(10000.0, **{**YARN, "factor": 5.0}),
                 "no_attention_factor": rope(10000.0, **YARN, attention_factor=1.0),
                 "between_pairs": rope(10000.0, **YARN, truncate=False),
                 "beta_fast": rope(10000.0, **{**YARN, "beta_fast": 32}),
                 "length": rope(10000.0, **{**YARN, "original_max_position_embeddings": 32})}),
    # Six experts of which two are chosen, their weights made to sum to 1; the second layer has none.
    "qwen3-moe": Family(
        "Qwen3MoeConfig", "Qwen3MoeForCausalLM",
        {**LLAMA, **rope(1e6), "head_dim": 20, "rms_norm_eps": 1e-6, "num_hidden_layers": 3, "mlp_only_layers": [1],
         "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "norm_topk_prob": True,
         "use_sliding_window": True, "sliding_window": 7},
        seed=8,  # of 1 to 10 the one far from its router's decisions, among those that rounding moves little
        mutants={"not_normalised": {"norm_topk_prob": False}, "window_plus_1": {"sliding_window": 8},
                 "three_chosen": {"num_experts_per_tok": 3}, "eps_x10": {"rms_norm_eps": 1e-5}}),
    # The second layer has no positions and sees the last 9.
    "smollm3": Family(
        "SmolLM3Config", "SmolLM3ForCausalLM",
        {**LLAMA, **rope(10000.0), "num_hidden_layers": 3, "no_rope_layers": [1, 0, 1], "use_sliding_window": True,
         "sliding_window": 9, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "pad_token_id": 0},
        seed=2,
        mutants={"all_turn": {"no_rope_layers": [1, 1, 1]}, "others_turn": {"no_rope_layers": [0, 1, 0]},
                 "window_plus_1": {"sliding_window": 10},
                 "others_slide": {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}}),
    # Scaled embedding, scores, parts and logits, biases of all products.
    "granite": Family(
        "GraniteConfig", "GraniteForCausalLM",
        {**LLAMA, **rope(10000.0), "embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.4,
         "logits_scaling": 1.5, "attention_bias": True, "mlp_bias": True, "rms_norm_eps": 1e-5,
         "tie_word_embeddings": True},
        seed=2,
        mutants={"embedding": {"embedding_multiplier": 1.0}, "scores": {"attention_multiplier": 12**-0.5},
                 "parts": {"residual_multiplier": 1.0}, "logits": {"logits_scaling": 1.0}}),
    # Norms behind the parts, norms of all queries and of all keys, four heads of these for eight of those.
    "olmo2": Family(
        "Olmo2Config", "Olmo2ForCausalLM",
        {**LLAMA, **rope(10000.0), "num_attention_heads": 8, "num_key_value_heads": 4, "attention_bias": True,
         "rms_norm_eps": 1e-5, "pad_token_id": 0},
        seed=3,
        mutants={"eps_x10": {"rms_norm_eps": 1e-4}, "theta": rope(20000.0)}),
    # Query, key and value as one tensor, gate and up as one, half of each head turns, a window of 6.
    "phi3": Family(
        "Phi3Config", "Phi3ForCausalLM",
        {**LLAMA, **rope(10000.0, partial_rotary_factor=0.5), "sliding_window": 6, "rms_norm_eps": 1e-5,
         "pad_token_id": 0},
        seed=2,
        mutants={"all_turns": rope(10000.0, partial_rotary_factor=1.0), "window_plus_1": {"sliding_window": 7},
                 "eps_x10": {"rms_norm_eps": 1e-4}}),
    # Four norms a block, all by 1 + w; every other layer sees a window; caps that scores and logits come near to.
    "gemma2": Family(
        "Gemma2Config", "Gemma2ForCausalLM",
        {**LLAMA, **rope(10000.0), "num_hidden_layers": 3, "head_dim": 16, "query_pre_attn_scalar": 24,
         "sliding_window": 6, "rms_norm_eps": 2e-5, "pad_token_id": 0, "attn_logit_softcapping": 0.5,
         "final_logit_softcapping": 1.5, "tie_word_embeddings": True, "hidden_activation": "gelu_pytorch_tanh"},
        seed=2,
        mutants={"scale": {"query_pre_attn_scalar": 16}, "window_plus_1": {"sliding_window": 7},
                 "no_score_cap": {"attn_logit_softcapping": None}, "score_cap": {"attn_logit_softcapping": 0.6},
                 "no_logit_cap": {"final_logit_softcapping": None}, "eps_default": {"rms_norm_eps": 1e-6},
                 "layers_swapped": {"layer_types": ["full_attention", "sliding_attention", "full_attention"]}}),
    # Four norms a block, of queries and keys too, all by 1 + w; one layer of three sees all, with scaled positions.
    "gemma3-text": Family(
        "Gemma3TextConfig", "Gemma3ForCausalLM",
        {**LLAMA, **rope_by_kind(1e5, 1e4, rope_type="linear", factor=2.0), "num_hidden_layers": 3, "head_dim": 16,
         "query_pre_attn_scalar": 24, "sliding_window": 6, "rms_norm_eps": 2e-5, "pad_token_id": 0,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
         "tie_word_embeddings": True, "hidden_activation": "gelu_pytorch_tanh"},
        seed=2,
        mutants={"scale": {"query_pre_attn_scalar": 16}, "window_plus_1": {"sliding_window": 7},
                 "one_theta": rope_by_kind(1e4, 1e4, rope_type="linear", factor=2.0),
                 "not_scaled": rope_by_kind(1e5, 1e4), "eps_default": {"rms_norm_eps": 1e-6},
                 "gelu_erf": {"hidden_activation": "gelu"}}),
}
