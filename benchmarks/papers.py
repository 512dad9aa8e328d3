#!/usr/bin/python3
"""Plans the experiments of the papers with their inputs in inputs/ and writes docs/papers.md: ours beside what was
published. A paper is a module of benchmarks/published with a function `section()`."""

import datetime
import sys
import time

import measure
import planning
from published import alpa, amp, correlation, dapple, whale, zeropp

SECTIONS = (amp.section, dapple.section, whale.section, zeropp.section, alpa.section, correlation.section)

HEAD = """# Published experiments

Written by `./bootstrap.sh bench papers`; do not edit. Planned from the files of [`inputs/`](../inputs) with no
machine at hand; published figures are in `benchmarks/papers.json`, each with its source. Predictions are
[simulated](simulation.md) iterations, estimates the closed forms of [COST](cost.md): ratios between plans are to be
compared, not seconds with seconds, unless times of the same hardware and software are in the profile.
`tests/planners/published_orders_test.cpp` holds the orders."""


def main():
    start = time.monotonic()
    parts = [HEAD]
    for section in SECTIONS:
        parts.append(section())
        print(f"{section.__module__}: done after {time.monotonic() - start:.0f} s", flush=True)
    if planning.kept_section("emulation"):
        parts.append(planning.kept_section("emulation"))
    parts.append("`./bootstrap.sh bench papers`: {}, commit {}, {} s on one core of {}.".format(
        datetime.date.today().isoformat(), measure.revision(), round(time.monotonic() - start), measure.machine()["cpu"]))
    target = measure.ROOT / "docs" / "papers.md"
    target.write_text("\n\n".join(parts) + "\n")
    print(f"wrote {target.relative_to(measure.ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
