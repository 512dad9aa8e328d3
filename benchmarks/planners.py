#!/usr/bin/python3
"""Planning times: every planner on four instances, each in a process of its own so that its peak memory is its own; and
plans simulated in a second."""

import argparse
import json
import os
import pathlib

import measure

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def benchmarks(executable, pattern):
    listed = measure.run([executable, "--benchmark_list_tests", f"--benchmark_filter={pattern}"], measure.ONE_THREAD)
    return [line.removesuffix("/iterations:1") for line in listed["output"].splitlines() if "/" in line]


def measured(executable, name):
    answer = measure.RESULTS / "planners-raw.json"
    result = measure.run([executable, f"--benchmark_filter=^{name}(/iterations:1)?$", f"--benchmark_out={answer}",
                          "--benchmark_out_format=json"], measure.ONE_THREAD)
    entry = json.loads(answer.read_text())["benchmarks"][0]
    planner, job = name.split("/", 1)
    row = {"planner": planner, "job": job, "resident": result["resident"]}
    if entry.get("error_occurred"):
        return {**row, "refused": entry["error_message"]}
    row["seconds"] = entry["real_time"] * UNITS[entry["time_unit"]]
    for key in ("candidates", "iteration_seconds", "bound_seconds", "complete", "items_per_second"):
        row[key] = entry.get(key)
    return row


def text_of(row):
    if "refused" in row:
        return "no plan: " + row["refused"][:100]
    text = "{seconds:10.4f} s, {megabytes:.0f} MB".format(megabytes=row["resident"] / 1e6, **row)
    if row["items_per_second"] is not None:
        text += ", {items_per_second:.0f} in a second".format(**row)
    if row["iteration_seconds"] is not None:
        gap = row["iteration_seconds"] / row["bound_seconds"]
        text += ", iteration {iteration_seconds:.4g} s, at most {gap:.3f} times the optimum".format(gap=gap, **row)
        text += "" if row["complete"] else ", stopped"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default=".", help="a regular expression of PLANNER/INSTANCE")
    options = parser.parse_args()
    executable = pathlib.Path(os.path.realpath(measure.PPTRAIN)).parent / "benchmarks" / "planning_benchmark"
    measure.RESULTS.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in benchmarks(executable, options.filter):
        rows.append(measured(executable, name))
        print(f"{name:45s} {text_of(rows[-1])}", flush=True)
    if options.filter == ".":
        measure.save("planners", rows)


if __name__ == "__main__":
    main()
