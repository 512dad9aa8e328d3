#!/usr/bin/python3
"""Is `auto` beaten by somebody who types keys, takes nodes away or moves a cut? Twelve models on clusters that people have.

Each case is planned with nothing said, with drawn keys of [parallelism], without each of its groups of nodes, and the plan that
came of nothing said is simulated with each cut one layer earlier and later. Printed is its predicted iteration over the best that
any of these found: 1 where nobody beats it."""

import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import measure

# Memory, TFLOP/s of fp32 and bf16 (of fp16 where a device has no bf16), memory bandwidth: data sheets of the makers.
DEVICES = {
    "v100-16gb": ("16 GB", 15.7, 125, "900 GB/s"),
    "v100-32gb": ("32 GB", 15.7, 125, "900 GB/s"),
    "t4": ("16 GB", 8.1, 65, "320 GB/s"),
    "p100": ("16 GB", 10.6, 21.2, "732 GB/s"),
    "a100-40gb": ("40 GB", 19.5, 312, "1.56 TB/s"),
    "a100-80gb": ("80 GB", 19.5, 312, "2.04 TB/s"),
    "l40s": ("48 GB", 91.6, 362, "864 GB/s"),
    "h100-80gb": ("80 GB", 67, 989, "3.35 TB/s"),
}
# Devices of a node, bandwidth inside it and out of it in GB/s.
NODES = {
    "v100-16gb": (8, 150, 3.1), "v100-32gb": (8, 150, 12.5), "t4": (4, 16, 6.25), "p100": (8, 16, 3.1),
    "a100-40gb": (8, 300, 25), "a100-80gb": (8, 300, 100), "l40s": (4, 32, 25), "h100-80gb": (8, 450, 50),
}
RESERVE = 1.6  # GB of each device for the context of the machine and its libraries
LLAMA_70B = {"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
             "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings": 8192, "vocab_size": 128256,
             "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": False}
