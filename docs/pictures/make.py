#!/usr/bin/env python3
"""Draws the pictures of README and docs/ from what pptrain says.

    make.py PPTRAIN SOURCE            write them all
    make.py PPTRAIN SOURCE --check    compare with those that are there; exit code 1 where one is out of date
    make.py --record REPORT.html      keep the figures of a run's report as run.json, of which run.svg is drawn

Plans, simulations and printouts are made anew each time, on no machine but by descriptions, so that they are the same everywhere. Numbers
may differ by the last digits of another compiler: --check allows 3 %, or two pixels.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import drawings
from svg import palettes

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def report_of(path):
    """The figures in the page of a report."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search(r'id="data">(.*?)</script>', file.read(), re.DOTALL).group(1))


class Pptrain:
    """The program, with the source's inputs and a folder for what it writes."""

    def __init__(self, program, source, folder):
        self.program, self.source, self.folder = os.path.abspath(program), source, folder

    def run(self, *arguments):
        environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
        done = subprocess.run([self.program, *arguments], cwd=self.source, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def file(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.source, name), encoding="utf-8") as file:
            return file.read()

    def plan(self, *arguments):
        """The report of a plan."""
        page = self.file("plan.html")
        self.run("plan", *arguments, "--set", "planner.time_limit=36000", "--report", page)  # the same plan on a busy machine
        return report_of(page)

    def trace(self, plan, schedule):
        """Events of a simulated schedule of docs/pipelines."""
        path = self.file("trace.json")
        self.run("simulate", "--cluster", "docs/pipelines/cluster.toml", "--profile", "docs/pipelines/profile.json", "--plan",
                 f"docs/pipelines/{plan}.json", "--schedule", schedule, "--trace", path)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]


def same(a, b):
    """Whether two pictures have the same shapes and words, and about the same numbers."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(abs(float(x) - float(y)) <= max(2.0, 0.03 * abs(float(y))) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


def record(page):
    """Keeps what run.svg is drawn of."""
    document = report_of(page)
    job = {key: document["job"][key] for key in ("name", "model", "devices", "nodes", "steps_done", "iteration_seconds", "amount_per_second")}
    series = {key: document["series"][key] for key in ("step", "loss", "seconds")}
    kept = {"job": job, "series": series, "evaluation": document["evaluation"], "timelines": document["timelines"], "nodes": document["nodes"],
            "ranks": [{key: rank[key] for key in ("rank", "device", "peak_bytes", "compute", "communication", "idle")} for rank in document["ranks"]],
            "plans": [{key: document["plans"][-1][key] for key in ("stages", "shape", "schedule", "predicted")}]}
    with open(os.path.join(HERE, "run.json"), "w", encoding="utf-8") as file:
        json.dump(kept, file, separators=(",", ":"))
        file.write("\n")


def main():
    if sys.argv[1] == "--record":
        record(sys.argv[2])
        return 0
    program, source, check = sys.argv[1], os.path.abspath(sys.argv[2]), "--check" in sys.argv
    colours = palettes(source)
    stale = []
    with tempfile.TemporaryDirectory(prefix="pptrain_pictures.") as folder:
        for name, draw in drawings.ALL.items():
            text = draw(Pptrain(program, source, folder)).written(colours)
            path = os.path.join(source, "docs/pictures", name + ".svg")
            if not check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                continue
            with open(path, encoding="utf-8") as file:
                if not same(text, file.read()):
                    stale.append(name)
    for name in stale:
        print(f"docs/pictures/{name}.svg is out of date: docs/pictures/make.py writes it anew")
    if not stale:
        print(f"pictures: {len(drawings.ALL)} {'are as they would be drawn' if check else 'written'}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
