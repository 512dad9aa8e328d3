#!/usr/bin/python3
"""Predicted against measured seconds of an iteration on one and two ranks: GPT-2 with ten combinations of grid, micro-batch
size and schedule, and one model of each other kind with four."""

import argparse
import json
import statistics

import h5py
import measure

# (ranks, (data, pipeline, tensor), micro-batch size, schedule)
COMBINATIONS = (
    (1, (1, 1, 1), 16, "1f1b"),
    (1, (1, 1, 1), 4, "1f1b"),
    (1, (1, 1, 1), 2, "gpipe"),
    (2, (2, 1, 1), 16, "1f1b"),
    (2, (2, 1, 1), 4, "gpipe"),
    (2, (1, 2, 1), 8, "1f1b"),
    (2, (1, 2, 1), 4, "1f1b"),
    (2, (1, 2, 1), 2, "gpipe"),
    (2, (1, 1, 2), 16, "1f1b"),
    (2, (1, 1, 2), 4, "1f1b"),
)
OF_EACH_FAMILY = (
    (1, (1, 1, 1), 8, "1f1b"),
    (2, (2, 1, 1), 8, "1f1b"),
    (2, (1, 2, 1), 4, "1f1b"),
    (2, (1, 1, 2), 8, "1f1b"),
)
FAMILIES = (measure.LLAMA, measure.BERT, measure.VIT, measure.T5, measure.RESNET, measure.MIXTRAL)
UNSTEADY_STEPS = 2  # the first steps touch memory for the first time


def measured_seconds(run):
    with h5py.File(run / "metrics.h5", "r", swmr=True) as metrics:
        return statistics.median(metrics["/steps/iteration_seconds"][UNSTEADY_STEPS:].tolist())


def model_name(shape):
    return shape["name"] if "family" in shape else "GPT-2 " + shape["name"]


def compare(shape, combination, steps):
    ranks, grid, micro_batch, schedule = combination
    name = "prediction-{}-{}-{}-{}".format(shape.get("family", "gpt2"), "x".join(map(str, grid)), micro_batch, schedule)
    config = measure.write_config(shape, name, grid=grid, micro_batch=micro_batch, schedule=schedule)
    measure.train(config, ranks, steps)
    run = measure.latest_run(name)
    predicted = json.loads((run / "plan.json").read_text())["predicted"]["iteration_seconds"]
    measured = measured_seconds(run)
    return {"model": model_name(shape), "ranks": ranks, "grid": "x".join(map(str, grid)), "micro_batch": micro_batch, "schedule": schedule,
            "predicted": predicted, "measured": measured, "error": predicted / measured - 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--tolerance", type=float, default=0.10)
    options = parser.parse_args()
    rows = []
    runs = [(measure.SMALL, combination) for combination in COMBINATIONS]
    runs += [(family, combination) for family in FAMILIES for combination in OF_EACH_FAMILY]
    for shape, combination in runs:
        row = compare(shape, combination, options.steps)
        rows.append(row)
        print("{model}, {ranks} ranks, DP x PP x TP {grid}, micro-batch {micro_batch:2d}, {schedule:5s}: predicted "
              "{predicted:.3f} s, measured {measured:.3f} s, error {error:+.1%}".format(**row), flush=True)
    within = sum(abs(row["error"]) <= options.tolerance for row in rows)
    print("{} of {} within {:.0%}".format(within, len(rows), options.tolerance))
    measure.save("prediction", rows)


if __name__ == "__main__":
    main()
