#!/usr/bin/python3
"""Tokens per second on one GPU, pptrain beside PyTorch's best (gpu_torch.py), GPT-2 in bf16 over fp32 weights.

The two run in turns (A B A B ...) with the same micro-batch and the same tokens per step, gradients clipped in both;
each round starts both anew and takes the median of its steady steps. Memory is what nvidia-smi shows on the device at
the most, less what was there before; pptrain has measured its layers before that. Start it by gpu_compare.sh.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading

import measure

# Radford et al., 2019; `micro_batch` fits 80 GB with room to spare, a step has half a million tokens.
MODELS = {
    "124M": {"layers": 12, "hidden": 768, "heads": 12, "micro_batch": 32},
    "345M": {"layers": 24, "hidden": 1024, "heads": 16, "micro_batch": 16},
    "1.5B": {"layers": 48, "hidden": 1600, "heads": 25, "micro_batch": 8},
}
GLOBAL_BATCH = 512
# Dense bf16 FLOP/s of the data sheets, by a part of the device's name; the first match counts.
PEAK = {"H200": 989e12, "H100": 989e12, "GH200": 989e12, "B200": 2250e12, "A100": 312e12, "L40S": 362e12, "RTX 4090": 165e12,
        "A40": 150e12}


def nvidia_smi(field):
    """Of the GPU that both sides use: the first that they see."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    answer = subprocess.run(["nvidia-smi", "--query-gpu=" + field, "--format=csv,noheader,nounits", "--id=" + first],
                            capture_output=True, text=True, check=True)
    return answer.stdout.strip()


class MemoryWatch:
    """The most that is used on the device while the block runs, less what was used before. In bytes."""

    def __enter__(self):
        self.before = self.peak = int(nvidia_smi("memory.used"))
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.ended.wait(0.2):
            self.peak = max(self.peak, int(nvidia_smi("memory.used")))

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def bytes(self):
        return (self.peak - self.before) * 2**20


def flop_per_token(shape):
    """6 N and attention over all pairs (Chowdhery et al., "PaLM", 2022, appendix B), the same for both sides."""
    hidden, layers = shape["hidden"], shape["layers"]
    parameters = shape["vocabulary"] * hidden + 12 * layers * hidden**2
    return 6 * parameters + 12 * layers * hidden * shape["length"]


def launcher():
    """One rank by mpirun, or alone where there is none."""
    return ["mpirun", "-np", "1"] if shutil.which("mpirun") else []


def run_pptrain(shape, steps):
    config = measure.write_config(shape, "gpu-" + shape["name"], "bf16", grid=(1, 1, 1), micro_batch=shape["micro_batch"])
    settings = ["--set", "job.device=gpu", "--set", "optimizer.gradient_clip=1.0"]
    # Layers are timed up to as many samples as the memory takes; training finds their times cached.
    measure.run([*launcher(), measure.PPTRAIN, "profile", config, *settings, "-o", measure.RESULTS / "profile.json"],
                measure.launcher_settings())
    command = [*launcher(), measure.PPTRAIN, config, "--steps", steps, *settings]
    with MemoryWatch() as memory:
        output = measure.run(command, measure.launcher_settings())["output"]
    found = re.search(r"iteration\s+([0-9.]+ \w+) measured", output)
    if not found:
        sys.exit("pptrain printed no measured iteration:\n" + output[-3000:])
    return measure.seconds(found.group(1)), memory.bytes()


def run_torch(shape, steps, warmup):
    sizes = [part for key in ("layers", "hidden", "heads", "length", "vocabulary", "batch", "micro_batch")
             for part in ("--" + key.replace("_", "-"), shape[key])]
    command = [sys.executable, measure.ROOT / "benchmarks" / "gpu_torch.py", *sizes, "--steps", steps, "--warmup", warmup]
    with MemoryWatch() as memory:
        output = measure.run(command)["output"]
    answer = json.loads(output.strip().splitlines()[-1])
    return statistics.median(answer["seconds"]), memory.bytes(), answer["torch"]


def compare(name, options, peak):
    shape = {"name": name, "vocabulary": 50257, "length": 1024, "batch": options.batch, **MODELS[name]}
    if options.micro_batch:
        shape["micro_batch"] = options.micro_batch
    tokens = shape["batch"] * shape["length"]
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(run_pptrain(shape, options.steps))
        theirs.append(run_torch(shape, options.steps, 3))
    row = {"shape": "GPT-2 " + name, "micro_batch": shape["micro_batch"], "torch_version": theirs[0][2],
           "ours": statistics.median(tokens / seconds for seconds, _ in ours),
           "peer": statistics.median(tokens / seconds for seconds, _, _ in theirs),
           "memory": max(used for _, used in ours), "peer_memory": max(used for _, used, _ in theirs)}
    row["ratio"] = row["ours"] / row["peer"]
    for side in ("ours", "peer"):
        row[side + "_utilisation"] = row[side] * flop_per_token(shape) / peak if peak else None
    print("{shape}, micro-batch {micro_batch}: pptrain {ours:.0f}, PyTorch {torch_version} {peer:.0f} tokens/s, ratio "
          "{ratio:.3f}; {mfu}; memory {gib:.1f} against {peer_gib:.1f} GB".format(
              gib=row["memory"] / 1e9, peer_gib=row["peer_memory"] / 1e9,
              mfu="model FLOP utilisation {ours_utilisation:.1%} against {peer_utilisation:.1%}".format(**row)
              if peak else "peak of this GPU unknown", **row),
          flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(prog="gpu_compare.sh", description=__doc__)
    parser.add_argument("--model", choices=MODELS, action="append", help="default: all three")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8, help="timed steps of a round; more than 4")
    parser.add_argument("--batch", type=int, default=GLOBAL_BATCH, help="samples per step (default %(default)s)")
    parser.add_argument("--micro-batch", type=int, help="of both sides; default: by model")
    parser.add_argument("--peak", type=float, help="FLOP/s of the GPU in bf16, where its name is not known")
    options = parser.parse_args()
    device = nvidia_smi("name")
    peak = options.peak or next((rate for part, rate in PEAK.items() if part in device), None)
    print(f"{device}, driver {nvidia_smi('driver_version')}", flush=True)
    rows = [{"device": device, **compare(name, options, peak)} for name in options.model or MODELS]
    measure.save("gpu_compare", rows)
    if any(row["ratio"] < 1.0 or row["memory"] > row["peer_memory"] for row in rows):
        sys.exit("slower, or more memory, than PyTorch")


if __name__ == "__main__":
    main()
