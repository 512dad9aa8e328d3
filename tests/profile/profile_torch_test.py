#!/usr/bin/env python3
"""apps/profile_torch/profile_torch.py on the host: layers as pptrain's own profile has them, times that a plan can be made of,
links between processes, profiles of several kinds in one, and what it refuses. Needs PyTorch; exit code 77 without it.
Usage: profile_torch_test.py PPTRAIN PROJECT"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
PPTRAIN, PROJECT = sys.argv[1], pathlib.Path(sys.argv[2])
SCRIPT = PROJECT / "apps/profile_torch/profile_torch.py"
MODELS = PROJECT / "tests/data/models"
TOKENS = 32
failures = []


def check(what, holds, shown=""):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what} {shown}", file=sys.stderr)


def run(*command, expected=0):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=300,
                          env=environment)
    check(f"{' '.join(map(str, command))}: exit code {expected}", done.returncode == expected,
          f"got {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def profiled(model, path, *more, expected=0):
    return run(sys.executable, SCRIPT, MODELS / model, "-o", path, "--sequence-length", TOKENS, "--samples", "1,2", *more,
               expected=expected)


def computed(folder, model):
    """pptrain's own profile of the model."""
    job = folder / "job.toml"
    job.write_text(f'[model]\nfrom = "{MODELS / model}"\n[training]\nsequence_length = {TOKENS}\nglobal_batch_size = 8\n'
                   '[cluster]\nfile = "1x dgx-h100"\n')
    run(PPTRAIN, "profile", job, "--analytic", "-o", folder / "computed.json")
    return json.loads((folder / "computed.json").read_text())


def test_layers(folder):
    for model in ("llama", "gpt2-hf", "qwen2", "qwen3", "mistral"):
        path = folder / f"{model}.json"
        profiled(model, path, "--tensor", "1,2")
        measured, own = json.loads(path.read_text()), computed(folder, model)
        check(f"{model}: as many layers", len(measured["layers"]) == len(own["layers"]))
        for layer, other in zip(measured["layers"], own["layers"]):
            for key in ("name", "parameters", "output_bytes", "tensor_parallel_allreduce_bytes"):
                check(f"{model}: {key} of {layer['name']}", layer[key] == other[key], f"{layer[key]} and {other[key]}")
            degrees = sorted({(row["tensor_parallel"], row["samples"]) for row in layer["seconds"]})
            check(f"{model}: every degree with every micro-batch", degrees == [(1, 1), (1, 2), (2, 1), (2, 2)], degrees)
            check(f"{model}: layers take time", all(row["forward"] > 0 for row in layer["seconds"]))
            check(f"{model}: blocks store something", layer["stored_bytes"] > 0)
        run(PPTRAIN, "validate", path)


def test_plan(folder):
    (folder / "cluster.toml").write_text('name = "hosts"\n[[device]]\nkind = "cpu"\nmemory = "8 GB"\n[[node]]\nkind = "host"\ncount = 2\n'
                                         'devices = { kind = "cpu", count = 2 }\nlink = { bandwidth = "5 GB/s" }\n'
                                         'uplink = { bandwidth = "1 GB/s" }\n')
    said = run(PPTRAIN, "plan", "--cluster", folder / "cluster.toml", "--profile", folder / "llama.json",
               "--global-batch-size", "8")
    check("a plan is made of it", "predicted iteration" in said, said)


def test_ranks(folder):
    profile, cluster = folder / "ranks.json", folder / "ranks.toml"
    said = run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", SCRIPT, MODELS / "llama", "-o", profile,
               "--cluster", cluster, "--sequence-length", TOKENS, "--samples", "1", "--tensor", "1")
    check("one rank says what was written", said.count("Wrote") == 2, said)
    check("a cluster of two devices", "a cluster of 2 devices" in run(PPTRAIN, "validate", cluster))
    rows = json.loads(profile.read_text())["layers"][0]["seconds"]
    check("one rank of each kind times", len(rows) == 1, rows)


def test_merged(folder):
    profiled("llama", folder / "t4.json", "--tensor", "1", "--kind", "t4")
    merge = (sys.executable, SCRIPT, "-o", folder / "both.json", "--merge")
    run(*merge, folder / "llama.json", folder / "t4.json")
    run(PPTRAIN, "validate", folder / "both.json")
    devices = {row["device"] for row in json.loads((folder / "both.json").read_text())["layers"][1]["seconds"]}
    check("both kinds are there", devices == {"cpu", "t4"}, devices)
    said = run(*merge, folder / "t4.json", folder / "t4.json", expected=2)
    check("a kind twice", "times of t4 again" in said, said)
    said = run(*merge, folder / "llama.json", folder / "qwen3.json", expected=2)
    check("another model", "qwen3.json: other layers than" in said, said)


def test_refused(folder):
    out = folder / "refused.json"
    for what, words, said in (
            ("another family", (MODELS / "bert",), 'model_type = "bert"'),
            ("no file", (folder / "nowhere",), "cannot be read"),
            ("no model", (), "no model"),
            ("too long samples", (MODELS / "gpt2-hf", "--sequence-length", "64"), "40 learned positions"),
            ("samples of nothing", (MODELS / "llama", "--sequence-length", "0"), "at least one token")):
        answer = run(sys.executable, SCRIPT, *words, "-o", out, expected=2)
        check(what, said in answer and answer.count("\n") == 1, answer)
        check(f"{what}: nothing is written", not out.exists())


def main():
    if importlib.util.find_spec("torch") is None:
        print("SKIPPED: there is no PyTorch", file=sys.stderr)
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_layers(folder)
        test_plan(folder)
        test_ranks(folder)
        test_merged(folder)
        test_refused(folder)
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
