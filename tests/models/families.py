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
    num_seeds: int = 1  # from that one on, of which the one is taken in which no ReLU comes near its kink


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
}
