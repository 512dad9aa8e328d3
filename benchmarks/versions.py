#!/usr/bin/python3
"""Two builds of pptrain in turns (A B A B ...) on one core: CPU seconds of a step, the memory that its arena reached, and
whether the losses are equal bit for bit. For changes that are to change nothing."""

import argparse
import pathlib
import re
import statistics

import measure


def step(program, config, pin, few=2, many=8):
    """CPU seconds of a step; the loss and memory lines of the longer run's summary."""
    measure.PPTRAIN = program
    seconds, last = measure.step_cpu_seconds(config, 1, few, many, pin)
    memory = re.search(r"memory +(\S+ \S+) measured", last["output"])
    losses = re.search(r"steps +\d+, loss (\S+) to (\S+)", last["output"])
    return seconds, memory.group(1), losses.groups()


def compare(shape, precision, old, new, rounds, core):
    config = measure.write_config(shape, "versions-" + precision, precision, grid=(1, 1, 1), micro_batch=4, schedule="1f1b")
    pin = ("taskset", "-c", core)
    for program in (old, new):
        measure.PPTRAIN = program
        measure.train(config, 1, 1, pin)  # fills the profile cache
    runs = {old: [], new: []}
    for _ in range(rounds):
        for program in (old, new):
            runs[program].append(step(program, config, pin))
    seconds = {program: statistics.median(run[0] for run in runs[program]) for program in runs}
    losses = {run[2] for program in runs for run in runs[program]}
    print("{} {}: {:.3f} s before, {:.3f} s now, ratio {:.3f}; memory {} before, {} now; losses {}".format(
        measure.shape_text(shape), precision, seconds[old], seconds[new], seconds[old] / seconds[new],
        runs[old][0][1], runs[new][0][1], "equal" if len(losses) == 1 else f"DIFFER: {losses}"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=pathlib.Path, help="the program before the change")
    parser.add_argument("new", type=pathlib.Path, nargs="?", default=measure.PPTRAIN, help="the program after it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    for precision in ("fp32", "bf16"):
        for shape in (measure.SMALL, measure.GPT2_124M):
            compare(shape, precision, options.old, options.new, options.rounds, options.core)


if __name__ == "__main__":
    main()