QWEN_32B = {"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
            "num_attention_heads": 40, "num_key_value_heads": 8, "max_position_embeddings": 32768, "vocab_size": 152064,
            "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "use_sliding_window": False, "tie_word_embeddings": False}
T5_LARGE = {"model_type": "t5", "vocab_size": 32128, "d_model": 1024, "d_kv": 64, "d_ff": 2816, "num_layers": 24,
            "num_decoder_layers": 24, "num_heads": 16, "feed_forward_proj": "gated-gelu", "is_encoder_decoder": True,
            "tie_word_embeddings": False, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
RESNET_50 = {"model_type": "resnet", "num_channels": 3, "embedding_size": 64, "hidden_sizes": [256, 512, 1024, 2048],
             "depths": [3, 4, 6, 3], "layer_type": "bottleneck", "hidden_act": "relu", "downsample_in_first_stage": False,
             "id2label": {str(i): f"class {i}" for i in range(1000)}}
GPT2_XL = {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024, "vocab_size": 50257}
# Name, model (a folder of inputs/models or what config.json says), nodes of each kind, samples, keys of [training] and [model].
CASES = [
    ("Llama 3 8B, 16 H100 + 32 A100", "llama-3-8b", {"h100-80gb": 2, "a100-40gb": 4}, 256, {"sequence_length": 4096}),
    ("Llama 3 8B, 64 H100", "llama-3-8b", {"h100-80gb": 8}, 512, {"sequence_length": 8192}),
    ("Llama 3 70B, 128 H100", LLAMA_70B, {"h100-80gb": 16}, 512, {"sequence_length": 8192}),
    ("Llama 3 70B, 64 H100 + 128 A100", LLAMA_70B, {"h100-80gb": 8, "a100-80gb": 16}, 512, {"sequence_length": 4096}),
    ("Qwen2.5 7B, 32 A100 + 16 L40S", "qwen2.5-7b", {"a100-80gb": 4, "l40s": 4}, 256, {"sequence_length": 4096}),
    ("Qwen2.5 32B, 64 A100-40", QWEN_32B, {"a100-40gb": 8}, 256, {"sequence_length": 4096}),
    ("Mixtral 8x7B, 64 H100", "mixtral-8x7b", {"h100-80gb": 8}, 512, {"sequence_length": 4096}),
    ("Mixtral 8x7B, 32 H100 + 32 A100", "mixtral-8x7b", {"h100-80gb": 4, "a100-80gb": 4}, 256, {"sequence_length": 4096}),
    ("GPT-2 1.5B, 8 V100", GPT2_XL, {"v100-32gb": 1}, 64, {"sequence_length": 1024}),
    ("GPT-2 1.5B, 16 V100 + 8 T4", GPT2_XL, {"v100-16gb": 2, "t4": 2}, 512, {"sequence_length": 1024}),
    ("ResNet-50, 16 V100 + 16 P100", RESNET_50, {"v100-16gb": 2, "p100": 2}, 1024, {"image_size": 224}),
    ("T5-large, 512 A100", T5_LARGE, {"a100-40gb": 64}, 2048, {"sequence_length": 512, "source_length": 512}),
]
SCHEDULES = [("1f1b", None), ("interleaved-1f1b", 2), ("interleaved-1f1b", 4), ("zb-h1", None), ("zb-h2", None), ("zb-v", None),
             ("zeropp", 2), ("zeropp", 4), ("auto", 1), ("auto", 2), ("auto", 4)]
BEATEN = 1.005
ANNEALING = pathlib.Path(os.environ.get("PPTRAIN_ANNEALING", measure.ROOT / "build" / "release" / "benchmarks" / "annealing_benchmark")).resolve()


def cluster_text(nodes):
    text = ['name = "case"']
    for kind in nodes:
        memory, fp32, half, bandwidth = DEVICES[kind]
        rates = f'fp32 = "{fp32} TFLOP/s", bf16 = "{half} TFLOP/s", fp16 = "{half} TFLOP/s"'
        text.append(f'[[device]]\nkind = "{kind}"\nmemory = "{memory}"\nflops = {{ {rates} }}\nmemory_bandwidth = "{bandwidth}"\n'
                    f'reserve = "{RESERVE} GB"')
    for kind, count in nodes.items():
        devices, link, uplink = NODES[kind]
        text.append(f'[[node]]\nkind = "{devices} x {kind}"\ncount = {count}\ndevices = {{ kind = "{kind}", count = {devices} }}\n'
                    f'link = {{ bandwidth = "{link} GB/s", latency = "5 us" }}\n'
                    f'uplink = {{ bandwidth = "{uplink} GB/s", latency = "10 us" }}')
    return "\n".join(text) + "\n"


def job_text(model, batch, keys):
    training = "".join(f"{key} = {value}\n" for key, value in keys.items() if key != "image_size")
    image = f'image_size = {keys["image_size"]}\n' if "image_size" in keys else ""
    return (f'[job]\nname = "case"\n[model]\nfrom = "{model}"\n{image}[training]\n{training}global_batch_size = {batch}\n'
            'precision = "bf16"\n[cluster]\nfile = "cluster.toml"\n[profile]\nanalytic = true\n'
            '[planner]\ntime_limit = "600 s"\n')


def written(folder, case):
    """The job file of a case in a folder."""
    _, model, nodes, batch, keys = case
    path = measure.ROOT / "inputs" / "models" / model if isinstance(model, str) else folder / "model"
    if not isinstance(model, str):
        path.mkdir()
        (path / "config.json").write_text(json.dumps(model))
    (folder / "cluster.toml").write_text(cluster_text(nodes))
    job = folder / "case.toml"
    job.write_text(job_text(path, batch, keys))
    return job


def run(command, job, keys=None, more=()):
    """The JSON answer of a command of pptrain; None where it finds or accepts no plan."""
    sets = [word for key, value in (keys or {}).items() for word in ("--set", f"parallelism.{key}={json.dumps(value)}")]
    words = [str(measure.PPTRAIN), command, str(job), "--format", "json", *sets, *map(str, more)]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(answer.stdout) if answer.returncode == 0 else None


def seconds(document):
    return document["predicted"]["iteration_seconds"] if document else float("inf")


def typed(draw):
    """Keys as somebody types them who knows one or two things about the cluster."""
    keys = {}
    if draw.random() < 0.6:
        keys["zero_stage"] = draw.choice((0, 1, 1, 2, 3))
    if draw.random() < 0.6:
        keys["pipeline"] = draw.choice((1, 2, 2, 4, 4, 8, 16))
    if draw.random() < 0.3:
        keys["tensor"] = draw.choice((1, 2, 4, 8))
    if draw.random() < 0.4:
        keys["recompute"] = draw.choice(("none", "none", "selective", "full"))
    if draw.random() < 0.2:
        keys["micro_batch_size"] = draw.choice((1, 2, 4, 8, 16))
    if draw.random() < 0.6:
        keys["schedule"], chunks = draw.choice(SCHEDULES)
        if chunks:
            keys["virtual_stages"] = chunks
    return keys


def moved_cuts(plan):
    """The plan with each cut between chunks that follow one another moved by a layer to either side."""
    places = sorted((layers[0], s, c) for s, stage in enumerate(plan["stages"]) for c, layers in enumerate(stage["layers"]))
    for (_, s, c), (_, t, d) in zip(places, places[1:]):
        for step in (-1, 1):
            other = json.loads(json.dumps(plan))
            before, behind = other["stages"][s]["layers"][c], other["stages"][t]["layers"][d]
            before[1] += step
            behind[0] += step
            if before[0] < before[1] and behind[0] < behind[1]:
                yield other


def kinds_of(nodes):
    """The kind of each device of a cluster, in its order."""
    return [kind for kind, count in nodes.items() for _ in range(count * NODES[kind][0])]


def room(kind):
    """Bytes of a device that a plan may use."""
    return (float(DEVICES[kind][0].split()[0]) - RESERVE) * 1e9


def simulated_seconds(folder, job, nodes, plan):
    """Seconds of a plan by simulation; infinity where a device has no room for it."""
    path = folder / "given.json"
    path.write_text(json.dumps(plan))
    answer = run("simulate", job, more=("--plan", path))
    kinds = kinds_of(nodes)
    if not answer or any(rank["peak_bytes"] > room(kinds[rank["device"]]) for rank in answer["ranks"]):
        return float("inf")
    return answer["makespan_seconds"]


def others(folder, case, job, own, number, guesses):
    """Seconds of whatever the case is compared with, each with what was done."""
    draw = random.Random(number)
    for _ in range(guesses):
        keys = typed(draw)
        yield seconds(run("plan", job, keys)), " ".join(f"{key}={value}" for key, value in keys.items())
    nodes = case[2]
    for kind in nodes if len(nodes) > 1 else ():
        part = folder / "part.toml"
        part.write_text(cluster_text({other: count for other, count in nodes.items() if other != kind}))
        yield seconds(run("plan", job, more=("--cluster", part))), f"without {kind}"
    if not any(stage.get("blocks") for stage in own["stages"]):
        for plan in moved_cuts(own):
            yield simulated_seconds(folder, job, nodes, plan), "a cut moved by a layer"


def annealed(folder, job, plan, length):
    """Seconds of the best plan of a walk of so many seconds from a plan, on each of two cores."""
    path = folder / "own.json"
    path.write_text(json.dumps(plan))
    words = [str(ANNEALING), str(job), str(path), str(length)]
    walks = [subprocess.Popen([*words, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
             for seed in (1, 2)]
    for walk in walks:
        printed, told = walk.communicate()
        if walk.returncode != 0:
            sys.exit(f"{ANNEALING}: {told}")
        own, best, simulated = printed.split()
        yield float(best), f"annealed, {simulated} plans from {own} s"


def cpu_seconds():
    """CPU seconds of all programs that were run."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(number, guesses, anneal):
    case = CASES[number]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = written(folder, case)
        before = cpu_seconds()
        own = run("plan", job)
        took = cpu_seconds() - before
        found = sorted(others(folder, case, job, own, number, guesses)) if own else []
        if own and anneal:
            found += annealed(folder, job, own, anneal)
        itself = simulated_seconds(folder, job, case[2], own) if own else float("inf")
    best, how = min([(seconds(own), "nothing said"), *found], key=lambda pair: pair[0])
    return {"case": case[0], "seconds": seconds(own), "ratio": seconds(own) / best, "best": how, "compared": len(found),
            "cpu_seconds": took, "fits": itself < float("inf")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guesses", type=int, default=60, help="drawn restrictions of each case (60)")
    parser.add_argument("--case", type=int, nargs="*", help="cases by number, from 0 (all)")
    parser.add_argument("--anneal", type=float, default=0.0, metavar="SECONDS", help="walk from each plan for so long (not at all)")
    options = parser.parse_args()
    rows = []
    for number in options.case if options.case is not None else range(len(CASES)):
        rows.append(measured(number, options.guesses, options.anneal))
        print("{case:33s} {seconds:8.4g} s  planned in {cpu_seconds:5.2f} CPU s  {ratio:.4f} of {compared}: {best}{note}".format(
            note="" if rows[-1]["fits"] else " (does not fit)", **rows[-1]), flush=True)
    if options.case is None:
        measure.save("freedom", rows)
    sys.exit(any(row["ratio"] > BEATEN for row in rows))


if __name__ == "__main__":
    main()
