#!/usr/bin/python3
"""Runs the Google Benchmark executable and keeps its figures for the report."""

import json
import os
import pathlib

import measure


def rate(entry):
    """The rate the benchmark counts itself, if any."""
    if "bytes_per_second" in entry:
        return f"{entry['bytes_per_second'] / 1e9:.1f} GB/s"
    if "flop" in entry:
        return f"{entry['flop'] / 1e9:.1f} GFLOP/s"
    if "items_per_second" in entry:
        return f"{entry['items_per_second'] / 1e9:.2f} G items/s"
    return ""


def main():
    build = pathlib.Path(os.path.realpath(measure.PPTRAIN)).parent
    answer = measure.RESULTS / "kernels-raw.json"
    measure.RESULTS.mkdir(parents=True, exist_ok=True)
    measure.run([build / "benchmarks" / "kernels_benchmark", f"--benchmark_out={answer}",
                 "--benchmark_out_format=json"], measure.ONE_THREAD)
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    rows = [{"name": entry["name"], "seconds": entry["cpu_time"] * unit[entry["time_unit"]], "rate": rate(entry)}
            for entry in json.loads(answer.read_text())["benchmarks"]]
    for row in rows:
        print("{name:40s} {us:10.1f} us {rate}".format(us=row["seconds"] * 1e6, **row))
    measure.save("kernels", rows)


if __name__ == "__main__":
    main()
