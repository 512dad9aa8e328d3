#!/usr/bin/python3
"""Writes docs/performance.md from what the measuring scripts left in build/benchmarks/; what was not measured here stays."""

import json
import sys

import measure


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def provenance(result):
    machine = result["machine"]
    return "{}, commit {}, {}, {} cores, flags: {}.".format(
        result["date"], result["revision"], machine["cpu"], machine["cores"], " ".join(machine["flags"]) or "none")


def peer(result):
    rows = [[row["shape"], row["precision"], f"{row['ours']:.3f}", f"{row['peer']:.3f}", f"{row['ratio']:.2f}",
             f"{row['resident'] / 1e9:.2f}", f"{row['peer_resident'] / 1e9:.2f}"] for row in result["rows"]]
    version = result["rows"][0]["torch_version"]
    header = ("shape", "precision", "pptrain, s", f"PyTorch {version}, s", "PyTorch / pptrain",
              "pptrain, GB", "PyTorch, GB")
    return "One rank, one thread, CPU seconds a step (forward, backward, AdamW) and peak resident memory, " \
        "run in turns on the same core. bf16: fp32 master weights against PyTorch's autocast.\n\n" + table(header, rows)


def ranks(result):
    rows = [[row["model"], str(row["ranks"]), row["grid"], row["plan"], f"{row['cpu_seconds']:.3f}", f"{row['ratio']:.2f}"]
            for row in result["rows"]]
    header = ("ranks", "grid asked for (DP x PP x TP)", "plan run", "CPU seconds a step", "of one rank")
    return "User and system seconds of all ranks together for one step of " \
        f"{measure.shape_text(measure.SMALL)}, fp32.\n\n" + table(header, rows)


WAITS_AT_SUMS = (
    "Ranks that share a tensor meet at every sum, and the faster one waits each time. No prediction has such waits, so that plans with "
    "tensor parallelism take longer than predicted where passes vary from step to step.")


def prediction(result):
    rows = [[row["model"], str(row["ranks"]), row["grid"], str(row["micro_batch"]), row["schedule"], f"{row['predicted']:.3f}",
             f"{row['measured']:.3f}", f"{row['error']:+.1%}"] for row in result["rows"]]
    within = sum(abs(row["error"]) <= 0.10 for row in result["rows"])
    header = ("model", "ranks", "DP x PP x TP", "micro-batch", "schedule", "predicted, s", "measured, s", "error")
    return f"Seconds of an iteration in fp32, {measure.SMALL['batch']} samples; measured: the median step. " \
        f"{within} of {len(rows)} within 10 %.\n\n" + table(header, rows) + "\n\n" + WAITS_AT_SUMS


def profiles(result):
    rows = [[row["model"], f"{row['within']} of {row['layers']}", f"{row['worst']} ({row['share']:.1%})", f"{row['error']:+.0%}",
             f"{row['moved']:.1%}", f"{row['ratio']:.2f}"] for row in result["rows"]]
    header = ("model", "layers within 25 %", "furthest off (share of the step)", "by", "of the step in other layers",
              "time computed / measured")
    return "Share that each layer has of a step, in a profile that is computed from rates against one that is measured; layers of at " \
        "least 1 % of the step.\n\n" + table(header, rows)


def execution(result):
    rows = [[row["schedule"], row["chunks"], row["unit"], "{} x {}".format(row["pipeline"], row["data"]),
             row["micro_batches"], f"{row['simulated']:.4f}", f"{row['measured']:.4f}", f"{row['error']:+.1%}",
             row["stored"]] for row in result["rows"]]
    header = ("schedule", "V", "U", "pp x dp", "micro-batches", "simulated, s", "measured, s", "error", "stored, rank 0")
    return "Seconds of an iteration whose layers wait a fixed time (8 to 16 ms per pass) instead of computing; order of the " \
        "tasks and peak of stored activations are the simulated ones on every rank.\n\n" + table(header, rows)


def kernels(result):
    rows = [[row["name"], f"{row['seconds'] * 1e6:.1f}", row["rate"]] for row in result["rows"]]
    return "Kernels alone, one thread.\n\n" + table(("kernel", "CPU time, us", "rate"), rows)


def planning_cell(row):
    if "refused" in row:
        return "none in time" if "was ended before" in row["refused"] else "no plan"
    cell = "{:.3g} s".format(row["seconds"])
    if row["iteration_seconds"] is None:
        return cell
    stopped = "" if row["complete"] else ", stopped"
    return "{}, {:.0f} MB, {:.4g} s ({:.2f}){}".format(
        cell, row["resident"] / 1e6, row["iteration_seconds"], row["iteration_seconds"] / row["bound_seconds"], stopped)


