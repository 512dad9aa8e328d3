"""The loss curves of runs: curves.py STEPS TOLERANCE RUN...: each has these steps once, learns, and is like the first one."""
import math
import sys

import h5py

steps, tolerance = int(sys.argv[1]), float(sys.argv[2])
curves = []
for run in sys.argv[3:]:
    with h5py.File(run + "/metrics.h5", "r", swmr=True) as file:
        assert list(file["steps/step"]) == list(range(1, steps + 1)), (run, list(file["steps/step"]))
        loss = [float(value) for value in file["steps/loss"]]
        assert file["environment"].attrs["job_id"], run
        seconds = file["steps/iteration_seconds"]
        assert all(value > 0.0 for value in seconds) and file["ranks/compute_seconds"].shape[0] == steps, run
    assert all(map(math.isfinite, loss)) and loss[-1] < 0.8 * loss[0], (run, loss[0], loss[-1])
    curves.append(loss)
for run, curve in zip(sys.argv[4:], curves[1:]):
    differences = [abs(a - b) / abs(a) for a, b in zip(curves[0], curve)]
    assert max(differences) <= tolerance, (run, max(differences), differences.index(max(differences)) + 1)
print("curves of", len(curves), "runs agree")
