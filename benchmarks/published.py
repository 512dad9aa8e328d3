#!/usr/bin/python3
"""Predictions beside published training runs (inputs/published): per source and kind of GPU, and which of the plans of one
job is predicted to be the fastest. `--fit` finds the constants of the model of kernels anew from these runs and writes
src/profile/fitted_constants.inc; build and run it once more to grade with them."""

import argparse
import sys

from published import grades, grades_page, runs
from published.fit import fit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="fit the constants, and write them")
    parser.add_argument("--without", nargs="*", default=[], metavar="SOURCE",
                        help="leave these sources out of the fit: nothing is written, and they are graded apart")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="also print the N rows that are farthest off")
    parser.add_argument("--rounds", type=int, default=4, help="rounds of the fit")
    options = parser.parse_args()
    rows = runs.read()
    if options.fit:
        given = [run for run in rows if run.source not in options.without]
        constants = fit(given, options.rounds)
        if not options.without:
            runs.write_constants(constants)
        print(grades.report(rows, runs.predict(rows, constants), options.worst))
        return 0
    predicted = runs.predict(rows)
    print(grades.report(rows, predicted, options.worst))
    grades_page.write(rows, predicted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
