#!/usr/bin/env python3
"""Counts the parameters of the published models as transformers builds them, without memory for any: FOLDER/published.json has
their config.json by name, FOLDER/published-parameters.json gets the numbers. Needs torch and transformers from PyPI.

    count_parameters.py tests/data/configs

tests/model/config_files_test.cpp holds pptrain's models to these numbers. A shared tensor counts once."""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
try:
    import torch
    import transformers
except ImportError as missing:
    print(f"count_parameters: SKIPPED, {missing}")
    sys.exit(77)


def count(description):
    """Of a model of the class that its config.json names."""
    of_class = getattr(transformers, description["architectures"][0])
    config = of_class.config_class.from_dict(description)
    with torch.device("meta"):
        model = of_class(config)
    return sum(p.numel() for p in model.parameters())


def main():
    folder = pathlib.Path(sys.argv[1])
    published = json.loads((folder / "published.json").read_text())
    lines = ",\n".join(f"{json.dumps(name)}: {count(description)}" for name, description in published.items())
    (folder / "published-parameters.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
