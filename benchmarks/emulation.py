#!/usr/bin/python3
"""Rehearses plans of the papers' mixed and two-node clusters on emulated devices, 16 ranks on this machine: measured beside
predicted seconds of an iteration, ratios beside the papers' ones. Writes its section of docs/papers.md."""

import argparse
import datetime
import json
import re
import subprocess
import sys

import measure
import planning

RANKS = 16
SUMMARY = re.compile(r"iteration +(?P<measured>[\d.]+ \w+) measured \(.*?\), (?P<predicted>[\d.]+ \w+) predicted")
AMP = planning.FIGURES["amp"]["best_seconds"]["heterogeneous cluster"]
AMP_MODEL = planning.FIGURES["amp"]["best_seconds"]["heterogeneous model"]
WHALE = planning.FIGURES["whale"]["uneven_over_even_batches"]["range"]

# Every rehearsed comparison: the job, plans by name with the planner and settings that make them, the slow and the quick
# one whose ratio the paper gives, and what it says.
DATA_PARALLEL = {"parallelism__pipeline": 1, "parallelism__tensor": 1, "parallelism__data": RANKS}
COMPARISONS = (
    ("AMP, heterogeneous cluster", "papers/amp-gpt2-heterogeneous",
     {"auto": ("auto", {}), "amp": ("amp", {}), "megatron": ("megatron", {})},
     (("megatron", "amp", f"{AMP['megatron'] / AMP['amp']:.2f}"), ("megatron", "auto", "-"))),
    ("AMP, the same with computed times", "amp-heterogeneous-cluster",
     {"auto": ("auto", {}), "amp": ("amp", {}), "megatron": ("megatron", {})},
     (("megatron", "amp", f"{AMP['megatron'] / AMP['amp']:.2f}"), ("megatron", "auto", "-"))),
    ("Whale, 8 V100 and 8 P100, ResNet-50", "papers/whale-resnet-50",
     {"auto": ("auto", {}), "uneven batches": ("whale", DATA_PARALLEL), "even batches": ("data-parallel", {})},
     (("even batches", "uneven batches", "{} to {}".format(*WHALE)), ("even batches", "auto", "-"))),
    ("Whale, 8 V100 and 8 P100, BERT-Large", "papers/whale-bert-large",
     {"auto": ("auto", {}), "uneven batches": ("whale", DATA_PARALLEL), "even batches": ("data-parallel", {})},
     (("even batches", "uneven batches", "{} to {}".format(*WHALE)), ("even batches", "auto", "-"))),
    ("AMP, mixed model, authors' times", "papers/amp-transgan",
     {"auto": ("auto", {}), "amp": ("amp", {}), "megatron": ("megatron", {"parallelism__pipeline": 2})},
     (("megatron", "amp", f"{AMP_MODEL['megatron'] / AMP_MODEL['amp']:.2f}"), ("megatron", "auto", "-"))),
    ("AMP, mixed model, from the network", "amp-heterogeneous-model",
     {"auto": ("auto", {}), "amp": ("amp", {}), "megatron": ("megatron", {"parallelism__pipeline": 2})},
     (("megatron", "amp", f"{AMP_MODEL['megatron'] / AMP_MODEL['amp']:.2f}"), ("megatron", "auto", "-"))),
    ("Whale, M6-MoE on 8 V100 and 8 P100, one stage", "papers/whale-m6-moe",
     {"rows sent to experts": ("auto", {"parallelism__pipeline": 1}),
      "columns of experts": ("auto", {"parallelism__pipeline": 1, "parallelism__experts": '"columns"'})},
     (("columns of experts", "rows sent to experts", "-"),)),
    ("DAPPLE, configuration A, BERT-48", "papers/dapple-bert-48",
     {"auto": ("auto", {}), "dapple": ("dapple", {}), "data parallel": ("data-parallel", {})},
     (("data parallel", "dapple", "above 1 (figure 12)"), ("data parallel", "auto", "-"))),
)
WITHOUT_TOP = ("Whale, M6-MoE on 8 V100 and 8 P100, one stage",)  # plans that are held to one stage
# Where the top ten plans of a job come from.
PLANNERS = ("auto", "amp", "megatron", "data-parallel", "dapple", "pipedream", "whale", "alpa", "amp-uniform-layers",
            "amp-uniform-parameters")
SCHEDULES = ("1f1b", "gpipe", "dapple-b")
PIPELINES = (1, 2, 4, 8, 16)
TOP = 10


