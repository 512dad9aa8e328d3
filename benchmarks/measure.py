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
GPT2_124M = {"name": "124M", "layers": 12, "hidden": 768, "heads": 12, "length": 64, "vocabulary": 50257, "batch": 4}


def shape_text(shape):
    text = "L{layers} H{hidden} heads {heads} T{length} V{vocabulary} B{batch}".format(**shape)
    return "Llama {} key-value heads {key_heads} feed-forward {feed_forward}".format(text, **shape) if is_llama(shape) else text


def is_llama(shape):
    return shape.get("family") == "llama"


def model_lines(shape):
    """The section [model] of a shape; a Llama's dimensions are in a config.json, as its users have them."""
    if not is_llama(shape):
        return f"""layers = {shape["layers"]}
hidden_size = {shape["hidden"]}
heads = {shape["heads"]}
vocabulary_size = {shape["vocabulary"]}
tied = true"""
    folder = RESULTS / "llama"
    folder.mkdir(parents=True, exist_ok=True)
    description = {"model_type": "llama", "num_hidden_layers": shape["layers"], "hidden_size": shape["hidden"],
                   "num_attention_heads": shape["heads"], "num_key_value_heads": shape["key_heads"],
                   "intermediate_size": shape["feed_forward"], "vocab_size": shape["vocabulary"],
                   "rms_norm_eps": 1e-5, "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(description, indent=1) + "\n")
    return f"from = {json.dumps(str(folder))}\ninitial = \"random\""


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

    text = f"""# Written by benchmarks/measure.py
[job]
name = {toml(name)}
output = {toml(str(RESULTS / "runs"))}
[model]
{model_lines(shape)}
[data]
train = {toml(str(token_file(shape)))}
[training]
sequence_length = {shape["length"]}
global_batch_size = {shape["batch"]}
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
