#!/usr/bin/env python3
"""Makes references of model families: folders as save_pretrained of transformers writes them, with random weights, data
and the losses of twenty training steps. Needs torch, transformers and safetensors from PyPI; nothing is downloaded.

    make_references.py FOLDER                         # every family, as FOLDER/mistral and so on
    make_references.py FOLDER --family opt qwen3      # these
    make_references.py FOLDER --optimizers FOLDER/llama  # SGD, Lion, other losses on a reference
    make_references.py FOLDER --check                 # trains two steps from each reference in FOLDER and compares

What the files hold is said in tests/data/models/README.md. Exit code 77: the packages are not there.
"""

import argparse
import copy
import json
import os
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
os.environ["OMP_NUM_THREADS"] = "1"  # sums in the same order on every machine
os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import h5py  # noqa: F401
    import safetensors
    import torch
    import transformers
except ImportError as missing:
    print(f"make_references: SKIPPED, {missing}")
    sys.exit(77)

import training  # noqa: E402
from families import FAMILIES  # noqa: E402

GATE = 5e-6  # largest difference of a loss that rounding explains


def some_tokens(count, vocabulary, generator):
    """A stream with something to learn: half of the tokens follow from the one before, the others are drawn with few
    of them frequent. Ids below 3, which may be padding, do not occur."""
    tokens = torch.empty(count, dtype=torch.int64)
    draws = torch.rand(count, 2, generator=generator, dtype=torch.float64)
    previous = 3
    for i, (coin, rank) in enumerate(draws.tolist()):
        previous = (5 * previous + 7) % (vocabulary - 3) if coin < 0.5 else int((vocabulary - 3) * rank**3)
        tokens[i] = previous + 3
    return tokens


