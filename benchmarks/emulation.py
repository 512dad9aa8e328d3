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
from published import whale

RANKS = 16
SUMMARY = re.compile(r"iteration +(?P<measured>[\d.]+ \w+) measured \(.*?\), (?P<predicted>[\d.]+ \w+) predicted")
AMP = planning.FIGURES["amp"]["best_seconds"]["heterogeneous cluster"]
AMP_MODEL = planning.FIGURES["amp"]["best_seconds"]["heterogeneous model"]
WHALE = planning.FIGURES["whale"]["uneven_over_even_batches"]["range"]

# Every rehearsed comparison: the job, plans by name with the planner and settings that make them, the slow and the quick
# one whose ratio the paper gives, and what it says; and settings of all of them.
DATA_PARALLEL = {"parallelism__pipeline": 1, "parallelism__tensor": 1, "parallelism__data": RANKS}
CONFIGURATION_C = json.dumps(str(planning.INPUTS / "clusters" / "dapple-c.toml"))
VGG_PLANS = {"auto": ("auto", {}), "dapple": ("dapple", {}), "data parallel": ("data-parallel", {})}
VGG_RATIOS = (("data parallel", "dapple", "above 1 (figure 12)"), ("data parallel", "auto", "above 1 (figure 12)"))
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
    ("DAPPLE, configuration C, VGG-19, authors' times", "papers/dapple-vgg-19", VGG_PLANS, VGG_RATIOS, {"cluster.file": CONFIGURATION_C}),
    ("DAPPLE, configuration C, VGG-19, from the network", "papers/dapple-vgg-19", VGG_PLANS, VGG_RATIOS,
     {"cluster.file": CONFIGURATION_C, "profile.file": '""', "profile.analytic": "true"}),
    ("Whale, ResNet-50 with 100,000 classes, 16 V100", whale.annotated("papers/whale-resnet-50-100k", 17, RANKS),
     {"classes split": ("whale", {}), "data parallel": ("data-parallel", {})},
     (("data parallel", "classes split", f"{whale.FIGURES['split_over_data_parallel'][str(RANKS)]}"),),
     {"cluster.file": json.dumps(str(planning.variant("whale-v100-4x8", "whale-v100-2x8", nodes=2))),
      "training.global_batch_size": 64 * RANKS}),
    ("Alpa, Wide-ResNet 4B, 16 V100, an eighth of the batch", "papers/alpa-wide-resnet-4b",
     {"auto": ("auto", {}), "alpa": ("alpa", {}), "pipeline and data parallel": ("alpa", {"parallelism__tensor": 1})},
     (("pipeline and data parallel", "alpa", "above 1"), ("pipeline and data parallel", "auto", "-")),
     {"training.global_batch_size": 192}),
)
# The jobs of which the top ten plans are rehearsed, and where these come from.
WITH_TOP = ("AMP, heterogeneous cluster", "AMP, the same with computed times", "Whale, 8 V100 and 8 P100, ResNet-50",
            "Whale, 8 V100 and 8 P100, BERT-Large", "AMP, mixed model, authors' times", "AMP, mixed model, from the network",
            "DAPPLE, configuration A, BERT-48")
PLANNERS = ("auto", "amp", "megatron", "data-parallel", "dapple", "pipedream", "whale", "alpa", "amp-uniform-layers",
            "amp-uniform-parameters")
SCHEDULES = ("1f1b", "gpipe", "dapple-b")
PIPELINES = (1, 2, 4, 8, 16)
TOP = 10


def rehearse(job, document, steps, settings=()):
    """(predicted, measured) seconds of a plan."""
    path = planning.generated("rehearsed-plan.json", json.dumps(document))
    file = job if str(job).endswith(".toml") else planning.INPUTS / (job + ".toml")
    command = ["mpirun", "-np", RANKS, measure.PPTRAIN, file, "--steps", steps,
               *planning.settings({**dict(settings), "parallelism.plan": json.dumps(str(path)),
                                   "job.output": json.dumps(str(measure.RESULTS / "runs"))})]
    answer = measure.run(command, {**measure.launcher_settings(), **measure.ONE_THREAD})
    found = SUMMARY.search(answer["output"])
    if not found:
        sys.exit("no summary in the output:\n" + answer["output"][-2000:])
    return measure.seconds(found["predicted"]), measure.seconds(found["measured"])


def compare(comparison, steps):
    title, job, plans, ratios, *more = comparison
    settings = more[0] if more else {}
    rows = {}
    for name, (planner, options) in plans.items():
        document = planning.plan(job, planner, **{key.replace(".", "__"): value for key, value in settings.items()}, **options)
        predicted, measured = rehearse(job, document, steps, settings)
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
    tops = [top_ten(title, job, options.steps) for title, job, *_ in COMPARISONS if title in WITH_TOP]
    planning.keep_section("emulation", section(comparisons, tops))


if __name__ == "__main__":
    main()
