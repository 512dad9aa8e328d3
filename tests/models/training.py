"""Training runs of a Hugging Face model under the conventions of tests/data/models/README.md."""

import contextlib

import h5py
import numpy
import torch
import torch.overrides
import transformers

import dropout
import optimizers
import vgg

BATCH = 4
STEPS = 20
OPTIMIZER = {"name": "adamw", "lr": 1e-3, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1, "clip": 1.0}
TOKEN_HEADER = 256 * 4  # bytes
DEFAULT_SEED = 1234  # of pptrain's jobs
NO_TARGET = -100  # of a position whose token is not to be predicted
PADDING = 0  # fills sources up behind their end, and is what decoders begin with


def read_tokens(path):
    """The tokens of a file as pptrain reads it."""
    data = path.read_bytes()
    magic, _, count = numpy.frombuffer(data[:12], dtype="<i4")
    width = {20240520: "<u2", 20240801: "<u4"}[int(magic)]
    tokens = numpy.frombuffer(data[TOKEN_HEADER:], dtype=width)
    assert len(tokens) == count, f"{path} has {len(tokens)} tokens, its header says {count}"
    return torch.from_numpy(tokens.astype(numpy.int64))


def write_tokens(path, tokens):
    """A file that pptrain reads, of 16 bits where they do."""
    magic, version, width = (20240520, 1, "<u2") if tokens.max() < 2**16 else (20240801, 7, "<u4")
    header = numpy.zeros(256, dtype="<i4")
    header[:3] = magic, version, len(tokens)
    path.write_bytes(header.tobytes() + tokens.numpy().astype(width).tobytes())


def load(folder, dtype=torch.float32):
    """The model of a folder, of the class that its config.json names."""
    own = vgg.load(folder)
    if own is not None:
        return own
    config = transformers.AutoConfig.from_pretrained(folder)
    of_class = getattr(transformers, (config.architectures or ["AutoModelForCausalLM"])[0])
    config._experts_implementation = "eager"  # others have no fp64
    return of_class.from_pretrained(folder, config=config, dtype=dtype, attn_implementation="eager").train()


def from_pairs(source, target):
    """What a model is given of sources and targets: padding is not attended to, and the decoder reads the targets one place
    later."""
    seen = (source != PADDING).flip(1).cumsum(1).clamp(max=1).flip(1)
    decoder = torch.cat([torch.full_like(target[:, :1], PADDING), target[:, :-1]], 1)
    return {"input_ids": source, "attention_mask": seen, "decoder_input_ids": decoder.where(decoder != NO_TARGET, PADDING),
            "labels": target}


def read_samples(path):
    """What a data.h5 has, by the names of the model's arguments; "labels" are what is to be predicted."""
    with h5py.File(path, "r") as file:
        arrays = {name: values[:] for name, values in file.items()}
    if "source" in arrays:
        return from_pairs(*(torch.from_numpy(arrays[name].astype(numpy.int64)) for name in ("source", "target")))
    return {"pixel_values" if name == "images" else name: torch.from_numpy(
        values if values.dtype == numpy.float32 else values.astype(numpy.int64)) for name, values in arrays.items()}


def write_samples(path, samples):
    """A data.h5 that pptrain reads."""
    if "decoder_input_ids" in samples:
        samples = {"source": samples["input_ids"], "target": samples["labels"]}
    with h5py.File(path, "w") as file:
        for name, values in samples.items():
            images = name == "pixel_values"
            file["images" if images else name] = values.numpy().astype("float32" if images else "int32")


def learning_rate(optimizer, step, steps):
    """Step counts from 1. Linear warm-up and cosine where `warmup` is there, else constant."""
    peak, warmup, lowest = optimizer["lr"], optimizer.get("warmup"), optimizer.get("min_lr", 0.0)
    if warmup is None:
        return peak
    if step <= warmup:
        return peak * step / warmup
    return lowest + (peak - lowest) / 2 * (1 + numpy.cos(numpy.pi * (step - warmup) / (steps - warmup)))


class KeepDouble(torch.overrides.TorchFunctionMode):
    """While it is entered what asks for fp32 gets fp64: norms, softmax and rotary positions of transformers convert to
    fp32 whatever the model's type is."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.float:
            return args[0].double()
        args = tuple(torch.float64 if one is torch.float32 else one for one in args)
        kwargs = {key: torch.float64 if one is torch.float32 else one for key, one in (kwargs or {}).items()}
        return function(*args, **kwargs)


def file_tensors(name, tensor):
    """The parts of a parameter, or of what belongs to its elements, by the names of their tensors in a file: transformers has
    the weights of all experts in one parameter."""
    part, _, last = name.rpartition(".")
    if not part.endswith(".experts"):
        return {name: tensor}
    halves = {"gate_up_proj": ("gate_proj", "up_proj"), "down_proj": ("down_proj",)}[last]
    return {f"{part}.{expert}.{half}.weight": values for expert, of_expert in enumerate(tensor)
            for half, values in zip(halves, of_expert.chunk(len(halves)))}


def by_tensor(values):
    """The tensors of files by name, of those of the parameters by name."""
    return {key: part for name, tensor in values.items() for key, part in file_tensors(name, tensor).items()}


class Decisions:
    """The smallest distance from where a run would go on otherwise, while it watches: of a ReLU's input from 0 ("kink"), of a
    chosen expert's logit from that of one that is not ("router")."""

    def __init__(self, model):
        self.smallest, self.kind = None, None
        keys = ("activation_function", "dense_act_fn")
        for name, module in model.named_modules():
            if any(getattr(model.config, key, None) == "relu" for key in keys) and name.endswith((".fc1", ".wi")):
                self.watch(module, "kink", lambda output: output.abs())
            elif name.endswith(".mlp.gate"):
                chosen = model.config.num_experts_per_tok
                self.watch(module, "router", lambda output, k=chosen: -output[0].topk(k + 1).values.diff()[:, -1])

    def watch(self, module, kind, distances):
        self.kind = kind

        def look(_module, _inputs, output):
            distance = distances(output).detach().min().item()
            self.smallest = distance if self.smallest is None else min(self.smallest, distance)

        module.register_forward_hook(look)

    def figures(self):
        return {} if self.smallest is None else {self.kind: self.smallest}


