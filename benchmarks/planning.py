"""What the scripts on published experiments share: planning a job, costing a given plan, tables, rank correlation."""

import json
import re
import subprocess
import tomllib

import measure

INPUTS = measure.ROOT / "inputs"
FIGURES = json.loads((measure.ROOT / "benchmarks" / "papers.json").read_text())
NO_FEASIBLE_PLAN = 3  # exit code


def settings(pairs):
    """--set options of a dictionary."""
    return [word for key, value in pairs.items() for word in ("--set", f"{key}={value}")]


def plan(job, planner="auto", cluster=None, profile=None, batch=None, flags=(), **options):
    """The PLAN.json document of `pptrain plan inputs/JOB.toml`, or the reason why there is none.
    Options are configuration keys with their dot written as two underscores."""
    path = job if str(job).endswith(".toml") else INPUTS / (job + ".toml")
    command = [measure.PPTRAIN, "plan", path, "--planner", planner, "--format", "json"]
    command += ["--cluster", cluster] if cluster else []
    command += ["--profile", profile] if profile else []
    command += ["--global-batch-size", batch] if batch else []
    command += flags
    command += settings({key.replace("__", "."): value for key, value in options.items()})
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if answer.returncode == NO_FEASIBLE_PLAN:
        return answer.stderr.strip().split(".toml: ", 1)[-1]
    if answer.returncode != 0:
        raise SystemExit("{} failed with {}:\n{}".format(" ".join(map(str, command)), answer.returncode, answer.stderr))
    return json.loads(answer.stdout)


def seconds(document):
    """Predicted seconds of an iteration; None where there is no plan."""
    return None if isinstance(document, str) else document["predicted"]["iteration_seconds"]


def ratio(slow, fast):
    """How many times as long the first plan takes, as text."""
    return None if None in (seconds(slow), seconds(fast)) else f"{seconds(slow) / seconds(fast):.2f}"


def gap(document):
    """How many times the optimum the plan takes at most."""
    return seconds(document) / document["predicted"]["lower_bound_seconds"]


def shape(document):
    """The plan in a few words: PP x DP x TP where all stages are alike, else their number."""
    stages = document["stages"]
    kinds = {(stage["replicas"], stage["tensor_parallel"]) for stage in stages}
    samples = "{} x {} samples".format(document["micro_batches"], document["micro_batch_size"])
    if len(kinds) == 1:
        replicas, degree = kinds.pop()
        return f"PP {len(stages)} x DP {replicas} x TP {degree}, {samples}"
    return "{} stages of {}, {}".format(
        len(stages), " ".join("{}x{}".format(s["replicas"], s["tensor_parallel"]) for s in stages), samples)


def uniform_plan(model, cluster, batch, boundaries, replicas, degree, samples):
    """A PLAN.json document: stages between the boundaries, `samples` per replica and micro-batch, placed as AMP does."""
    together = samples * replicas
    return {
        "schema": "pptrain.plan/1", "planner": "published", "model": model, "cluster": cluster,
        "global_batch_size": batch, "micro_batch_size": together, "micro_batches": batch // together,
        "schedule": {"name": "1f1b", "virtual_stages": 1, "unit": 0},
        "stages": [{
            "layers": [[first, last]], "replicas": replicas, "tensor_parallel": degree,
            "devices": [[(stage * replicas + replica) * degree + shard for shard in range(degree)]
                        for replica in range(replicas)],
            "samples": [[replica * samples, (replica + 1) * samples] for replica in range(replicas)],
            "shards": {}, "recompute": "none", "zero_stage": 0, "offload": False, "blocks": [],
        } for stage, (first, last) in enumerate(zip(boundaries, boundaries[1:]))]}


def job_config(job):
    return tomllib.loads((INPUTS / (job + ".toml")).read_text())


def job_profile(job):
    """The computed profile of a job's model."""
    return json.loads((INPUTS / "profiles" / "{}-analytic.json".format(job_config(job)["model"]["name"])).read_text())


def measured_plan(job, cluster, figures, batch=None):
    """The PLAN.json document of one row of measured plans in papers.json."""
    config = job_config(job)
    return uniform_plan(config["model"]["name"], cluster, batch or config["training"]["global_batch_size"],
                        figures["boundaries"], figures["dp"], figures["tmp"], figures["samples"])


def cost(job, document, **arguments):
    """Predictions of a given plan (a dictionary as `predicted` in PLAN.json)."""
    path = generated("given-plan.json", json.dumps(document))
    return plan(job, parallelism__plan=path, batch=document["global_batch_size"], **arguments)["predicted"]


