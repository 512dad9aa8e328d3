"""curves.py STEPS COMPARED TOLERANCE RUN...: the loss curve of each run has these steps once, falls, and is as that of the first
run; of these steps so many are compared, as differences grow with every step."""
import math
import sys

import h5py

steps, compared, tolerance = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
curves = []
for run in sys.argv[4:]:
    with h5py.File(run + "/metrics.h5", "r", swmr=True) as file:
        assert list(file["steps/step"]) == list(range(1, steps + 1)), (run, list(file["steps/step"]))
        loss = [float(value) for value in file["steps/loss"]]
        assert file["environment"].attrs["job_id"], run
        seconds = file["steps/iteration_seconds"]
        assert all(value > 0.0 for value in seconds) and file["ranks/compute_seconds"].shape[0] == steps, run
    assert all(map(math.isfinite, loss)) and loss[-1] < 0.8 * loss[0], (run, loss[0], loss[-1])
    curves.append(loss)
for run, curve in zip(sys.argv[5:], curves[1:]):
    differences = [abs(a - b) / abs(a) for a, b in zip(curves[0][:compared], curve)]
    assert max(differences) <= tolerance, (run, max(differences), differences.index(max(differences)) + 1)
print("curves of", len(curves), "runs agree")
