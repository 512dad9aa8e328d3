"""AMP (Li et al., NeurIPS 2022): GPT-2 on equal and mixed nodes, TransGAN on equal nodes."""

import json

import planning

FIGURES = planning.FIGURES["amp"]
# Setting, job with the authors' layer times, job with computed ones.
SETTINGS = (("homogeneous", "papers/amp-gpt2-homogeneous", "amp-homogeneous-cluster"),
            ("heterogeneous cluster", "papers/amp-gpt2-heterogeneous", "amp-heterogeneous-cluster"),
            ("heterogeneous model", "papers/amp-transgan", "amp-heterogeneous-model"))
NODES = (2, 4, 8, 16)  # table 2: as many devices in each
# Where our layers stand in AMP's lists of 30 and 56, which its plans divide: what else is in these holds nothing or little.
PLACES = {"amp-gpt2-24": [0, *range(2, 26), 28],
          "amp-transgan": [0, *range(3, 15), 15, 19, 21, 27, 34, *range(41, 53), 54]}
NUM_ENTRIES = {"amp-gpt2-24": 30, "amp-transgan": 56}


def computed_profile(model):
    """The computed profile of a model, its layers at their places in AMP's list: the path of a generated file."""
    profile = json.loads((planning.INPUTS / "profiles" / f"{model}-analytic.json").read_text())
    own = dict(zip(PLACES[model], profile["layers"], strict=True))
    layers = []
    for place in range(NUM_ENTRIES[model]):
        if place in own:
            layers.append(own[place])
            continue
        rows = [{**row, "samples": 1, "forward": 0, "backward_input": 0, "backward_weight": 0}
                for row in own[0]["seconds"] if row["samples"] == 1]
        layers.append({"name": f"entry.{place}", "parameters": 0, "output_bytes": layers[-1]["output_bytes"], "stored_bytes": 0,
                       "tensor_parallel_allreduce_bytes": 0, "seconds": rows})
    return planning.generated(f"{model}-list.json", json.dumps({**profile, "layers": layers}))


def planners_table(found):
    names = dict.fromkeys(name for planners in found.values() for name in planners)
    measured = FIGURES["best_seconds"]
    rows = []
    for name in names:
        rows.append([f"`{name}`"])
        for setting, measured_job, computed_job in SETTINGS:
            rows[-1] += [found[measured_job].get(name), found[computed_job].get(name), measured[setting].get(name)]
    header = ["planner"]
    for setting, _, _ in SETTINGS:
        header += [f"{setting}: authors' times, s", "computed times, s", "measured by AMP, s"]
    return planning.table(header, rows)


def ratios_table(found):
    rows = []
    for setting, *jobs in SETTINGS:
        measured = FIGURES["best_seconds"][setting]
        rows.append([setting] + [planning.times(found[job]["megatron"] / found[job]["auto"]) for job in jobs]
                    + [planning.times(measured["megatron"] / measured["amp"])])
    return planning.table(("setting", "`megatron` / `auto`, authors' times", "computed times",
                           "Megatron / AMP as measured"), rows)


def mixed_cluster_cause(found):
    """Our estimates of the two plans whose measured ratio the paper gives."""
    job, cluster = "papers/amp-gpt2-heterogeneous", "aws-heterogeneous"
    plans = [plan for plan in FIGURES["measured"]["plans"] if plan["setting"] == "heterogeneous cluster"]
    slow = min((plan for plan in plans if plan["table"] == 8), key=lambda plan: plan["seconds"])
    fast = min((plan for plan in plans if plan["table"] == 9), key=lambda plan: plan["seconds"])
    profile = computed_profile("amp-gpt2-24")
    estimates = [planning.cost(job, planning.measured_plan(job, cluster, plan), cluster=planning.unlimited(cluster),
                               **extra)["estimates"]["amp"]
                 for extra in ({}, {"profile": profile}) for plan in (slow, fast)]
    return (
        f"On the mixed cluster ours is larger for two reasons. The paper's fastest Megatron plan has micro-batches of "
        f"{slow['samples']} samples per replica and ran in {slow['seconds']} s; from the authors' times, which were "
        f"taken at one sample and are carried on in proportion, it is estimated at {estimates[0]:.2f} s, so our "
        f"`megatron` takes another ({found[job]['megatron']:.2f} s). And AMP divides layers by the mean speed of V100 and "
        f"T4: its fastest plan is estimated at {estimates[1]:.2f} s and ran in {fast['seconds']} s, while our divisions give "
        f"the T4 stage less (`amp` {found[job]['amp']:.2f} s). With computed times, in which a kernel does more per second "
        f"at larger micro-batches, the paper's two plans are {estimates[2] / estimates[3]:.2f} apart in our estimate, "
        f"{slow['seconds'] / fast['seconds']:.2f} as measured.")