def simulate(job, document, cluster=None, schedule=None):
    """The simulation document of a given plan; `schedule` instead of the plan's own. None where it is refused."""
    path = generated("given-plan.json", json.dumps(document))
    command = [measure.PPTRAIN, "simulate", INPUTS / (job + ".toml"), "--plan", path, "--format", "json"]
    command += ["--cluster", cluster] if cluster else []
    command += ["--schedule", schedule] if schedule else []
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit("{} failed with {}:\n{}".format(" ".join(map(str, command)), answer.returncode, answer.stderr))
    return json.loads(answer.stdout)


def generated(name, text):
    """A file of that name under build/benchmarks."""
    path = measure.RESULTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def variant(cluster, name, **changes):
    """A copy of inputs/clusters/CLUSTER.toml under build/benchmarks with other values of some keys: `memory` of every
    device kind, `bandwidth` of every link, `nodes` (count of the [[node]]), `devices` (count in a node);
    `reversed_nodes` lists the kinds of nodes the other way round."""
    text = (INPUTS / "clusters" / (cluster + ".toml")).read_text()
    if changes.get("reversed_nodes"):
        head, *nodes = re.split(r"^(?=\[\[node\]\])", text, flags=re.M)
        text = head + "\n".join(reversed(nodes))
    if "bandwidth" in changes:
        text = re.sub(r'\{ bandwidth = "[^"]*"', '{{ bandwidth = "{}"'.format(changes["bandwidth"]), text)
    if "memory" in changes:
        text = re.sub(r'^memory = "[^"]*"', 'memory = "{}"'.format(changes["memory"]), text, flags=re.M)
    if "nodes" in changes:
        text = re.sub(r"^count = \d+", "count = {}".format(changes["nodes"]), text, flags=re.M)
    if "devices" in changes:
        text = re.sub(r"count = \d+ }", "count = {} }}".format(changes["devices"]), text)
    return generated(name + ".toml", text)


def unlimited(cluster):
    """The cluster with so much memory that every plan fits."""
    return variant(cluster, cluster + "-unlimited", memory="1000 TB")


def job_with(job, addition):
    """A copy of inputs/JOB.toml with more configuration at its end. Its cluster has to be given."""
    return generated(job.replace("/", "-") + "-with.toml", (INPUTS / (job + ".toml")).read_text() + addition)


def compute_seconds(job, cluster, document):
    """What is left of the plan's iteration where links cost nothing."""
    return cost(job, document, cluster=variant(cluster, cluster + "-unlinked", bandwidth="1e9 GB/s"))["estimates"]["amp"]


def by_planner(job):
    """Seconds of every planner's best plan, `auto` first, None for those that found none; how many times the optimum
    `auto`'s takes at most. `exhaustive` is for small instances only."""
    best = plan(job, "all")
    others = {row["planner"]: row["iteration_seconds"] for row in best["alternatives"] if row["planner"] != "exhaustive"}
    return {"auto": seconds(best), **others}, gap(best)


def planners_table(jobs):
    """A row for each job, a column for each planner."""
    found = {job: by_planner(job) for job in jobs}
    names = list(dict.fromkeys(name for planners, _ in found.values() for name in planners))
    rows = [[job.rsplit("/", 1)[-1]] + [planners.get(name) for name in names] + [times(at_most)]
            for job, (planners, at_most) in found.items()]
    return table(("job", *(f"`{name}`" for name in names), "`auto`: at most times the optimum"), rows)


def mean_ranks(values):
    """Rank of each value, equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def rank_correlation(first, second):
    """Spearman's."""
    ranks = [mean_ranks(first), mean_ranks(second)]
    mean = (len(first) - 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(*ranks))
    spread = [sum((a - mean) ** 2 for a in one) for one in ranks]
    return covariance / (spread[0] * spread[1]) ** 0.5


def kept_section(name):
    """The section of docs/papers.md that another script wrote; "" where there is none."""
    path = measure.ROOT / "docs" / "papers.md"
    text = path.read_text() if path.exists() else ""
    found = re.search(rf"<!-- {name} -->\n.*?<!-- end of {name} -->", text, re.S)
    return found[0] if found else ""


def keep_section(name, text):
    """Puts a section into docs/papers.md, in place of what it held under this name or before its last paragraph."""
    path = measure.ROOT / "docs" / "papers.md"
    section = f"<!-- {name} -->\n{text}\n<!-- end of {name} -->"
    document = path.read_text()
    old = kept_section(name)
    if old:
        document = document.replace(old, section)
    else:
        body, _, last = document.rstrip("\n").rpartition("\n\n")
        document = f"{body}\n\n{section}\n\n{last}\n"
    path.write_text(document)
    print("wrote docs/papers.md")


def table(header, rows):
    """A Markdown table; None becomes a dash, numbers keep three significant digits."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(text(cell) for cell in row) + " |" for row in rows])


def text(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:#.3g}".rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def times(value):
    """A ratio."""
    return None if value is None else f"{value:.2f}"


def error(ours, theirs):
    """How far ours is off, in per cent."""
    return f"{ours / theirs - 1:+.0%}"