def rehearse(job, document, steps):
    """(predicted, measured) seconds of a plan."""
    path = planning.generated("rehearsed-plan.json", json.dumps(document))
    command = ["mpirun", "-np", RANKS, measure.PPTRAIN, planning.INPUTS / (job + ".toml"), "--steps", steps,
               *planning.settings({"parallelism.plan": json.dumps(str(path)),
                                   "job.output": json.dumps(str(measure.RESULTS / "runs"))})]
    answer = measure.run(command, {**measure.launcher_settings(), **measure.ONE_THREAD})
    found = SUMMARY.search(answer["output"])
    if not found:
        sys.exit("no summary in the output:\n" + answer["output"][-2000:])
    return measure.seconds(found["predicted"]), measure.seconds(found["measured"])


def compare(comparison, steps):
    title, job, plans, ratios = comparison
    rows = {}
    for name, (planner, options) in plans.items():
        document = planning.plan(job, planner, **options)
        predicted, measured = rehearse(job, document, steps)
        rows[name] = {"plan": planning.shape(document) + ", " + document["schedule"]["name"], "predicted": predicted,
                      "measured": measured}
        print(f"{title}, {name}: predicted {predicted:.4g} s, measured {measured:.4g} s", flush=True)
    return {"title": title, "rows": rows, "ratios": ratios}


def identity(document):
    return json.dumps([document[key] for key in ("stages", "schedule", "micro_batch_size", "micro_batches")], sort_keys=True)


def candidates(job):
    """The quickest different plans, as predicted."""
    asked = [(planner, {}) for planner in PLANNERS]
    asked += [("auto", {"parallelism__schedule": schedule}) for schedule in SCHEDULES]
    asked += [("auto", {"parallelism__pipeline": pipeline}) for pipeline in PIPELINES]
    asked += [("amp", {"parallelism__pipeline": pipeline}) for pipeline in PIPELINES]
    plans = {}
    for planner, options in asked:
        document = planning.plan(job, planner, **options)
        if not isinstance(document, str):
            plans.setdefault(identity(document), document)
    return sorted(plans.values(), key=planning.seconds)[:TOP]


def top_ten(title, job, steps):
    pairs = [rehearse(job, document, steps) for document in candidates(job)]
    row = {"title": title, "plans": len(pairs), "fastest": min(measured for _, measured in pairs),
           "slowest": max(measured for _, measured in pairs),
           "worst": max((abs(measured / predicted - 1) for predicted, measured in pairs)),
           "correlation": planning.rank_correlation(*zip(*pairs))}
    print("{title}: {plans} plans, rank correlation {correlation:.3f}, off by {worst:.1%} at most".format(**row), flush=True)
    return row


def rows_of(comparison):
    rows = comparison["rows"]
    for name, row in rows.items():
        yield [comparison["title"], name, row["plan"], row["predicted"], row["measured"],
               f"{row['measured'] / row['predicted'] - 1:+.1%}"]


def ratio_rows(comparison):
    rows = comparison["rows"]
    for slow, quick, published in comparison["ratios"]:
        yield [comparison["title"], f"{slow} / {quick}",
               *(planning.times(rows[slow][key] / rows[quick][key]) for key in ("predicted", "measured")), published]


def section(comparisons, tops):
    lines = ["## Rehearsed on emulated devices", "16 ranks on this machine play the devices of the paper's cluster "
             "([emulation](emulation.md)); measured is the median iteration on the host's clock. Layers take what the profile "
             "says, so that what a rehearsal adds to a prediction is that processes wait for one another and share links.",
             planning.table(("experiment", "plan by", "plan", "predicted, s", "measured, s", "off by"),
                            [row for comparison in comparisons for row in rows_of(comparison)]),
             planning.table(("experiment", "ratio", "predicted", "measured", "the paper's"),
                            [row for comparison in comparisons for row in ratio_rows(comparison)]),
             "The ten quickest plans that the planners find, alone, with other schedules and with other depths:",
             planning.table(("experiment", "plans", "fastest, s", "slowest, s", "prediction off by at most", "rank correlation"),
                            [[top["title"], top["plans"], top["fastest"], top["slowest"], f"{top['worst']:.1%}",
                              f"{top['correlation']:.2f}"] for top in tops]),
             "`./bootstrap.sh bench emulation`: {}, commit {}, {}.".format(
                 datetime.date.today().isoformat(), measure.revision(), measure.machine()["cpu"])]
    return "\n\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=7)
    options = parser.parse_args()
    comparisons = [compare(comparison, options.steps) for comparison in COMPARISONS]
    tops = [top_ten(title, job, options.steps) for title, job, _, _ in COMPARISONS if title not in WITHOUT_TOP]
    planning.keep_section("emulation", section(comparisons, tops))


if __name__ == "__main__":
    main()
