#!/usr/bin/python3
"""What a newcomer waits for: ./bootstrap.sh run inputs/gpt2.toml in a fresh clone without any cache, and with --test also
./bootstrap.sh test after it. Prints wall and CPU seconds of each part, CPU seconds of each library and of the ten dearest
files; several files of a library that are compiled together are one file here."""

import argparse
import collections
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import measure

LAUNCHER = pathlib.Path(__file__).resolve().parent / "timed_compiler.sh"
PARTS = {"installing": "packages", "configuring": "configuring", "building": "building", "running": "the run",
         "testing": "the tests"}
TIMES = re.compile(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s (.*)")


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def what_failed(printed):
    """What tests printed that failed, and the last lines."""
    start = max(0, len(printed) - 30)
    failed = [i for i, line in enumerate(printed[:start]) if "***" in line and "***Skipped" not in line]
    return "".join("".join(printed[i:min(i + 40, start)]) + "...\n" for i in failed) + "".join(printed[start:])


def follow(command, clone, environment):
    """Runs a command of bootstrap.sh; returns its wall and CPU seconds and the wall seconds of its parts, which end when it
    names the next one."""
    start, before = time.monotonic(), cpu_seconds()
    parts, current, printed = [], None, []
    with subprocess.Popen(command, cwd=clone, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            printed.append(line)
            word = line.removeprefix("bootstrap: ").split(" ")[0] if line.startswith("bootstrap: ") else ""
            if word in PARTS:
                current = [PARTS[word], time.monotonic()]
                parts.append(current)
    end = time.monotonic()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}; it printed\n{what_failed(printed)}")
    limits = [begin for _, begin in parts[1:]] + [end]
    return {"command": " ".join(command), "seconds": end - start, "cpu_seconds": cpu_seconds() - before,
            "parts": [[name, limit - begin] for (name, begin), limit in zip(parts, limits)]}


def compilations(log):
    """CPU seconds of each file that the compiler made."""
    files = collections.Counter()
    for line in log.read_text().splitlines():
        match = TIMES.fullmatch(line)
        if match and match[5]:
            files[match[5]] += 60 * (int(match[1]) + int(match[3])) + float(match[2]) + float(match[4])
    return files


def by_target(files):
    targets = collections.Counter()
    for path, seconds in files.items():
        found = re.search(r"CMakeFiles/(?!cmTC_)([^/]+)\.dir/", path)
        targets[found[1] if found else "linking and configuring"] += seconds
    return targets


def readable(path):
    """src/CMakeFiles/pptrain_nn.dir/Unity/unity_0_cxx.cxx.o as pptrain_nn/unity_0, others by their source."""
    together = re.search(r"CMakeFiles/([^/]+)\.dir/Unity/(unity_\d+)", path)
    return f"{together[1]}/{together[2]}" if together else re.sub(r"CMakeFiles/[^/]+\.dir/|\.o$", "", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", action="store_true", help="run the tests too")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="pptrain-clone-") as folder:
        clone, log = pathlib.Path(folder, "clone"), pathlib.Path(folder, "compilations")
        subprocess.run(["git", "clone", "--quiet", str(measure.ROOT), str(clone)], check=True)
        environment = {**os.environ, "CCACHE_DISABLE": "1", "CMAKE_CXX_COMPILER_LAUNCHER": str(LAUNCHER),
                       "PPTRAIN_COMPILE_LOG": str(log), "XDG_CACHE_HOME": str(pathlib.Path(folder, "cache"))}
        commands = [["./bootstrap.sh", "run", "inputs/gpt2.toml"]] + [["./bootstrap.sh", "test"]] * arguments.test
        for command in commands:
            log.write_text("")
            row = follow(command, clone, environment)
            files = compilations(log)
            row["targets"] = by_target(files).most_common()
            row["files"] = [[readable(path), seconds] for path, seconds in files.most_common(10)]
            rows.append(row)
            print("{command}: {seconds:.0f} s, {cpu_seconds:.0f} CPU seconds".format(**row))
            for title in ("parts", "targets", "files"):
                print("  " + {"parts": "seconds of its parts", "targets": "CPU seconds by library",
                              "files": "CPU seconds of the dearest files"}[title])
                for name, seconds in row[title]:
                    print(f"    {seconds:7.1f}  {name}")
            sys.stdout.flush()
    measure.save("building", rows)


main()
