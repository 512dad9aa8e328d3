#!/usr/bin/env python3
"""Records the default configuration of every family's class of transformers, written with all its keys, as
FOLDER/transformers-VERSION.json: an object of config.json by family. Needs transformers alone, without torch.

    make_configs.py tests/data/configs

tests/model/config_files_test.cpp reads every one of them, and leaves out one key after another: what stands in its place
is then the default of the class. VGG has no class in transformers."""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
try:
    import transformers
except ImportError as missing:
    print(f"make_configs: SKIPPED, {missing}")
    sys.exit(77)

CLASSES = ["GPT2Config", "LlamaConfig", "MistralConfig", "Qwen2Config", "Qwen3Config", "GemmaConfig", "GPTNeoXConfig",
           "OPTConfig", "BertConfig", "MixtralConfig", "Qwen2MoeConfig", "ViTConfig", "T5Config", "ResNetConfig",
           "Qwen3MoeConfig", "SmolLM3Config", "GraniteConfig", "Olmo2Config", "Phi3Config", "Gemma2Config",
           "Gemma3TextConfig"]


def with_all_keys(name):
    return json.loads(getattr(transformers, name)().to_json_string(use_diff=False))


def main():
    folder = pathlib.Path(sys.argv[1])
    configs = {config["model_type"]: config for config in map(with_all_keys, CLASSES)}
    lines = ",\n".join(f"{json.dumps(family)}: {json.dumps(config)}" for family, config in configs.items())
    (folder / f"transformers-{transformers.__version__}.json").write_text("{" + lines + "}\n")


if __name__ == "__main__":
    main()
