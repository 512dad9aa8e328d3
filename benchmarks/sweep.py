#!/usr/bin/python3
"""How long `pptrain sweep` takes: Llama 3 8B on five clusters of 64 devices, two of them mixed, with ten batch sizes, each
point planned with little effort."""

import measure

CLUSTERS = ["8x dgx-h100", "8x dgx-a100-40", "8x p3.16xlarge", "4x dgx-h100, 4x dgx-a100-80", "6x dgx-h100, 2x dgx-a100-40"]
BATCHES = [64, 96, 128, 160, 192, 256, 320, 384, 512, 1024]


def main():
    command = [measure.PPTRAIN, "sweep", "--model", measure.ROOT / "inputs" / "models" / "llama-3-8b",
               "--global-batch-size", ",".join(map(str, BATCHES)), "--set", "planner.effort=quick", "-q"]
    for cluster in CLUSTERS:
        command += ["--cluster", cluster]
    measure.RESULTS.mkdir(parents=True, exist_ok=True)
    taken = measure.run(command)
    points = len(CLUSTERS) * len(BATCHES)
    print("{} points of 64 devices: {wall:.1f} s, {cpu:.0f} CPU s".format(points, **taken))


if __name__ == "__main__":
    main()
