#!/usr/bin/python3
"""Simulated against measured seconds of an iteration for every schedule, with layers that only wait: the tests of
tests/runtime/execution_test.cpp by the machine's clock, where they hold to 5 %, asked for their figures."""

import os
import re
import subprocess

import measure

RANKS = (4, 8)
# Without blanks, since the tests wrap their lines anywhere.
LINE = re.compile(r"message:(?P<schedule>[a-z0-9-]+?)V(?P<chunks>\d+)U(?P<unit>\d+),pp(?P<pipeline>\d+)xdp(?P<data>\d+),"
                  r"(?P<micro_batches>\d+)micro-batches:simulated(?P<simulated>[\d.]+)s,measured(?P<measured>[\d.]+)s,"
                  r"stored(?P<stored>\d+)")
ENVIRONMENT = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "PPTRAIN_TEST_CLOCK": "machine"}


def rows_of(ranks):
    command = ["mpirun", "--bind-to", "none", "-np", str(ranks), str(measure.ROOT / "build" / "tests" / "test_runtime"),
               "*simulated time*[np{}]".format(ranks), "--success"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **ENVIRONMENT})
    rows = {}
    for match in LINE.finditer("".join(run.stdout.split())):
        row = {name: float(value) if name in ("simulated", "measured") else value
               for name, value in match.groupdict().items()}
        row["error"] = row["measured"] / row["simulated"] - 1
        rows[match.group(0)] = {"ranks": ranks, **row}
    return list(rows.values())


def main():
    rows = [row for ranks in RANKS for row in rows_of(ranks)]
    for row in rows:
        print("{schedule:17s} pp {pipeline} x dp {data}: simulated {simulated:.4f} s, measured {measured:.4f} s, "
              "{error:+.1%}".format(**row))
    measure.save("execution", rows)


if __name__ == "__main__":
    main()