def mixed_model_cause(found):
    """The paper's Megatron runs have 2 and 4 stages; ours may also take none."""
    job, computed = SETTINGS[2][1:]
    staged = [planning.seconds(planning.plan(name, "megatron", parallelism__pipeline=2)) for name in (job, computed)]
    alone = planning.plan(job, "megatron")
    return (
        f"For TransGAN our `megatron` takes {planning.shape(alone)}, which fits by our memory model "
        f"({max(alone['predicted']['peak_bytes']) / 1e9:.1f} GB); the paper's Megatron runs all have 2 or 4 stages. Held "
        f"to 2 stages `megatron` takes {staged[0]:.2f} s, measured {FIGURES['best_seconds']['heterogeneous model']['megatron']} s, "
        f"and the ratios become {staged[0] / found[job]['auto']:.2f} and {staged[1] / found[computed]['auto']:.2f}.")


def equal_cluster_cause(found):
    job, computed = SETTINGS[0][1:]
    return (
        f"On equal nodes the authors' times give {found[job]['megatron'] / found[job]['auto']:.2f}, by schedules and "
        f"ZeRO, which the paper does not have; with 1F1B alone hardly anything beats data parallelism there, as its Megatron found. The computed times are those of the kernels alone, without the "
        f"milliseconds per layer of AMP's framework, so that gradients and bubbles weigh more and cutting the model pays.")


def planning_time_table():
    rows = []
    for nodes in NODES:
        cluster = planning.variant("aws-homogeneous", f"amp-{nodes}x{nodes}", nodes=nodes, devices=nodes)
        plans = [planning.plan("papers/amp-gpt2-homogeneous", name, cluster=cluster) for name in ("amp", "auto")]
        size = f"{nodes}x{nodes}"
        rows.append([size, FIGURES["planning_seconds"][size]] + [plan["search"]["seconds"] for plan in plans]
                    + [planning.seconds(plan) for plan in plans] + [planning.times(planning.gap(plans[1]))])
    return planning.table(("nodes x devices", "AMP, table 2: s to plan", "`amp`: s to plan", "`auto`: s to plan",
                           "`amp`'s plan, s", "`auto`'s plan, s", "at most times the optimum"), rows)


def section():
    found = {job: planning.by_planner(job)[0] for _, *jobs in SETTINGS for job in jobs}
    parts = [
        "## AMP: mixed nodes, mixed layers",
        "16 devices, GPT-2 of 24 layers (batch 32) and TransGAN's generator (batch 64). Predicted seconds of an iteration, "
        "from the layer times that the authors measured ([`inputs/papers/amp-*`](../inputs/papers)) and from computed ones "
        "([`inputs/amp-*`](../inputs)), beside the fastest plan that the paper measured (tables 3-5).",
        planners_table(found),
        ratios_table(found),
        mixed_cluster_cause(found),
        mixed_model_cause(found),
        equal_cluster_cause(found),
        "Time to plan GPT-2 of 24 layers for a batch of 32 on one core, nodes of T4 as in the homogeneous setting:",
        planning_time_table(),
    ]
    return "\n\n".join(parts)
