"""Published runs as inputs of pptrain, and what it predicts of them."""

import csv
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INPUTS = ROOT / "inputs" / "published"
CONSTANTS = ROOT / "src" / "profile" / "fitted_constants.inc"
PREDICTOR = pathlib.Path(os.environ.get("PPTRAIN_PUBLISHED", ROOT / "build" / "release" / "benchmarks" / "published_benchmark"))
# Of both directions of a link a half, in microseconds; no source tells it.
LINK_LATENCY, UPLINK_LATENCY = "5 us", "10 us"
# Peak of dense 16-bit products with sums in fp32 and of fp32 products (TF32 where PyTorch takes it), TFLOP/s, and memory
# bandwidth, GB/s: data sheets of NVIDIA.
RATES = {
    "V100-SXM2-16GB": (125, 900, 15.7), "V100-SXM2-32GB": (125, 900, 15.7),
    "A100-SXM-40GB": (312, 1555, 19.5), "A100-SXM-80GB": (312, 2039, 19.5), "A800-SXM-80GB": (312, 2039, 19.5),
    "H100-SXM-80GB": (989, 3352, 67), "B200-SXM": (2250, 8000, 80), "L40S": (181, 864, 91.6),
    "RTX-3090-Ti": (80, 1008, 40), "RTX-4090": (165, 1008, 82.6), "GH200-96GB": (989, 4000, 494),
}
INTEGERS = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "gpus", "gpus_per_node", "seq", "gbs", "mbs", "tp", "pp",
            "dp", "zero")


