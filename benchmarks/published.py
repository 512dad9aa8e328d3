#!/usr/bin/python3
"""Predictions beside published training runs (inputs/published): per source and kind of GPU, and which of the plans of one
job is predicted to be the fastest. `--fit` finds the constants of the model of kernels anew from these runs and writes
src/profile/fitted_constants.inc, and how far runs of each source are off by a fit without them; build and run it once more
to grade with them."""

import argparse
import sys

from published import grades, grades_page, runs
from published.fit import at_limits, fit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="fit the constants, and write them")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="also print the N rows that are farthest off")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the fit")
    options = parser.parse_args()
    rows = runs.read()
    if options.fit:
        constants, left_out = fit(rows, options.rounds)
        runs.write_constants(constants)
        grades_page.write_left_out(rows, [left_out[run.id] for run in rows])
        print(grades.report(rows, runs.predict(rows, constants), options.worst))
        print("at their limits: " + ", ".join(at_limits(constants)))
        return 0
    predicted = runs.predict(rows)
    print(grades.report(rows, predicted, options.worst))
    grades_page.write(rows, predicted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