def simulated_plans(rows):
    """Schedules by numbers of devices."""
    cells = {tuple(row["job"].rsplit(", ", 1)): "{:.0f}".format(row["items_per_second"]) for row in rows}
    schedules = list(dict.fromkeys(schedule for schedule, _ in cells))
    devices = list(dict.fromkeys(devices for _, devices in cells))
    return "Plans simulated in a second, one thread: eight stages of replicas, 96 layers, a batch of 128 samples for each replica; each plan " \
        "has other cuts, or twice as many samples at a time, than the one before. Orders of `zeropp` and `auto` are searched for each.\n\n" + \
        table(["schedule"] + devices, [[schedule] + [cells.get((schedule, d), "") for d in devices] for schedule in schedules])


def planners(result):
    simulated = [row for row in result["rows"] if row["planner"] == "simulated plans"]
    result = {"rows": [row for row in result["rows"] if row["planner"] != "simulated plans"]}
    jobs = list(dict.fromkeys(row["job"] for row in result["rows"]))
    cells = {(row["planner"], row["job"]): planning_cell(row) for row in result["rows"]}
    names = list(dict.fromkeys(row["planner"] for row in result["rows"]))
    rows = [[planner] + [cells.get((planner, job), "") for job in jobs] for planner in names]
    return "Seconds of a search on all cores, with the alternatives printed beside its plan, peak resident memory, " \
        "the predicted iteration and, in brackets, how many times the lower bound that is; `stopped`: the best so " \
        "far, of `auto` when its work was spent, of planners of papers after 30 s of wall time, the default of `[planner] time_limit`. The first instance is AMP's heterogeneous cluster, the " \
        "second the same with four times the nodes of four times the devices; the others mix v100 and t4 nodes, and all " \
        "their layers differ (`tests/planners/large_instances.hpp`).\n\n" + \
        table(["planner"] + jobs, rows) + ("\n\n" + simulated_plans(simulated) if simulated else "")


def checkpoint(result):
    rows = [[str(row["ranks"]), row["grid"], f"{row['bytes'] / 1e9:.2f}", f"{row['seconds']:.2f}",
             f"{row['plain_seconds']:.2f}", f"{row['share']:.0%}"] for row in result["rows"]]
    header = ("ranks", "DP x PP x TP", "GB", "checkpoint, s", "one plain file, s", "of its rate")
    return f"Checkpoints of {result['rows'][0]['shape']} with AdamW (weights, m, v in fp32) beside one process that writes " \
        "one file of as many bytes in the same folder, both with fsync; best of twelve.\n\n" + table(header, rows)


def building(result):
    totals = [[f"`{row['command']}`", f"{row['seconds'] / 60:.1f}", f"{row['cpu_seconds'] / 60:.1f}",
               ", ".join(f"{name} {seconds:.0f} s" for name, seconds in row["parts"])] for row in result["rows"]]
    text = "In a fresh clone without any cache, packages as the machine had them.\n\n" + table(
        ("command", "minutes", "CPU minutes", "of that"), totals)
    for row in result["rows"]:
        for title, key in (("CPU seconds by library", "targets"), ("dearest files, CPU seconds", "files")):
            text += "\n\n`{}`, {}: {}.".format(row["command"], title, ", ".join(
                f"{name} {seconds:.1f}" for name, seconds in row[key] if seconds >= 0.05))
    return text


SECTIONS = (("peer", "Whole steps beside PyTorch", peer),
            ("ranks", "What 16 ranks cost", ranks),
            ("prediction", "Predicted and measured", prediction),
            ("profiles", "Computed and measured profiles", profiles),
            ("execution", "Simulated and executed", execution),
            ("planners", "Planning", planners),
            ("checkpoint", "Checkpoints", checkpoint),
            ("kernels", "Kernels", kernels),
            ("building", "What a newcomer waits for", building))


def sections_of(page):
    """What is on the page already, by title."""
    parts = page.split("\n## ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip() for part in parts}


def main():
    target = measure.ROOT / "docs" / "performance.md"
    there = sections_of(target.read_text()) if target.exists() else {}
    parts = ["# Performance\n\nWritten by `benchmarks/report.py` from the last measurements of `./bootstrap.sh bench`; "
             "do not edit."]
    for name, title, render in SECTIONS:
        path = measure.RESULTS / (name + ".json")
        if path.exists():
            result = json.loads(path.read_text())
            there[title] = f"{render(result)}\n\n`./bootstrap.sh bench {name}`: {provenance(result)}"
        if title in there:
            parts.append(f"## {title}\n\n{there[title]}")
    if len(parts) == 1:
        sys.exit("nothing was measured yet: ./bootstrap.sh bench")
    target.write_text("\n\n".join(parts) + "\n")
    print(f"wrote {target.relative_to(measure.ROOT)}")


if __name__ == "__main__":
    main()
