#!/usr/bin/python3
"""How fast checkpoints are written, beside one large file of as many bytes on the same file system in the same run,
both brought to the disk (fsync). Both are the best of several: what else runs on the machine only slows them down."""

import os
import re
import shutil
import time

import measure

SHAPE = {"name": "L4 H512", "layers": 4, "hidden": 512, "heads": 8, "length": 32, "vocabulary": 50257, "batch": 4}
GRIDS = ((1, (1, 1, 1)), (4, (2, 2, 1)), (4, (1, 2, 2)))  # ranks, (data, pipeline, tensor)
STEPS = 12
LINE = re.compile(r"checkpoint (?P<path>\S+), .* in (?P<value>[\d.]+) (?P<unit>us|ms|s) \(")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
BLOCK = os.urandom(4 << 20)


def plain_seconds(folder, size, number):
    """One process writes one file, 4 MiB at a time; like checkpoints, the one before it goes afterwards."""
    path = folder / f"plain-{number % 2}"
    start = time.monotonic()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for offset in range(0, size, len(BLOCK)):
        os.write(descriptor, BLOCK[:min(len(BLOCK), size - offset)])
    os.fsync(descriptor)
    os.close(descriptor)
    seconds = time.monotonic() - start
    (folder / f"plain-{1 - number % 2}").unlink(missing_ok=True)
    return seconds


def checkpoint_seconds(config, ranks):
    output = measure.run(["mpirun", "-np", ranks, measure.PPTRAIN, config, "--steps", STEPS, "--set",
                          "checkpoint.interval=1", "--set", "checkpoint.keep=1"],
                         {**measure.launcher_settings(), **measure.ONE_THREAD})["output"]
    return [float(match["value"]) * SECONDS[match["unit"]] for match in LINE.finditer(output)]


def measure_grid(shape, ranks, grid):
    name = "checkpoint-" + "x".join(map(str, grid))
    config = measure.write_config(shape, name, grid=grid)
    runs = measure.RESULTS / "runs" / name
    shutil.rmtree(runs, ignore_errors=True)
    ours = checkpoint_seconds(config, ranks)
    size = max(path.stat().st_size for path in runs.glob("*/checkpoints/step-*.h5"))
    plain = [plain_seconds(runs, size, number) for number in range(STEPS)]
    shutil.rmtree(runs)
    return {"ranks": ranks, "grid": "x".join(map(str, grid)), "bytes": size, "seconds": min(ours),
            "plain_seconds": min(plain), "share": min(plain) / min(ours)}


def main():
    rows = []
    for ranks, grid in GRIDS:
        row = {"shape": measure.shape_text(SHAPE), **measure_grid(SHAPE, ranks, grid)}
        rows.append(row)
        print("{ranks} ranks {grid}: {bytes} bytes in {seconds:.2f} s, one plain file in {plain_seconds:.2f} s: "
              "{share:.0%} of its rate".format(**row), flush=True)
    measure.save("checkpoint", rows)


if __name__ == "__main__":
    main()
