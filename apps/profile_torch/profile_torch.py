#!/usr/bin/env python3
"""Times the layers of a model with PyTorch alone, where the GPUs are, for `pptrain plan` to use anywhere.

    python3 profile_torch.py MODEL -o profile.json                  # one GPU, or the host where there is none
    torchrun --nproc-per-node 8 profile_torch.py MODEL -o profile.json --cluster cluster.toml
    python3 profile_torch.py --merge a100.json t4.json -o profile.json

MODEL is a config.json of Hugging Face's, or the folder that has it; weights are not needed. A block is timed once, forward,
for the gradients of its inputs and for those of its weights, with growing micro-batches and as a member of tensor-parallel
groups, which has a part of its heads and columns; so are the embedding, the output layer with the loss, and AdamW's step over
each. Under torchrun one GPU of each kind does so, and the links between GPUs and between nodes are measured for --cluster.
This file needs nothing else of pptrain: copy it to the cluster, and its results back."""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import sys
import time

BAD_INPUT = 2
SCHEMA = "pptrain.profile/1"
FAMILIES = ("gpt2", "llama", "mistral", "qwen2", "qwen3")
# Bytes of a weight, of its gradient, and of what the optimizer keeps (in 16 bits with a copy of the weight in fp32).
STATE = {"fp32": (4, 4, 8), "bf16": (2, 4, 12), "fp16": (2, 4, 12)}
WARM_UPS, LEAST_RUNS, MOST_RUNS, TIMED_SECONDS = 2, 3, 20, 0.3
MESSAGE_BYTES = 64 * 2**20


def fail(place, problem, reason, suggestion):
    print(f"profile_torch: error: {place}: {problem} ({reason}); {suggestion}", file=sys.stderr)
    sys.exit(BAD_INPUT)


try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn import functional
except ImportError:
    fail("profile_torch.py", "PyTorch cannot be imported", f"{sys.executable} does not have it",
         "run it with the Python that training uses")


@dataclasses.dataclass
class Shape:
    """What the layers of a decoder depend on."""
    family: str
    hidden: int
    heads: int
    key_heads: int
    head_size: int
    columns: int
    layers: int
    vocabulary: int
    positions: int  # that are learned; 0: they are rotated
    gated: bool
    biases: bool  # of all products
    query_biases: bool  # of queries, keys and values
    head_norms: bool  # of queries and keys


