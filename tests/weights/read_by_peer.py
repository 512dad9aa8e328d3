#!/usr/bin/env python3
"""What pptrain writes is read by the safetensors package of PyPI, and the other way round.

    read_by_peer.py TEST_WEIGHTS      # the program with the tests of src/weights

Exit code 77: safetensors or torch, without which it knows no bf16, is not there.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"read_by_peer: SKIPPED, {missing}")
    sys.exit(77)

WRITTEN = {"f32": (torch.float32, [3, 67]), "bf16": (torch.bfloat16, [5, 1, 7]), "f16": (torch.float16, [301]),
           "none": (torch.float32, [2, 0]), "scalar": (torch.float32, []), "\u00e4\"\\\n": (torch.float32, [2])}


def values(shape, dtype):
    """Values that both programs compute and every type holds."""
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 37 % 251 - 125) / 8).to(dtype).view(shape)


def start(program, test, folder):
    subprocess.run([program, test], check=True, env={**os.environ, "PPTRAIN_PEER_FOLDER": str(folder)})


def check_written(found, where):
    assert set(found) == set(WRITTEN), f"{where}: {sorted(found)}"
    for name, (dtype, shape) in WRITTEN.items():
        tensor = found[name]
        assert tensor.dtype == dtype and list(tensor.shape) == shape, f"{where}: {name} is {tensor.dtype} {tensor.shape}"
        assert torch.equal(tensor, values(shape, dtype)), f"{where}: {name} has other values"


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        start(program, "[write_for_peer]", folder)
        check_written(load_file(folder / "single" / "model.safetensors"), "single")
        with safe_open(folder / "single" / "model.safetensors", "pt") as file:
            assert file.metadata() == {"format": "pt"}, file.metadata()
        index = json.loads((folder / "pieces" / "model.safetensors.index.json").read_text(encoding="utf-8"))
        files = sorted(set(index["weight_map"].values()))
        assert len(files) > 1, files
        pieces = {}
        for file in files:
            tensors = load_file(folder / "pieces" / file)
            assert all(index["weight_map"][key] == file for key in tensors), file
            pieces.update(tensors)
        check_written(pieces, "pieces")
        total = sum(t.numel() * t.element_size() for t in pieces.values())
        assert index["metadata"]["total_size"] == total, index["metadata"]

        theirs = folder / "theirs"
        theirs.mkdir()
        save_file({"i64": torch.arange(6).view(2, 3), "bool": torch.ones(3, dtype=torch.bool),
                   "f64": torch.zeros(2, dtype=torch.float64), "f32": values([4, 9], torch.float32),
                   "bf16": values([33], torch.bfloat16), "f16": values([2, 2, 9], torch.float16)},
                  theirs / "model.safetensors")
        start(program, "[read_from_peer]", theirs)
    print("read_by_peer: what one writes the other reads")


if __name__ == "__main__":
    main()
