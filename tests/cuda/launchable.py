#!/usr/bin/env python3
"""Whether every kernel can be launched on every GPU: the registers that ptxas gives it, for the most
threads that a block of it had in the tests, fit into a multiprocessor, and so does its shared memory. A
kernel that did not run there counts with one warp.

launchable.py PTXAS LAUNCHES ARCHITECTURE=FILE:FILE... ...
LAUNCHES has a line for each kernel that ran: symbol and threads. Of each architecture the files are
assembled for the GPUs that `gpus` names. Prints a table; exit code 1 where a kernel cannot start."""
import re
import subprocess
import sys

registers_of_multiprocessor, registers_together, lanes = 65536, 8, 32
most_static_shared = 48 * 1024
gpus = {"75": ["75"], "80": ["80", "86", "89"], "90": ["90", "100", "120"]}
used = re.compile(r"Compiling entry function '(\S+)' for.*?Used (\d+) registers([^\n]*)", re.DOTALL)


def resources(ptxas, path, gpu):
    """Symbol, registers of a thread and bytes of shared memory of each kernel of a file."""
    told = subprocess.run(
        [ptxas, "-v", f"-arch=sm_{gpu}", path, "-o", "/dev/null"], capture_output=True, text=True, check=True
    ).stderr
    for symbol, registers, rest in used.findall(told):
        shared = re.search(r"(\d+) bytes smem", rest)
        yield symbol, int(registers), int(shared.group(1)) if shared else 0


def registers_of_block(registers, threads):
    """Registers that a block takes: warps get whole numbers of `registers_together` for a lane."""
    whole = (registers + registers_together - 1) // registers_together * registers_together
    return whole * lanes * ((threads + lanes - 1) // lanes)


def main():
    ptxas, launches, *files = sys.argv[1:]
    with open(launches, encoding="utf-8") as lines:
        threads = {symbol: int(count) for symbol, count in (line.split() for line in lines)}
    assert threads, "no kernel ran"
    failed = 0
    print(f"{'GPU':>5} {'kernels':>8} {'ran in tests':>13} {'most registers of a block':>26} {'shared memory':>14}")
    for architecture, paths in (argument.split("=") for argument in files):
        for gpu in gpus[architecture]:
            kernels = ran = most = most_shared = 0
            for path in paths.split(":"):
                for symbol, registers, shared in resources(ptxas, path, gpu):
                    kernels += 1
                    ran += symbol in threads
                    count = threads.get(symbol, lanes)
                    of_block = registers_of_block(registers, count)
                    most, most_shared = max(most, of_block), max(most_shared, shared)
                    if of_block > registers_of_multiprocessor or shared > most_static_shared:
                        failed += 1
                        print(f"launchable: sm_{gpu}: {symbol}: {registers} registers x {count} threads, "
                              f"{shared} bytes of shared memory")
            print(f"{int(gpu) / 10:>5} {kernels:>8} {ran:>13} {most:>17} of {registers_of_multiprocessor} {most_shared:>14}")
            assert kernels > 0 and ran > 0, f"sm_{gpu}: {kernels} kernels, of which {ran} ran"
    sys.exit(1 if failed else 0)


main()
