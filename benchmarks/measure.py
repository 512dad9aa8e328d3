"""What the measuring scripts share: jobs on random tokens, CPU seconds of whole process trees, results as JSON."""

import array
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "benchmarks"
PPTRAIN = pathlib.Path(os.environ.get("PPTRAIN", ROOT / "pptrain"))
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# The two shapes that every comparison uses; `batch` is samples per step.
SMALL = {"name": "L8 H256", "layers": 8, "hidden": 256, "heads": 8, "length": 128, "vocabulary": 4096, "batch": 16}
LLAMA = {**SMALL, "name": "Llama L8 H256", "family": "llama", "key_heads": 4, "feed_forward": 688}
# The others are compared with the networks of transformers. The length of a ViT are its patches, that of a ResNet the pixels of a
# side, that of a T5 its sources and its targets.
BERT = {**SMALL, "name": "BERT L12 H256", "family": "bert", "layers": 12, "feed_forward": 1024}
VIT = {"name": "ViT L6 H192", "family": "vit", "layers": 6, "hidden": 192, "heads": 3, "length": 64, "vocabulary": 10,
       "batch": 16, "feed_forward": 768}
MIXTRAL = {**LLAMA, "name": "Mixtral L8 H256", "family": "mixtral", "feed_forward": 512, "experts": 8}
T5 = {**SMALL, "name": "T5 L4+4 H256", "family": "t5", "layers": 4, "feed_forward": 1024}
RESNET = {"name": "ResNet-50", "family": "resnet", "layers": 50, "hidden": 64, "heads": 1, "length": 64, "vocabulary": 1000, "batch": 16}
RESNET_224 = {**RESNET, "name": "ResNet-50 of 224 x 224", "length": 224, "batch": 4}
GPT2_124M = {"name": "124M", "layers": 12, "hidden": 768, "heads": 12, "length": 64, "vocabulary": 50257, "batch": 4}


def shape_text(shape):
    text = "L{layers} H{hidden} heads {heads} T{length} V{vocabulary} B{batch}".format(**shape)
    if is_llama(shape):
        return "Llama {} key-value heads {key_heads} feed-forward {feed_forward}".format(text, **shape)
    if shape.get("family") == "resnet":
        return "{name}, {length} x {length} pixels, {vocabulary} classes, B{batch}".format(**shape)
    if shape.get("family") == "mixtral":
        text += " key-value heads {key_heads} experts {experts} of {feed_forward}, two chosen".format(**shape)
    names = {"bert": "BERT ", "vit": "ViT ", "mixtral": "Mixtral ", "t5": "T5 "}
    return names.get(shape.get("family"), "") + text


def is_llama(shape):
    return shape.get("family") == "llama"


def is_labelled(shape):
    """Whether the samples of a shape have labels, which pptrain then makes itself."""
    return shape.get("family") in ("bert", "vit", "t5", "resnet")


def is_published(shape):
    """Whether a shape is compared with the network of transformers."""
    return is_labelled(shape) or shape.get("family") == "mixtral"