def some_pairs(family, generator):
    """Samples of which the targets follow from the sources; both have many lengths."""
    count = training.BATCH * training.STEPS
    vocabulary = family.config["vocab_size"]
    source = some_tokens(count * family.source, vocabulary, generator).view(count, family.source)
    target = (3 * source[:, :family.length] + 11) % (vocabulary - 3) + 3
    for values, fill_up in ((source, training.PADDING), (target, training.NO_TARGET)):
        lengths = torch.randint(values.shape[1] // 2, values.shape[1] + 1, (count, 1), generator=generator)
        values[torch.arange(values.shape[1]) >= lengths] = fill_up
    return training.from_pairs(source, target)


def some_data(family):
    generator = torch.Generator().manual_seed(7)
    if family.source:
        return some_pairs(family, generator)
    return some_tokens(training.BATCH * family.length * training.STEPS + 1, family.config["vocab_size"], generator)


def run_of(family, model, data, **options):
    """A run over tokens, or over samples by the names of the model's arguments."""
    if family.source:
        return training.LabelledRun(model, data, **options)
    return training.Run(model, data, family.length, **options)


def fill(model, generator):
    """Random weights of which none is at a value that hides it: norms are not 1, nor biases 0."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            values = torch.randn(p.shape, generator=generator)
            if p.dim() >= 2:
                p.copy_(values * (0.1 if "embed" in name else p.shape[-1] ** -0.5))
            elif name.endswith("bias"):
                p.copy_(0.1 * values)
            else:  # of norms; Gemma adds 1 to them
                p.copy_(0.2 * values + (0.0 if model.config.model_type.startswith("gemma") else 1.0))


def build(family, seed, **changes):
    """A model on the family's configuration, with keys changed, and weights that the seed alone decides."""
    config = getattr(transformers, family.config_class)(**copy.deepcopy({**family.config, **changes}))
    for key, value in copy.deepcopy(changes).items():
        setattr(config, key, value)  # some classes mend what they are given, as Gemma's the activation
    config._attn_implementation = config._experts_implementation = "eager"
    model = getattr(transformers, family.model_class)(config).train()
    fill(model, torch.Generator().manual_seed(seed))
    return model


def nudged(model, units, generator):
    """The model with each weight moved by `units` times 2^-24 of itself, up or down."""
    with torch.no_grad():
        for p in model.parameters():
            sign = torch.randint(0, 2, p.shape, generator=generator) * 2 - 1
            p.copy_((p.double() * (1 + sign * units * 2.0**-24)).float())
    return model


def largest_difference(a, b):
    return max(abs(x - y) for x, y in zip(a, b))


def relative(run, other, names, field):
    a, b = getattr(run, field), getattr(other, field)
    return max(abs(a[name] - b[name]) / max(a[name], 1e-8) for name in names)


def variants(train, seed):
    """Runs that differ from the plain one by rounding alone, by name."""
    runs = {"fp64": train(dtype=torch.float64)}
    for i in range(3):
        runs[f"nudged_{i}"] = train(nudge=(1, seed + i))
    runs["accumulate_2"] = train(parts=[2, 2])
    runs["accumulate_4"] = train(parts=[1, 1, 1, 1])
    runs["uneven"] = train(parts=[3, 1])
    eight = [train(nudge=(8, seed + 10 + i)) for i in range(4)]
    return runs, eight


def rounding_only(run, exact):
    """Names of tensors with elements whose gradient is 0 but for rounding: in part, and in whole."""
    in_part, whole = [], []
    for name, gradient in run.largest_gradient.items():
        is_noise = (exact.largest_gradient[name] < 1e-13) & (gradient != 0)
        if is_noise.any():
            in_part.append(name)
        if is_noise.any() and (exact.largest_gradient[name] < 1e-13).all():
            whole.append(name)
    return in_part, whole


def mutant_losses(family, seed, tokens):
    """Losses of the same run with one convention wrong, by its name."""
    losses = {}
    for name, changes in family.mutants.items():
        losses[name] = run_of(family, build(family, seed, **changes), tokens).losses
    rules = {"decay_all": lambda name, p: True, "no_decay": lambda name, p: False,
             "decay_not_embeddings": lambda name, p: p.dim() >= 2 and "embed" not in name and "shared" not in name}
    for name, decays in rules.items():
        losses[name] = run_of(family, build(family, seed), tokens, decays=decays).losses
    if family.source:
        all_seen = {**tokens, "attention_mask": torch.ones_like(tokens["attention_mask"])}
        losses["padding_is_seen"] = run_of(family, build(family, seed), all_seen).losses
    return losses


def figures(name, family, seed, tokens):
    def train(dtype=torch.float32, parts=None, nudge=None):
        model = build(family, seed)
        if nudge:
            nudged(model, nudge[0], torch.Generator().manual_seed(nudge[1]))
        return run_of(family, model.to(dtype), tokens, parts=parts)

    run = train()
    runs, eight = variants(train, seed)
    in_part, whole = rounding_only(run, runs["fp64"])
    noise = {key: largest_difference(run.losses, other.losses) for key, other in runs.items()}
    noise["nudged_8_units"] = max(largest_difference(run.losses, other.losses) for other in eight)
    assert max(noise.values()) < GATE, f"{name}: rounding moves a loss by {noise}; try another seed"
    mutants = {key: largest_difference(run.losses, wrong)
               for key, wrong in mutant_losses(family, seed, tokens).items()}
    smallest = min(mutants, key=mutants.get)
    assert mutants[smallest] > 2 * GATE, f"{name}: {smallest} moves a loss by {mutants[smallest]} only"

    def by_name(values):
        return dict(sorted((family.names.get(key, key), value) for key, value in values.items()))

    comparable = [key for key in run.final_norms if key not in in_part]
    logits = run.first_logits.double()
    return {
        "model": name, "run": "adamw", "class": family.model_class,
        "parameters": sum(p.numel() for p in run.parameters.values()),
        "optimizer": training.OPTIMIZER, "batch": training.BATCH, "T": family.length,
        **({"S": family.source} if family.source else {}), "steps": training.STEPS,
        "losses": run.losses, "losses_fp64": runs["fp64"].losses, "grad_norms": run.grad_norms,
        "learning_rates": run.learning_rates,
        "logits_first_sample": {"shape": list(logits.shape), "sum": logits.sum().item(), "l2": logits.norm().item(),
                                "first": logits.flatten()[:6].tolist(), "last": logits.flatten()[-6:].tolist()},
        "step0_grad_norm_per_tensor": by_name(run.step0_norms),
        "final_param_norm_per_tensor": by_name(run.final_norms),
        "zero_gradient_tensors": sorted(whole), "final_norm_not_comparable": sorted(in_part),
        "noise": {
            "loss": noise,
            "grad_norm_relative": max(abs(a / b - 1) for other in runs.values()
                                      for a, b in zip(run.grad_norms, other.grad_norms)),
            "step0_grad_norm_relative": max(relative(run, other, comparable, "step0_norms") for other in runs.values()),
            "final_norm_relative": max(relative(run, other, comparable, "final_norms") for other in runs.values())},
        "tolerance": {"loss": GATE},
        "smallest_distance_from_a_decision": run.decisions.figures(),
        "sensitivity": {"mutants": len(mutants), "smallest": mutants[smallest], "which": smallest},
    }


def seed_of(family, tokens):
    """The family's seed, or of several the one that stays farthest from its decisions."""
    if family.num_seeds == 1:
        return family.seed
    distances = {seed: run_of(family, build(family, seed), tokens).decisions.smallest
                 for seed in range(family.seed, family.seed + family.num_seeds)}
    return max(distances, key=distances.get)


def older_spelling(config):
    """The configuration as transformers 4 wrote it, which most published files have."""
    older = {key: value for key, value in config.items() if key not in ("rope_parameters", "dtype", "transformers_version")}
    older["torch_dtype"] = config["dtype"]
    if "scale_decoder_outputs" in older:
        older["tie_word_embeddings"] = older.pop("scale_decoder_outputs")
    if "num_local_experts" in older and config["model_type"] == "qwen3_moe":
        older["num_experts"] = older.pop("num_local_experts")
    rope = dict(config.get("rope_parameters") or {})
    if not rope:
        return older
    if "full_attention" in rope:
        older["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = dict(rope["full_attention"])
    theta, partial = rope.pop("rope_theta"), rope.pop("partial_rotary_factor", None)
    if config["model_type"] == "gpt_neox":
        older.update(rotary_emb_base=theta, rotary_pct=partial)
    else:
        older["rope_theta"] = theta
        if partial is not None:
            older["partial_rotary_factor"] = partial
    older["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    return older


def write(folder, name):
    family = FAMILIES[name]
    tokens = some_data(family)
    seed = seed_of(family, tokens)
    shutil.rmtree(folder, ignore_errors=True)
    model = build(family, seed)
    model.save_pretrained(folder)
    if family.sharded:
        model.save_pretrained(folder / "sharded", max_shard_size="100KB")
    for path in folder.rglob("*.safetensors"):
        path.chmod(0o644)
    if family.source:
        training.write_samples(folder / "data.h5", tokens)
    else:
        training.write_tokens(folder / "tokens.bin", tokens)
    expected = figures(name, family, seed, tokens)
    with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
        assert set(file.keys()) == set(expected["final_param_norm_per_tensor"]), f"{name}: other names in the file"
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config-v4.json").write_text(json.dumps(older_spelling(config), indent=2) + "\n", encoding="utf-8")
    assert check(folder / "expected.json"), f"{name}: the files lead to other losses"


# Of the family's folder that is there, beside its plain run.
OPTIMIZERS = {
    "sgd": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": False, "weight_decay": 0.01, "clip": 1.0},
    "sgd-nesterov": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01, "clip": 1.0},
    "lion": {"name": "lion", "lr": 1e-5, "beta1": 0.9, "beta2": 0.99, "weight_decay": 10.0, "clip": 1.0},
}


LOSSES = {"z-loss": {"z_loss": 0.01}, "label-smoothing": {"label_smoothing": 0.1},
          "dropout": {"drop": 0.1}}


def write_optimizer(folder, run_name):
    """A run with another optimizer, or another loss, from the files of a reference."""
    plain = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    optimizer, batch = OPTIMIZERS.get(run_name, plain["optimizer"]), plain["batch"]
    loss = LOSSES.get(run_name, {})
    tokens = training.read_tokens(folder / "tokens.bin")

    def train(dtype=torch.float32, nudge=None, **keys):
        model = training.load(folder)
        if nudge:
            nudged(model, nudge[0], torch.Generator().manual_seed(nudge[1]))
        return training.Run(model.to(dtype), tokens, plain["T"], batch=batch, optimizer=keys.pop("optimizer", optimizer),
                            **{**loss, **keys})

    run = train()
    others = {"fp64": train(dtype=torch.float64), "accumulate_2": train(parts=[batch // 2] * 2),
              "uneven": train(parts=[batch - 1, 1])}
    others.update({f"nudged_{i}": train(nudge=(1, i)) for i in range(3)})
    noise = {key: largest_difference(run.losses, other.losses) for key, other in others.items()}
    noise["nudged_8_units"] = max(largest_difference(run.losses, train(nudge=(8, 10 + i)).losses) for i in range(4))
    assert max(noise.values()) < GATE, f"{run_name}: rounding moves a loss by {noise}"
    wrong = {"decay_all": train(decays=lambda name, p: True), "no_decay": train(decays=lambda name, p: False)}
    for key in ("momentum", "beta1", "beta2"):
        if key in optimizer:
            wrong[key] = train(optimizer={**optimizer, key: optimizer[key] - 0.01})
    for key, weight in loss.items():
        wrong = {"half": train(**{key: weight / 2}), "none": train(**{key: 0.0})}
    mutants = {key: largest_difference(run.losses, other.losses) for key, other in wrong.items()}
    smallest = min(mutants, key=mutants.get)
    assert mutants[smallest] > 2 * GATE, f"{run_name}: {smallest} moves a loss by {mutants[smallest]} only"
    in_part, whole = rounding_only(run, others["fp64"])
    expected = {
        **{key: plain[key] for key in ("model", "class", "parameters", "batch", "T", "steps")}, "run": run_name,
        "optimizer": optimizer, **loss, "losses": run.losses, "losses_fp64": others["fp64"].losses,
        "grad_norms": run.grad_norms, "learning_rates": run.learning_rates,
        "step0_grad_norm_per_tensor": run.step0_norms, "final_param_norm_per_tensor": run.final_norms,
        "zero_gradient_tensors": sorted(whole), "final_norm_not_comparable": sorted(in_part),
        "noise": {"loss": noise}, "tolerance": {"loss": GATE},
        "sensitivity": {"mutants": len(mutants), "smallest": mutants[smallest], "which": smallest},
    }
    (folder / f"expected-{run_name}.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


def check(path):
    """Trains two steps from the files alone and compares the losses."""
    folder = path.parent
    expected = json.loads(path.read_text(encoding="utf-8"))
    options = {"batch": expected["batch"], "steps": expected["steps"], "optimizer": expected["optimizer"],
               "stop_after": 2, "router_aux_loss": expected.get("router_aux_loss_coef", 0.0),
               "per_layer": expected.get("per_layer", False),
               **{key: expected[key] for key in ("z_loss", "label_smoothing", "drop") if key in expected}}
    if "micro" in expected:
        options["parts"] = [expected["micro"]] * (expected["batch"] // expected["micro"])
    if (folder / "data.h5").exists():
        run = training.LabelledRun(training.load(folder), training.read_samples(folder / "data.h5"), **options)
    else:
        tokens = training.read_tokens(folder / "tokens.bin")
        run = training.Run(training.load(folder), tokens, expected["T"], **options)
    difference = largest_difference(run.losses, expected["losses"])
    print(f"{folder.name}/{path.name}: {run.losses[0]:.7f} {run.losses[1]:.7f}, {difference:.1e} from what is expected", flush=True)
    return difference <= expected["tolerance"]["loss"]


def main():
    parser = argparse.ArgumentParser(description="Makes or checks references of model families.")
    parser.add_argument("folder", type=pathlib.Path, help="folder of the references")
    parser.add_argument("--family", nargs="+", choices=sorted(FAMILIES), default=sorted(FAMILIES), help="make these only")
    parser.add_argument("--optimizers", type=pathlib.Path, metavar="REFERENCE",
                        help="write the runs of other optimizers into this reference instead")
    parser.add_argument("--check", action="store_true", help="train two steps from each reference and compare the losses")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if arguments.optimizers:
        for run_name in [*OPTIMIZERS, *LOSSES]:
            write_optimizer(arguments.optimizers, run_name)
        return
    if not arguments.check:
        for name in arguments.family:
            write(arguments.folder / name, name)
        return
    paths = sorted(arguments.folder.glob("*/expected*.json"))
    wrong = [f"{path.parent.name}/{path.name}" for path in paths if not check(path)]
    if wrong or not paths:
        sys.exit(f"make_references: {', '.join(wrong) or 'no references'} in {arguments.folder}: other losses came out")


if __name__ == "__main__":
    main()
