#!/usr/bin/python3
"""CPU seconds (user + system) of a step on 16 ranks, for each grid and for the one `auto` chooses, against
one rank with the same global batch. Where ranks outnumber the cores this is what the step costs."""

import argparse
import json

import measure

RANKS = 16


def grids(shape):
    """Every (data, pipeline, tensor) with product 16 in powers of two that the shape admits."""
    powers = (1, 2, 4, 8, 16)
    return [(data, pipeline, tensor) for tensor in powers for pipeline in powers for data in powers
            if data * pipeline * tensor == RANKS and shape["heads"] % tensor == 0
            and pipeline <= shape["layers"] and shape["batch"] % data == 0]


def chosen_grid(name):
    """The shape of the plan that the newest run of the job followed."""
    plan = json.loads((measure.latest_run(name) / "plan.json").read_text())
    first = plan["stages"][0]
    return "DP {} x PP {} x TP {}, micro-batch {}, {}".format(
        first["replicas"], len(plan["stages"]), first["tensor_parallel"], plan["micro_batch_size"],
        plan["schedule"]["name"])


def measure_grid(shape, grid, ranks, few, many):
    grid_text = "auto" if grid[0] == "auto" else "x".join(map(str, grid))
    name = "ranks-{}-{}".format(ranks, grid_text)
    config = measure.write_config(shape, name, grid=grid)
    measure.train(config, ranks, 1)  # fills the profile cache
    seconds, _ = measure.step_cpu_seconds(config, ranks, few, many)
    return {"grid": grid_text, "ranks": ranks, "cpu_seconds": seconds, "plan": chosen_grid(name)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only-auto", action="store_true", help="leave out the other grids")
    parser.add_argument("--steps", type=int, nargs=2, default=(2, 8), help="of the short and the long run")
    options = parser.parse_args()
    shape = measure.SMALL
    rows = []
    for ranks, grid in [(1, (1, 1, 1)), (RANKS, ("auto",) * 3)] + [
            (RANKS, grid) for grid in ([] if options.only_auto else grids(shape))]:
        row = measure_grid(shape, grid, ranks, *options.steps)
        rows.append(row)
        row["ratio"] = row["cpu_seconds"] / rows[0]["cpu_seconds"]
        print("{ranks:2d} ranks {grid:8s} {cpu_seconds:7.3f} s CPU a step, {ratio:.2f} of one rank ({plan})"
              .format(**row), flush=True)
    if not options.only_auto:
        measure.save("ranks", rows)


if __name__ == "__main__":
    main()
