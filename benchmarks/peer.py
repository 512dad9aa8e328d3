#!/usr/bin/python3
"""Whole training steps on one rank beside PyTorch's, CPU seconds (user + system).

The two run in turns (A B A B ...), pinned to the same core with one thread each. pptrain's step is the
difference of a long and a short run, PyTorch's the median of its steady steps. PPTRAIN_TORCH_PYTHON names a Python with
another PyTorch than Debian's, such as that of a virtual environment; with transformers BERT, ViT, T5, ResNet-50 and a Mixtral are
compared too, with the networks of that library.
"""

import argparse
import json
import os
import statistics
import subprocess

import measure


TORCH_PYTHON = os.environ.get("PPTRAIN_TORCH_PYTHON", "/usr/bin/python3")


def torch_step(shape, bf16, core, steps, warmup):
    """Seconds of the steady steps of one PyTorch run, and its peak resident bytes."""
    sizes = [part for key in ("layers", "hidden", "heads", "length", "vocabulary", "batch")
             for part in ("--" + key, shape[key])]
    if measure.is_llama(shape):
        sizes += ["--key-heads", shape["key_heads"], "--feed-forward", shape["feed_forward"]]
    if measure.is_published(shape):
        sizes += ["--folder", measure.model_folder(shape)]
    command = ["taskset", "-c", core, TORCH_PYTHON, measure.ROOT / "benchmarks" / "peer_torch.py", *sizes,
               "--steps", steps, "--warmup", warmup] + (["--bf16"] if bf16 else [])
    # Without these PyTorch's backward pass starts OpenBLAS threads of its own.
    result = measure.run(command, measure.ONE_THREAD)
    answer = json.loads(result["output"].strip().splitlines()[-1])
    return answer["cpu_seconds"], answer["resident"], answer["torch"]


def compare(shape, precision, rounds, core):
    """One row of the table: the median over the rounds of each side."""
    bf16 = precision == "bf16"
    slow = bf16 and not measure.has_bf16()  # tens of seconds a step in PyTorch: one will do
    config = measure.write_config(shape, "peer-" + precision, precision, grid=(1, 1, 1))
    pin = ("taskset", "-c", core)
    measure.train(config, 1, 1, pin)  # fills the profile cache
    ours, theirs, resident = [], [], []
    for _ in range(1 if slow else rounds):
        seconds, last = measure.step_cpu_seconds(config, 1, 2, 4 if slow else 10, pin)
        ours.append(seconds)
        resident.append(last["resident"])
        steps, peer_resident, version = torch_step(shape, bf16, core, 1 if slow else 6, 0 if slow else 2)
        theirs += steps
    row = {"shape": measure.shape_text(shape), "precision": precision, "torch_version": version,
           "ours": statistics.median(ours), "ours_all": ours,
           "peer": statistics.median(theirs), "peer_all": theirs,
           "resident": max(resident), "peer_resident": peer_resident}
    row["ratio"] = row["peer"] / row["ours"]
    print("{shape} {precision}: pptrain {ours:.3f} s, PyTorch {torch_version} {peer:.3f} s a step, ratio {ratio:.2f}; "
          "peak resident {gib:.2f} against {peer_gib:.2f} GB".format(
              gib=row["resident"] / 1e9, peer_gib=peer_resident / 1e9, **row), flush=True)
    return row


def has_transformers():
    found = subprocess.run([TORCH_PYTHON, "-c", "import transformers"], capture_output=True, check=False)
    return found.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", choices=("fp32", "bf16"), action="append")
    parser.add_argument("--shape", choices=("small", "124M", "llama", "bert", "vit", "t5", "resnet", "mixtral"), action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    shapes = {"small": measure.SMALL, "124M": measure.GPT2_124M, "llama": measure.LLAMA}
    if has_transformers():
        shapes |= {"bert": measure.BERT, "vit": measure.VIT, "t5": measure.T5, "resnet": measure.RESNET, "mixtral": measure.MIXTRAL}
    else:
        print(f"BERT, ViT, T5, ResNet and Mixtral are left out: {TORCH_PYTHON} has no transformers, see PPTRAIN_TORCH_PYTHON", flush=True)
    rows = [compare(shapes[name], precision, options.rounds, options.core)
            for precision in options.precision or ("fp32", "bf16")
            for name in options.shape or shapes if name in shapes]
    if not options.shape and not options.precision:
        measure.save("peer", rows)


if __name__ == "__main__":
    main()