class Run:
    """A row of runs.csv."""

    def __init__(self, row, trainer, placed):
        self.row, self.placed = row, placed
        self.id, self.source, self.gpu = row["id"], row["source"], row["gpu"]
        for name in INTEGERS:
            setattr(self, name, int(row[name]))
        self.seconds = float(row["sec_per_iter"])
        self.peak = float(row["peak_gib"]) * 2**30 if row["peak_gib"] else None
        self.like = trainer["like"]
        self.attention = {"y": "fused", "n": "stored"}.get(row["flash"][:1]) if row["flash"] != "not told" else trainer["attention"]
        if self.attention == "stored" and trainer.get("dropout"):
            self.attention = "stored-dropout"
        self.divides = trainer.get("divides", "blocks")
        # What nvidia-smi shows has contexts, buffers of libraries and what an allocator keeps in it; PyTorch's counters of
        # allocations have not.
        self.shown_by_driver = "torch" not in row["peak_kind"]
        self.reserve = 2**30 * trainer.get("reserve_gib", 0) if self.shown_by_driver else 0

    @property
    def gpu_word(self):
        """The word of the name that tells the kind apart."""
        words = self.gpu.lower().split("-")
        return words[1] if words[0] == "rtx" else words[0]

    @property
    def kind(self):
        return self.source, self.gpu

    def config(self):
        row = self.row
        head = ["[job]", f'name = "{self.id}"', "", "[model]"]
        if row["model"].startswith("BERT"):
            return "\n".join(head + ['from = "model"', 'initial = "random"'] + self.settings())
        yes = {name: "true" if row[name] == "yes" else "false" for name in ("gated", "tied", "biases")}
        lines = head + [
            'name = "published"', f"vocabulary_size = {self.vocab}", "", "[[model.layer]]", 'kind = "embedding"',
            f"columns = {self.hidden}", f"positions = {'true' if row['positions'] == 'learned' else 'false'}", "",
            "[[model.layer]]", 'kind = "block"', f"repeat = {self.layers}", f"heads = {self.heads}",
            f"key_heads = {self.kv_heads}", f"feed_forward = {self.ffn}", f"gated = {yes['gated']}",
            f"activation = \"{'silu' if row['gated'] == 'yes' else 'gelu_tanh'}\"", f"norm = \"{row['norm']}\"",
            f"query_bias = {yes['biases']}", f"output_bias = {yes['biases']}", f"feed_forward_bias = {yes['biases']}"]
        if row["positions"] == "rotary":
            lines.append("rotary_theta = 10000.0")
        lines += ["", "[[model.layer]]", 'kind = "output"', f"norm = \"{row['norm']}\"", f"tied = {yes['tied']}"]
        return "\n".join(lines + self.settings())

    def settings(self):
        # Times of layers are computed for up to the batch, of which a micro-batch is all that a replica has at a time.
        return ["", "[training]", f"sequence_length = {self.seq}", f"global_batch_size = {self.mbs}",
                f"precision = \"{self.row['precision']}\"", "", "[parallelism]", f"tensor = {self.tp}", "", "[cluster]",
                'file = "cluster.toml"', "", "[profile]", "analytic = true", f'like = "{self.like}"',
                f'attention = "{self.attention}"',
                f"sequence_parallel = {'true' if self.row['seq_parallel'] == 'yes' else 'false'}", ""]

    def encoder(self):
        """config.json of a BERT."""
        return json.dumps({
            "architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": self.vocab, "hidden_size": self.hidden,
            "num_hidden_layers": self.layers, "num_attention_heads": self.heads, "intermediate_size": self.ffn,
            "max_position_embeddings": self.seq, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
            "pad_token_id": 0, "tie_word_embeddings": True})

    def nodes(self):
        """(kind, devices, GB/s of a link, GB/s of the uplink) of each node."""
        if self.placed:
            return [tuple(node) for node in self.placed["nodes"]]
        links = (self.row["link_GBps"], self.row["uplink_GBps"])
        whole, rest = divmod(self.gpus, self.gpus_per_node)
        return [(self.gpu, self.gpus_per_node, *links)] * whole + ([(self.gpu, rest, *links)] if rest else [])

    def cluster(self):
        lines = [f'name = "{self.id}"', 'emulate = "no"']
        nodes = self.nodes()
        for kind in sorted({node[0] for node in nodes}):
            peak, bandwidth, fp32 = RATES[kind]
            memory = 100 * float(self.row["gpu_memory_gb"])  # a plan that would not fit is priced too
            lines += ["", "[[device]]", f'kind = "{kind}"', f'memory = "{memory:g} GiB"',
                      f'flops = {{ fp32 = "{fp32} TFLOP/s", bf16 = "{peak} TFLOP/s", fp16 = "{peak} TFLOP/s" }}',
                      f'memory_bandwidth = "{bandwidth} GB/s"']
        runs = []
        for node in nodes:
            if runs and runs[-1][0] == node:
                runs[-1][1] += 1
            else:
                runs.append([node, 1])
        for i, ((kind, devices, link, uplink), count) in enumerate(runs):
            lines += ["", "[[node]]", f'kind = "node{i}"', f"count = {count}",
                      f'devices = {{ kind = "{kind}", count = {devices} }}',
                      f'link = {{ bandwidth = "{link} GB/s", latency = "{LINK_LATENCY}" }}',
                      f'uplink = {{ bandwidth = "{uplink} GB/s", latency = "{UPLINK_LATENCY}" }}']
        return "\n".join(lines) + "\n"

    def stage_layers(self):
        """How many layers each stage has, embedding and output counted."""
        if self.placed:
            return [stage["layers"] for stage in self.placed["stages"]]
        if self.divides == "work":
            return self.stages_by_work()
        if self.layers % self.pp == 0:  # blocks alone are divided
            counts = [self.layers // self.pp] * self.pp
            counts[0] += 1
            counts[-1] += 1
            return counts
        return evenly(self.layers + 2, self.pp)

    def stages_by_work(self):
        """Nanotron's division: a stage takes layers until its end is beyond its part of the work, which embeddings have none of."""
        wide = 2 if self.row["gated"] == "no" else 3
        block = (4 * self.hidden + wide * self.ffn) * self.hidden
        work = [0] + [block] * self.layers + [self.vocab * self.hidden]
        counts, done = [0], 0
        for layer in work:
            counts[-1] += 1
            done += layer
            if done * self.pp > sum(work) * len(counts):
                counts.append(0)
        if counts[-1] == 0:  # the last stage has the loss alone, a part of the output layer here; others have a layer or more
            counts[-1] = 1
            counts[-2 if counts[-2] > 1 else -3] -= 1
        return counts

    def devices(self, stage):
        """A row of devices for each replica of a stage."""
        if not self.placed:
            first = stage * self.dp * self.tp
            return [[first + replica * self.tp + k for k in range(self.tp)] for replica in range(self.dp)]
        firsts = [sum(node[1] for node in self.placed["nodes"][:i]) for i in range(len(self.placed["nodes"]))]
        placed = self.placed["stages"][stage]
        return [[firsts[node] + k for k in range(placed["tensor"])] for node in placed["nodes"]]

    def plan(self):
        stages, layer = [], 0
        for stage, count in enumerate(self.stage_layers()):
            devices = self.devices(stage)
            stages.append({"layers": [[layer, layer + count]], "replicas": self.dp, "tensor_parallel": len(devices[0]),
                           "devices": devices, "samples": [[k * self.mbs, (k + 1) * self.mbs] for k in range(self.dp)],
                           "recompute": self.row["recompute"], "zero_stage": self.zero if self.dp > 1 else 0})
            layer += count
        batch = self.mbs * self.dp
        return json.dumps({"schema": "pptrain.plan/1", "global_batch_size": self.gbs, "micro_batch_size": batch,
                           "micro_batches": self.gbs // batch, "schedule": {"name": "1f1b"}, "stages": stages})

    def write(self, folder):
        folder.mkdir(parents=True)
        (folder / "job.toml").write_text(self.config())
        (folder / "cluster.toml").write_text(self.cluster())
        (folder / "plan.json").write_text(self.plan())
        if self.row["model"].startswith("BERT"):
            (folder / "model").mkdir()
            (folder / "model" / "config.json").write_text(self.encoder())


def evenly(count, parts):
    return [count // parts + (1 if part < count % parts else 0) for part in range(parts)]


def read():
    """All runs, in the order of the file."""
    trainers = json.loads((INPUTS / "trainers.json").read_text())
    plans = json.loads((INPUTS / "plans.json").read_text())
    with open(INPUTS / "runs.csv", newline="") as file:
        return [Run(row, trainers[row["trainer"]], plans.get(row["id"])) for row in csv.DictReader(file)]


class Predictor:
    """The program that predicts runs with any constants, kept running."""

    def __init__(self, runs):
        self.folder = tempfile.TemporaryDirectory()
        folders = []
        for run in runs:
            folders.append(pathlib.Path(self.folder.name) / run.id)
            run.write(folders[-1])
        self.process = subprocess.Popen([PREDICTOR, *map(str, folders)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, constants, numbers):
        """Seconds and peak bytes of the runs of these numbers, from 0 on."""
        words = [*map(str, numbers), *(f"{name}={value:.9g}" for name, value in constants.items())]
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        lines = [self.process.stdout.readline() for _ in range(2)]
        if not lines[1]:
            raise SystemExit("published_benchmark ended: " + str(self.process.wait()))
        return list(zip(*([float(word) for word in line.split()] for line in lines)))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def predict(runs, constants=None):
    """(seconds, peak bytes) of each run, by the constants that are built in or these."""
    predictor = Predictor(runs)
    predicted = predictor(constants or {}, range(len(runs)))
    predictor.close()
    return predicted


def read_constants():
    """The constants that the next build has."""
    constants = {}
    for line in CONSTANTS.read_text().splitlines():
        if line.startswith("{"):
            name, value = line.strip("{},").split(", ")
            constants[name.strip('"')] = float(value)
    return constants


def write_constants(constants):
    lines = ["// Written by `./bootstrap.sh bench published --fit`; do not edit."]
    lines += [f'{{"{name}", {value:.4g}}},' for name, value in sorted(constants.items())]
    CONSTANTS.write_text("\n".join(lines) + "\n")