class Run:
    """A run: losses before each update, gradient norms before clipping, and what is compared per tensor."""

    options = {"use_cache": False}  # of every call of the model

    def __init__(self, model, tokens, length, batch=BATCH, steps=STEPS, optimizer=None, parts=None, decays=None,
                 stop_after=None, z_loss=0.0, label_smoothing=0.0, drop=0.0, router_aux_loss=0.0,
                 per_layer=False):
        """`parts`: samples of each micro-batch; `decays`: whether a parameter of this name and shape decays;
        `stop_after`: steps of the `steps` that the schedule counts with; `z_loss`: weight of the squared logarithm of
        the softmax's sum; `label_smoothing`: part of each target that all classes share alike;
        `drop`: rate of dropout, with the seed of a job that names none;
        `router_aux_loss`: of the experts' balance in each micro-batch, of each layer or over all layers together."""
        self.losses, self.grad_norms, self.learning_rates = [], [], []
        self.model, self.tokens, self.batch, self.length = model, tokens, batch, length
        self.optimizer = optimizer or OPTIMIZER
        self.z_loss, self.label_smoothing, self.router_aux_loss, self.per_layer = z_loss, label_smoothing, router_aux_loss, per_layer
        self.dropout = dropout.Dropout(model, drop, DEFAULT_SEED) if drop else None
        self.parts = parts or [batch]
        self.decisions = Decisions(model)
        self.parameters = dict(model.named_parameters())
        self.largest_gradient = by_tensor({name: torch.zeros_like(p) for name, p in self.parameters.items()})
        made = optimizers.make(self.optimizer, self.parameters, decays or (lambda name, p: p.dim() >= 2))
        for step in range(1, (stop_after or steps) + 1):
            self.step(made, step, steps)
        self.final_norms = {name: p.detach().double().norm().item() for name, p in by_tensor(self.parameters).items()}

    def step(self, made, step, steps):
        inputs, targets = self.take(step)
        for optimizer in made:
            optimizer.zero_grad()
        loss = 0.0
        first = 0
        for part in self.parts:
            x = {name: values[first:first + part] for name, values in inputs.items()}
            if self.dropout:
                self.dropout.first_sample = (step - 1) * self.batch + first
            loss += self.pass_through(x, targets[first:first + part], (targets != NO_TARGET).sum())
            first += part
        self.losses.append(loss)
        gradients = by_tensor({name: p.grad for name, p in self.parameters.items()})
        if step == 1:
            self.step0_norms = {name: gradient.double().norm().item() for name, gradient in gradients.items()}
        for name, gradient in gradients.items():
            self.largest_gradient[name] = torch.maximum(self.largest_gradient[name], gradient.abs())
        clip = self.optimizer["clip"]
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), clip or float("inf"), foreach=False)
        self.grad_norms.append(norm.item())
        self.learning_rates.append(float(learning_rate(self.optimizer, step, steps)))
        for optimizer in made:
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rates[-1] * group.get("share", 1.0)
            optimizer.step()

    def take(self, step):
        """What the model is given in a step, by argument, and the targets of the rows of its logits."""
        begin, count = (step - 1) * self.batch * self.length, self.batch * self.length
        return ({"input_ids": self.tokens[begin:begin + count].view(self.batch, self.length)},
                self.tokens[begin + 1:begin + 1 + count].view(self.batch, self.length))

    def pass_through(self, x, y, count):
        """Forward and backward of a micro-batch: its share of the mean over the global batch."""
        with KeepDouble() if self.model.dtype is torch.float64 else contextlib.nullcontext():
            results = self.model(**x, **self.options, **({"output_router_logits": True} if self.router_aux_loss else {}))
            logits = results.logits
        if not hasattr(self, "first_logits"):
            self.first_logits = logits[0].detach().clone()
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.flatten(), reduction="sum",
                                                 label_smoothing=self.label_smoothing) / count
        if self.z_loss:
            loss = loss + self.z_loss * logits.logsumexp(-1).square().sum() / count
        if self.router_aux_loss:
            rows = results.router_logits if self.per_layer else [torch.cat(results.router_logits)]
            balances = [self.balance(of_layer) for of_layer in rows]
            loss = loss + self.router_aux_loss * len(y) / self.batch * sum(balances) / len(balances)
        loss.backward()
        return loss.item()


    def balance(self, logits):
        """Experts times the sum over them of the share of tokens that chose one and its mean probability."""
        probabilities = logits.softmax(-1)
        chosen = probabilities.topk(self.model.config.num_experts_per_tok, -1).indices
        shares = torch.nn.functional.one_hot(chosen, logits.shape[-1]).to(logits.dtype).sum(1).mean(0)
        return logits.shape[-1] * (shares * probabilities.mean(0)).sum()


class LabelledRun(Run):
    """A run over the samples of a data.h5, step after step and from its end on to its beginning."""

    options = {}

    def __init__(self, model, samples, **options):
        self.samples = samples
        super().__init__(model, None, 0, **options)

    def take(self, step):
        rows = (torch.arange(self.batch) + (step - 1) * self.batch) % len(self.samples["labels"])
        taken = {name: values[rows] for name, values in self.samples.items()}
        return taken, taken.pop("labels")
