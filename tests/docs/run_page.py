#!/usr/bin/env python3
"""Executes the shell blocks of a page, one after another in one fresh folder, and compares what they promise.

    run_page.py PPTRAIN SOURCE PAGE.md ...

A fenced block `sh` is executed by bash -e; variables and folder stay for the next one. Words behind `sh`:
    skip    not executed (it needs another machine, or takes long)
    exit=N  has to end with exit code N
A block `python run` is executed in the same folder by the Python that PPTRAIN_MODEL_PYTHON names (this one without). Where that lacks
a package that the block imports, the block is SKIPPED, visibly, and so is what it promises; all others done, the exit code is 77.
A fenced block `text` behind either is what its output, standard error included, has to hold: its lines, in this order.
`...` stands for anything, a line of dots alone for any lines. Words behind `text`:
    like        numbers and bars may be others
    within=2%   numbers may differ by so much
In the folder are `pptrain`, `inputs`, `job-scripts` and `env.sh`, as in the root of the repository after a build.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
TIMEOUT_SECONDS = 600  # beyond what any block takes, on a slow and busy machine too


def blocks_of(page):
    """(line, kind, words, text) of every fenced block."""
    found = []
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    index = 0
    while index < len(lines):
        match = re.match(r"^```(\S*)(.*)$", lines[index])
        if not match:
            index += 1
            continue
        start = index + 1
        index = start
        while lines[index].rstrip() != "```":
            index += 1
        found.append((start, match.group(1), match.group(2).split(), lines[start:index]))
        index += 1
    return found


def words_pattern(line, numbers_differ):
    """Splits a promised line into a regular expression and the numbers that it promises."""
    pattern, numbers = "", []
    for part in re.split(r"(\.\.\.|" + NUMBER + r"|\[[#.]+\]|\s+)", line.strip()):
        if part == "...":
            pattern += ".*?"
        elif re.fullmatch(r"\s+", part):
            pattern += r"\s+"
        elif numbers_differ and re.fullmatch(r"\[[#.]+\]", part):
            pattern += r"\[[#.]+\]"
        elif numbers_differ and re.fullmatch(NUMBER, part):
            pattern += f"({NUMBER})"
            numbers.append(float(part))
        else:
            pattern += re.escape(part)
    return re.compile(pattern + r"\s*$"), numbers


def tolerance_of(words):
    for word in words:
        if word == "like":
            return float("inf")
        if word.startswith("within="):
            return float(word[len("within=") :].rstrip("%")) / 100
    return None


def holds(line, promised, tolerance):
    pattern, numbers = words_pattern(promised, tolerance is not None)
    found = pattern.match(line.strip())
    if not found:
        return False
    return all(abs(float(a) - b) <= tolerance * abs(b) for a, b in zip(found.groups(), numbers))


def first_broken_promise(output, promised, tolerance):
    """The first promised line that the output lacks behind the one before; None if there is none."""
    # A search that takes more than a second says how far it is, which depends on how free the machine is.
    lines = [line for line in output.split("\n") if not line.startswith("planning for ")]
    at = 0
    anywhere = True  # the first line may stand anywhere, the others follow one another
    for line in promised:
        if line.strip() in ("...", ""):
            anywhere = True
            continue
        found = next((i for i in range(at, len(lines)) if holds(lines[i], line, tolerance)), None)
        if found is None or (not anywhere and any(text.strip() for text in lines[at:found])):
            return line
        at = found + 1
        anywhere = False
    return None


def lacks_package(python, script):
    """The first module that the script imports and this Python has not; None if there is none."""
    modules = re.findall(r"^(?:import|from) (\w+)", script, re.MULTILINE)
    find = "import importlib.util, sys; print(*(m for m in sys.argv[1:] if importlib.util.find_spec(m) is None))"
    done = subprocess.run([python, "-c", find, *modules], capture_output=True, text=True, check=True)
    return next(iter(done.stdout.split()), None)


class Shell:
    """A bash that keeps folder and variables from block to block."""

    def __init__(self, folder, environment):
        self.state = os.path.join(folder, ".state")
        self.folder = folder
        self.environment = environment

    def run(self, script):
        before = f". {self.state} 2>/dev/null || true\n" if os.path.exists(self.state) else ""
        # The state is saved however the block ends; read-only variables of bash are left alone.
        save = f'trap \'code=$?; {{ declare -p | grep -v "^declare -[a-zA-Z]*r"; declare -f; printf "cd %q\\n" "$PWD"; }} >{self.state}; exit $code\' EXIT\n'
        process = subprocess.Popen(
            ["bash", "-c", before + save + "set -e\n" + script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what the block started too
            output, _ = process.communicate()
            output += f"\nstill running after {TIMEOUT_SECONDS} s\n"
        return process.returncode, output


def workplace(folder, pptrain, source):
    os.symlink(pptrain, os.path.join(folder, "pptrain"))
    for name in ("inputs", "job-scripts", "docs"):
        os.symlink(os.path.join(source, name), os.path.join(folder, name))
    # Written by bootstrap.sh for a machine; here as much as is needed to start a few ranks anywhere.
    with open(os.path.join(folder, "env.sh"), "w", encoding="utf-8") as file:
        file.write("export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n")
        file.write("export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none\n")
        file.write("export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none\n")


def environment_of(folder):
    environment = dict(os.environ)
    environment.update(HOME=folder, XDG_CACHE_HOME=os.path.join(folder, "cache"), NO_COLOR="1", LC_ALL="C.UTF-8")
    return environment


def execute(page, pptrain, source):
    """How many blocks were executed and how many skipped; raises AssertionError where a promise is broken."""
    blocks = blocks_of(page)
    executed, skipped = 0, 0
    with tempfile.TemporaryDirectory(prefix="pptrain_page.", ignore_cleanup_errors=True) as folder:
        workplace(folder, pptrain, source)
        shell = Shell(folder, environment_of(folder))
        python = os.environ.get("PPTRAIN_MODEL_PYTHON") or sys.executable
        output = None
        for line, kind, words, text in blocks:
            if kind == "sh":
                output = None
                if "skip" in words:
                    continue
                expected = next((int(word[5:]) for word in words if word.startswith("exit=")), 0)
                start = time.monotonic()
                code, output = shell.run("\n".join(text) + "\n")
                executed += 1
                print(f"  {page}:{line}: {time.monotonic() - start:.1f} s", flush=True)
                assert code == expected, (
                    f"{page}:{line}: exit code {code} instead of {expected}; it said\n{output}"
                )
            elif kind == "python" and "run" in words:
                script = "\n".join(text) + "\n"
                missing = lacks_package(python, script)
                if missing is not None:
                    print(f"  {page}:{line}: SKIPPED, {python} has no {missing}", flush=True)
                    output = None
                    skipped += 1
                    continue
                start = time.monotonic()
                code, output = shell.run(f"{shlex.quote(python)} - <<'PYTHON'\n{script}PYTHON\n")
                executed += 1
                print(f"  {page}:{line}: {time.monotonic() - start:.1f} s", flush=True)
                assert code == 0, f"{page}:{line}: exit code {code} of {python}; it said\n{output}"
            elif kind == "text" and output is not None:
                broken = first_broken_promise(output, text, tolerance_of(words))
                assert broken is None, f"{page}:{line}: promised but not there:\n{broken}\nit said\n{output}"
    return executed, skipped


def main():
    pptrain, source, pages = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    failures, skips = 0, 0
    for page in pages:
        start = time.monotonic()
        try:
            executed, skipped = execute(page, pptrain, source)
        except AssertionError as error:
            print(f"FAILED {page}: {error}")
            failures += 1
            continue
        skips += skipped
        print(f"ok {page}: {executed} blocks in {time.monotonic() - start:.1f} s")
    return 1 if failures else 77 if skips else 0


if __name__ == "__main__":
    sys.exit(main())