def description(shape):
    """The config.json of a shape that has a family."""
    if shape["family"] == "resnet":
        return {"model_type": "resnet", "architectures": ["ResNetForImageClassification"], "num_channels": 3,
                "embedding_size": shape["hidden"], "hidden_sizes": [256, 512, 1024, 2048], "depths": [3, 4, 6, 3],
                "layer_type": "bottleneck", "hidden_act": "relu", "id2label": classes(shape)}
    if shape["family"] == "t5":
        return {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": shape["hidden"],
                "num_heads": shape["heads"], "d_kv": shape["hidden"] // shape["heads"], "d_ff": shape["feed_forward"],
                "num_layers": shape["layers"], "num_decoder_layers": shape["layers"], "vocab_size": shape["vocabulary"],
                "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "dropout_rate": 0.0,
                "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1}
    common = {"model_type": shape["family"], "num_hidden_layers": shape["layers"], "hidden_size": shape["hidden"],
              "num_attention_heads": shape["heads"], "intermediate_size": shape["feed_forward"]}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if shape["family"] == "llama":
        return {**common, "num_key_value_heads": shape["key_heads"], "vocab_size": shape["vocabulary"],
                "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
    if shape["family"] == "mixtral":
        return {**common, "architectures": ["MixtralForCausalLM"], "num_key_value_heads": shape["key_heads"],
                "vocab_size": shape["vocabulary"], "num_local_experts": shape["experts"], "num_experts_per_tok": 2,
                "tie_word_embeddings": False, "max_position_embeddings": shape["length"], "sliding_window": None}
    if shape["family"] == "bert":
        return {**common, **dropout, "architectures": ["BertForMaskedLM"], "vocab_size": shape["vocabulary"],
                "max_position_embeddings": shape["length"], "type_vocab_size": 2, "hidden_act": "gelu"}
    side = 4 * int(shape["length"] ** 0.5)
    return {**common, **dropout, "architectures": ["ViTForImageClassification"], "image_size": side, "patch_size": 4,
            "num_channels": 3, "hidden_act": "gelu", "qkv_bias": True,
            "id2label": classes(shape)}


def classes(shape):
    return {str(i): f"class {i}" for i in range(shape["vocabulary"])}


def model_folder(shape):
    """A folder with that config.json."""
    folder = RESULTS / shape["family"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(description(shape), indent=1) + "\n")
    return folder


def model_lines(shape):
    """The section [model] of a shape; the dimensions of families are in a config.json, as their users have them."""
    if "family" not in shape:
        return f"""layers = {shape["layers"]}
hidden_size = {shape["hidden"]}
heads = {shape["heads"]}
vocabulary_size = {shape["vocabulary"]}
tied = true"""
    image = f"\nimage_size = {shape['length']}" if shape["family"] == "resnet" else ""
    return f"from = {json.dumps(str(model_folder(shape)))}\ninitial = \"random\"{image}"


def machine():
    """The machine as lscpu sees it, for the report."""
    fields = {}
    for line in subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines():
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip()
    interesting = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "sve", "bf16")
    flags = set(fields.get("Flags", "").split())
    return {
        "cpu": "{} (family {}, model {})".format(
            fields.get("Model name", "?"), fields.get("CPU family", "?"), fields.get("Model", "?")),
        "cores": os.cpu_count(),
        "flags": [flag for flag in interesting if flag in flags],
    }


def has_bf16():
    """Whether the processor multiplies bf16 in hardware; without it a bf16 step takes many times longer."""
    return any(flag in machine()["flags"] for flag in ("avx512_bf16", "amx_bf16", "bf16"))


def revision():
    """The commit measured, with a plus sign if files were changed."""
    described = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty=+"],
                               capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"


def save(name, rows):
    """Writes build/benchmarks/NAME.json, which report.py turns into docs/performance.md."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    document = {"date": datetime.date.today().isoformat(), "machine": machine(), "revision": revision(), "rows": rows}
    (RESULTS / (name + ".json")).write_text(json.dumps(document, indent=1) + "\n")


def token_file(shape, batches=16):
    """Random tokens, always the same: a header of 256 int32 (magic, version, count), then uint16."""
    count = batches * shape["batch"] * shape["length"] + 1
    path = RESULTS / "tokens-{}-{}.bin".format(shape["vocabulary"], count)
    if not path.exists():
        RESULTS.mkdir(parents=True, exist_ok=True)
        source = random.Random(shape["vocabulary"])
        header = array.array("i", [20240520, 1, count] + [0] * 253)
        tokens = array.array("H", (source.randrange(shape["vocabulary"]) for _ in range(count)))
        path.write_bytes(header.tobytes() + tokens.tobytes())
    return path


def write_config(shape, name, precision="fp32", grid=("auto", "auto", "auto"), micro_batch="auto", schedule="auto"):
    """A CONFIG.toml for the shape; `grid` is (data, pipeline, tensor). Returns its path."""
    def toml(value):
        return json.dumps(value)

    data = "synthetic" if is_labelled(shape) else str(token_file(shape))
    length = "" if shape.get("family") in ("vit", "resnet") else f"sequence_length = {shape['length']}\n"
    if shape.get("family") == "resnet" and micro_batch == "auto":
        micro_batch = shape["batch"]  # batch norms are over a micro-batch, so it has to be said
    text = f"""# Written by benchmarks/measure.py
[job]
name = {toml(name)}
output = {toml(str(RESULTS / "runs"))}
[model]
{model_lines(shape)}
[data]
train = {toml(data)}
[training]
{length}global_batch_size = {shape["batch"]}
micro_batch_size = {toml(micro_batch)}
precision = {toml(precision)}
[optimizer]
learning_rate = 1e-4
gradient_clip = 0.0  # as in peer_torch.py
[parallelism]
data = {toml(grid[0])}
pipeline = {toml(grid[1])}
tensor = {toml(grid[2])}
schedule = {toml(schedule)}
[checkpoint]
at_end = false
"""
    path = RESULTS / (name + ".toml")
    path.write_text(text)
    return path


def run(command, environment=None):
    """Runs a command to its end. Returns CPU seconds and largest resident bytes of its process tree, wall
    seconds, and its output. Ends the script with the command's last lines if it fails."""
    start = time.monotonic()
    # A file, not a pipe: nothing has to be read while the command runs.
    log_path = RESULTS / "last.log"
    with open(log_path, "w+") as log:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    output = log_path.read_text(errors="replace")
    if process.returncode != 0:
        sys.exit("{} failed with {}:\n{}".format(" ".join(map(str, command)), process.returncode,
                                                 "\n".join(output.splitlines()[-30:])))
    return {"cpu": usage.ru_utime + usage.ru_stime, "resident": usage.ru_maxrss * 1024,
            "wall": time.monotonic() - start, "output": output}


def seconds(text):
    """Of a time that pptrain prints for people: "8.1 ms"."""
    number, unit = text.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}[unit]


def launcher_settings():
    """What mpirun needs on this machine, as bootstrap.sh wrote it down."""
    script = ROOT / "env.sh"
    if not script.exists():
        sys.exit("env.sh is missing: run ./bootstrap.sh build first")
    exports = [line.split()[1:] for line in script.read_text().splitlines() if line.startswith("export ")]
    return dict(setting.split("=", 1) for settings in exports for setting in settings)


def train(config, ranks, steps, prefix=()):
    """`steps` steps of pptrain; see run()."""
    return run([*prefix, "mpirun", "-np", ranks, PPTRAIN, config, "--steps", steps],
               {**launcher_settings(), **ONE_THREAD})


def step_cpu_seconds(config, ranks, few, many, prefix=()):
    """CPU seconds per step as the difference of two runs, so that start-up and planning cancel. The
    profile must be in the cache already."""
    short = train(config, ranks, few, prefix)
    long = train(config, ranks, many, prefix)
    return (long["cpu"] - short["cpu"]) / (many - few), long


def latest_run(name):
    """The newest run directory of a job."""
    return max((RESULTS / "runs" / name).iterdir(), key=lambda path: path.stat().st_mtime)