def read_object(path):
    """A JSON file that holds an object."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        fail(path, "cannot be read", problem.strerror, "check the path")
    except ValueError as problem:
        fail(path, "is no JSON", str(problem).splitlines()[0], "check the path")
    if not isinstance(document, dict):
        fail(path, "is no JSON object", f"it holds a {type(document).__name__}", "check the path")
    return document


def read_shape(model):
    """The shape of the model of a config.json."""
    path = pathlib.Path(model)
    path = path / "config.json" if path.is_dir() else path
    config = read_object(path)
    family = config.get("model_type")
    if family not in FAMILIES:
        fail(path, f"model_type = {json.dumps(family)}", f"this file times {', '.join(FAMILIES)}",
             "use `pptrain plan --model`, which computes the times of every family")

    def size(*names, default=None):
        value = next((config[name] for name in names if config.get(name) is not None), default)
        if not isinstance(value, int) or value < 1:
            fail(path, f"{names[0]} = {json.dumps(value)}", "it has to be a whole number from 1 on", "correct it")
        return value

    is_gpt2 = family == "gpt2"
    hidden = size("n_embd", "hidden_size") if is_gpt2 else size("hidden_size")
    heads = size("n_head", "num_attention_heads") if is_gpt2 else size("num_attention_heads")
    shape = Shape(family=family, hidden=hidden, heads=heads,
                  key_heads=heads if is_gpt2 else size("num_key_value_heads", default=heads),
                  head_size=size("head_dim", default=max(1, hidden // heads)),
                  columns=size("n_inner", default=4 * hidden) if is_gpt2 else size("intermediate_size"),
                  layers=size("n_layer", "num_hidden_layers") if is_gpt2 else size("num_hidden_layers"),
                  vocabulary=size("vocab_size"),
                  positions=size("n_positions") if is_gpt2 else 0, gated=not is_gpt2, biases=is_gpt2,
                  query_biases=is_gpt2 or family == "qwen2" or bool(config.get("attention_bias", False)),
                  head_norms=family == "qwen3")
    if shape.heads % shape.key_heads != 0:
        fail(path, f"{shape.heads} heads and {shape.key_heads} key heads", "the first are a multiple of the second",
             "correct num_key_value_heads")
    return shape


def norm(shape, size):
    return nn.LayerNorm(size) if shape.family == "gpt2" else nn.RMSNorm(size)


def rotated(x, angles):
    """Heads with each pair of columns turned by the angle of its position."""
    first, second = x.chunk(2, dim=-1)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class Block(nn.Module):
    """A block as a member of a tensor-parallel group has it."""

    def __init__(self, shape, members):
        super().__init__()
        self.shape = shape
        self.heads = shape.heads // members
        self.key_heads = max(1, shape.key_heads // members)
        size, hidden, columns = shape.head_size, shape.hidden, shape.columns // members
        self.first_norm, self.second_norm = norm(shape, hidden), norm(shape, hidden)
        self.queries = nn.Linear(hidden, self.heads * size, bias=shape.query_biases)
        self.keys_values = nn.Linear(hidden, 2 * self.key_heads * size, bias=shape.query_biases)
        self.out = nn.Linear(self.heads * size, hidden, bias=shape.biases)
        self.up = nn.Linear(hidden, columns * (2 if shape.gated else 1), bias=shape.biases)
        self.down = nn.Linear(columns, hidden, bias=shape.biases)
        if shape.head_norms:
            self.query_norm, self.key_norm = nn.RMSNorm(size), nn.RMSNorm(size)

    def attention(self, x):
        samples, tokens, _ = x.shape
        queries = self.queries(x).view(samples, tokens, self.heads, self.shape.head_size).transpose(1, 2)
        keys, values = self.keys_values(x).chunk(2, dim=-1)
        keys = keys.view(samples, tokens, self.key_heads, self.shape.head_size).transpose(1, 2)
        values = values.view(samples, tokens, self.key_heads, self.shape.head_size).transpose(1, 2)
        if self.shape.head_norms:
            queries, keys = self.query_norm(queries), self.key_norm(keys)
        if self.shape.positions == 0:
            half = self.shape.head_size // 2
            rates = 1e4 ** (-torch.arange(half, device=x.device) / half)
            angles = torch.arange(tokens, device=x.device)[:, None] * rates
            queries, keys = rotated(queries, angles), rotated(keys, angles)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True,
                                                        enable_gqa=self.heads != self.key_heads)
        return self.out(mixed.transpose(1, 2).reshape(samples, tokens, -1))

    def forward(self, x):
        x = x + self.attention(self.first_norm(x))
        inner = self.up(self.second_norm(x))
        if not self.shape.gated:
            return x + self.down(functional.gelu(inner, approximate="tanh"))
        gate, up = inner.chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)


class Embedding(nn.Module):
    def __init__(self, shape, members):
        super().__init__()
        self.words = nn.Embedding(-(-shape.vocabulary // members), shape.hidden)
        self.places = nn.Embedding(shape.positions, shape.hidden) if shape.positions else None

    def forward(self, tokens):
        rows = self.words(tokens)
        return rows if self.places is None else rows + self.places.weight[: tokens.shape[1]]


class Output(nn.Module):
    """Norm, output layer and loss."""

    def __init__(self, shape, members):
        super().__init__()
        self.norm = norm(shape, shape.hidden)
        self.words = nn.Linear(shape.hidden, -(-shape.vocabulary // members), bias=False)

    def forward(self, x):
        logits = self.words(self.norm(x)).float()
        targets = torch.zeros(logits.shape[:2], dtype=torch.long, device=x.device)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Device:
    """What is timed, and how its clock is read."""

    def __init__(self, local_rank, kind):
        self.is_gpu = torch.cuda.is_available()
        self.device = torch.device("cuda", local_rank) if self.is_gpu else torch.device("cpu")
        if self.is_gpu:
            torch.cuda.set_device(self.device)
        self.kind = kind or self.own_kind()

    def own_kind(self):
        """The name that PyTorch has for it, as pptrain writes kinds: a100-sxm4-40gb."""
        name = torch.cuda.get_device_name(self.device) if self.is_gpu else "cpu"
        words = [word for word in name.lower().split() if word not in ("nvidia", "tesla", "amd", "geforce", "instinct")]
        return "-".join(words)

    def memory(self):
        if self.is_gpu:
            return torch.cuda.get_device_properties(self.device).total_memory
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def seconds(self, timed, before=None):
        """Median seconds of `timed`, which gets what `before` returns; only the former is timed."""
        times = []
        for run in range(WARM_UPS + MOST_RUNS):
            argument = before() if before else None
            self.finish()
            start = time.perf_counter()
            timed(argument)
            self.finish()
            if run >= WARM_UPS:
                times.append(time.perf_counter() - start)
            if len(times) >= LEAST_RUNS and sum(times) > TIMED_SECONDS:
                break
        return statistics.median(times)

    def finish(self):
        if self.is_gpu:
            torch.cuda.synchronize(self.device)


def stored_bytes(layer, x):
    """Bytes that PyTorch keeps of a forward pass for the backward pass, parameters left out."""
    parameters = {parameter.untyped_storage().data_ptr() for parameter in layer.parameters()}
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)  # the tensor stays, so that no other one takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = layer(x)
    del result
    return sum(size for size, _ in kept.values())


class Timer:
    """Times layers of one shape on one device."""

    def __init__(self, shape, device, options):
        self.shape, self.device, self.options = shape, device, options
        self.type = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[options.precision]

    def inputs(self, layer, samples):
        size = (samples, self.options.sequence_length)
        if isinstance(layer, Embedding):
            return torch.randint(layer.words.num_embeddings, size, device=self.device.device)
        return torch.randn(*size, self.shape.hidden, device=self.device.device, dtype=self.type, requires_grad=True)

    def row(self, layer, members, samples):
        """A row of `seconds`: forward, gradients of inputs, and what those of weights take beyond them."""
        run = torch.compile(layer) if self.options.compile else layer
        x = self.inputs(layer, samples)
        has_input = x.requires_grad
        gradient = torch.ones_like(run(x))
        parameters = list(layer.parameters())

        def forward(_=None):
            return run(x)

        forward_seconds = self.device.seconds(forward)
        both = self.device.seconds(
            lambda y: torch.autograd.grad(y, ([x] if has_input else []) + parameters, gradient, allow_unused=True), forward)
        inputs_alone = 0.0
        if has_input:
            for parameter in parameters:
                parameter.requires_grad_(False)
            inputs_alone = min(both, self.device.seconds(lambda y: torch.autograd.grad(y, x, gradient), forward))
            for parameter in parameters:
                parameter.requires_grad_(True)
        return {"device": self.device.kind, "tensor_parallel": members, "samples": samples, "forward": forward_seconds,
                "backward_input": inputs_alone, "backward_weight": both - inputs_alone}

    def update_seconds(self, layer):
        optimizer = torch.optim.AdamW(layer.parameters(), fused=self.device.is_gpu)
        for parameter in layer.parameters():
            parameter.grad = torch.zeros_like(parameter)
        return self.device.seconds(lambda _: optimizer.step())

    def rows(self, make):
        """Rows of one layer for all degrees and micro-batches, its steps of the optimizer, and what it stores of a sample."""
        rows, updates, stored = [], [], 0
        for members in self.options.tensor:
            layer = make(self.shape, members).to(self.device.device, self.type)
            updates.append({"device": self.device.kind, "tensor_parallel": members, "seconds": self.update_seconds(layer)})
            for samples in self.options.samples:
                try:
                    rows.append(self.row(layer, members, samples))
                    if members == 1:
                        stored = stored_bytes(layer, self.inputs(layer, samples)) / samples
                except torch.cuda.OutOfMemoryError:
                    torch.cuda.empty_cache()
                    print(f"{make.__name__} with {samples} samples, degree {members}: out of memory, left out", file=sys.stderr)
                    break
        return rows, updates, stored


def num_parameters(layer):
    return sum(parameter.numel() for parameter in layer.parameters())


def undivided_parameters(shape, make):
    """Parameters that each member of a group holds: those that are as large in a part of the layer."""
    whole, part = make(shape, 1), make(shape, 2)
    return sum(a.numel() for a, b in zip(whole.parameters(), part.parameters()) if a.shape == b.shape)


def layer_entries(shape, options, rows, updates, stored):
    """The chain of layers of PROFILE.json; `rows`, `updates` and `stored` by module."""
    activation = options.sequence_length * shape.hidden * (4 if options.precision == "fp32" else 2)
    # Two sums forward and two backward in a block; one forward over the embedding, one backward over the output layer.
    sums = {Embedding: activation / 2, Block: 2 * activation, Output: activation / 2}
    names = {"embedding": Embedding, **{f"block.{i}": Block for i in range(shape.layers)}, "output": Output}
    entries = []
    for name, make in names.items():
        with torch.device("meta"):
            parameters, undivided = num_parameters(make(shape, 1)), undivided_parameters(shape, make)
        entries.append({"name": name, "parameters": parameters, "undivided_parameters": undivided,
                        "output_bytes": 0 if make is Output else activation, "stored_bytes": stored[make],
                        "tensor_parallel_allreduce_bytes": sums[make], "seconds": rows[make], "update": updates[make]})
    return entries


def profile_document(shape, options, measured):
    """PROFILE.json of what was measured, a dictionary of (rows, updates, stored) by module for each kind of device."""
    rows = {make: sum((kind[make][0] for kind in measured), []) for make in (Embedding, Block, Output)}
    updates = {make: sum((kind[make][1] for kind in measured), []) for make in (Embedding, Block, Output)}
    stored = {make: max(kind[make][2] for kind in measured) for make in (Embedding, Block, Output)}
    weight, gradient, optimizer = STATE[options.precision]
    how = "compiled" if options.compile else "eager"
    return {"schema": SCHEMA, "model": shape.family,
            "source": f"profile_torch.py: PyTorch {torch.__version__}, {how}, {options.precision}, "
                      f"{options.sequence_length} tokens a sample",
            "bytes_per_parameter": {"weight": weight, "gradient": gradient, "optimizer": optimizer},
            "layers": layer_entries(shape, options, rows, updates, stored)}


def merged(paths):
    """Profiles of one model on several kinds of device as one."""
    documents = [read_object(pathlib.Path(path)) for path in paths]
    first = documents[0]

    def same(layer, other):
        return all(layer.get(key) == other.get(key) for key in ("name", "parameters", "output_bytes"))

    for path, document in zip(paths, documents):
        if document.get("schema") != SCHEMA:
            fail(path, f"schema = {json.dumps(document.get('schema'))}", f"a profile has {SCHEMA}", "check the path")
        alike = len(document["layers"]) == len(first["layers"]) and all(
            same(layer, other) for layer, other in zip(document["layers"], first["layers"]))
        if not alike:
            fail(path, f"other layers than {paths[0]}", "profiles of one model with samples of one length are merged",
                 "measure both with the same MODEL and --sequence-length")
    for path, document in zip(paths[1:], documents[1:]):
        known = {row["device"] for layer in first["layers"] for row in layer["seconds"]}
        more = {row["device"] for layer in document["layers"] for row in layer["seconds"]}
        if known & more:
            fail(path, f"times of {', '.join(sorted(known & more))} again", "each kind of device is in one of the files",
                 "leave one out, or name the kind by --kind when measuring")
        for layer, other in zip(first["layers"], document["layers"]):
            layer["seconds"] += other["seconds"]
            layer["update"] = layer.get("update", []) + other.get("update", [])
            layer["stored_bytes"] = max(layer["stored_bytes"], other["stored_bytes"])
    return first


class Ranks:
    """The processes that torchrun has started; one where it has not."""

    def __init__(self):
        self.number = int(os.environ.get("WORLD_SIZE", 1))
        self.own = int(os.environ.get("RANK", 0))
        self.local = int(os.environ.get("LOCAL_RANK", 0))
        self.on_node = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
        if self.number > 1:
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")

    def gathered(self, value):
        if self.number == 1:
            return [value]
        values = [None] * self.number
        dist.all_gather_object(values, value)
        return values

    def send_seconds(self, device, pairs, size):
        """Seconds of one transfer from the first to the second of each pair of ranks, all at a time; the slowest."""
        buffer = torch.zeros(size, dtype=torch.uint8, device=device.device)

        def transfer(_):
            for first, second in pairs:
                if self.own == first:
                    dist.send(buffer, second)
                elif self.own == second:
                    dist.recv(buffer, first)

        transfer(None)
        times = []
        for _ in range(LEAST_RUNS):
            dist.barrier()
            start = time.perf_counter()
            transfer(None)
            device.finish()
            times.append(time.perf_counter() - start)
        return max(self.gathered(min(times)))

    def link(self, device, pairs):
        """Bandwidth of all pairs together in bytes per second, and latency in seconds."""
        latency = self.send_seconds(device, pairs[:1], 8)
        return len(pairs) * MESSAGE_BYTES / self.send_seconds(device, pairs, MESSAGE_BYTES), latency


def link_text(bandwidth, latency):
    return f'{{ bandwidth = "{bandwidth / 1e9:.4g} GB/s", latency = "{latency * 1e6:.3g} us" }}'


def cluster_text(ranks, device):
    """CLUSTER.toml of the nodes that torchrun has started on. Links are those of the first two GPUs and nodes."""
    kinds = ranks.gathered((device.kind, device.memory()))
    link = ranks.link(device, [(0, 1)]) if ranks.on_node > 1 else None
    uplink = None
    if ranks.number > ranks.on_node:
        uplink = ranks.link(device, [(i, ranks.on_node + i) for i in range(ranks.on_node)])
    lines = ['name = "measured by profile_torch.py"']
    for kind, memory in dict(kinds).items():
        lines += ["", "[[device]]", f'kind = "{kind}"', f"memory = {memory}"]
    nodes = [kinds[first][0] for first in range(0, ranks.number, ranks.on_node)]
    for kind in dict.fromkeys(nodes):
        lines += ["", "[[node]]", f'kind = "{ranks.on_node} x {kind}"', f"count = {nodes.count(kind)}",
                  f'devices = {{ kind = "{kind}", count = {ranks.on_node} }}']
        if link:
            lines.append(f"link = {link_text(*link)}")
        if uplink:
            lines.append(f"uplink = {link_text(*uplink)}")
    return "\n".join(lines) + "\n"


def counts(text):
    values = sorted({int(word) for word in text.split(",")})
    if values[0] < 1:
        raise ValueError
    return values


def parsed_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="config.json, or the folder that has it")
    parser.add_argument("-o", "--output", required=True, metavar="PROFILE.json", help="the file to write")
    parser.add_argument("--cluster", metavar="CLUSTER.toml", help="also measure the links, and write the cluster there")
    parser.add_argument("--merge", nargs="+", metavar="PROFILE.json", help="join profiles of several kinds of device")
    parser.add_argument("--precision", choices=tuple(STATE), help="default: bf16 on a GPU, else fp32")
    parser.add_argument("--sequence-length", type=int, metavar="T",
                        help="tokens of a sample (2048, or as many as the model has positions)")
    parser.add_argument("--samples", type=counts, default=[1, 2, 4, 8], metavar="N,...", help="micro-batches (1,2,4,8)")
    parser.add_argument("--tensor", type=counts, default=[1, 2, 4, 8], metavar="N,...", help="degrees (1,2,4,8)")
    parser.add_argument("--compile", action="store_true", help="time layers as torch.compile makes them")
    parser.add_argument("--kind", help="name of the kind of device (default: as PyTorch calls it)")
    return parser.parse_args()


def check_options(options):
    if options.merge:
        return
    if not options.model:
        fail("command line", "no model", "neither MODEL nor --merge is given", "add a config.json, or its folder")
    if options.sequence_length is not None and options.sequence_length < 1:
        fail("command line", f"--sequence-length {options.sequence_length}", "a sample has at least one token",
             "use as many as you train with")


def write(path, text):
    """Writes the whole file or none of it."""
    part = pathlib.Path(f"{path}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as problem:
        fail(path, "cannot be written", problem.strerror, "check the folder")


def measure(options):
    shape = read_shape(options.model)
    options.sequence_length = options.sequence_length or min(2048, shape.positions or 2048)
    if shape.positions and options.sequence_length > shape.positions:
        fail("command line", f"--sequence-length {options.sequence_length}",
             f"the model has {shape.positions} learned positions", f"use at most {shape.positions}")
    possible = [n for n in options.tensor if shape.heads % n == 0 and shape.columns % n == 0]
    if 1 not in possible:
        possible.insert(0, 1)
    options.tensor = possible
    ranks = Ranks()
    device = Device(ranks.local, options.kind)
    options.precision = options.precision or ("bf16" if device.is_gpu else "fp32")
    kinds = ranks.gathered(device.kind)
    own = None
    if kinds.index(device.kind) == ranks.own:
        timer = Timer(shape, device, options)
        own = {make: timer.rows(make) for make in (Embedding, Block, Output)}
    measured = [kind for kind in ranks.gathered(own) if kind]
    cluster = cluster_text(ranks, device) if options.cluster else None
    if ranks.own == 0:
        write(options.output, json.dumps(profile_document(shape, options, measured), indent=1) + "\n")
        print(f"Wrote {options.output}: {shape.layers + 2} layers on {', '.join(dict.fromkeys(kinds))}")
        if cluster:
            write(options.cluster, cluster)
            print(f"Wrote {options.cluster}: {ranks.number // ranks.on_node} nodes of {ranks.on_node} devices")
    if ranks.number > 1:
        dist.destroy_process_group()


def main():
    options = parsed_options()
    check_options(options)
    if options.merge:
        write(options.output, json.dumps(merged(options.merge), indent=1) + "\n")
        print(f"Wrote {options.output}: {len(options.merge)} profiles in one")
        return
    measure(options)


if __name__ == "__main__":
    main()
