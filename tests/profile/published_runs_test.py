#!/usr/bin/env python3
"""The published runs are whole: every trainer is described, every plan divides its layers, devices and batch, and what fits and
grades does so with runs whose answer is known."""

import json
import math
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
from published import fit, grades, runs  # noqa: E402

RUNS = runs.read()


class PublishedRuns(unittest.TestCase):
    def test_plans_divide_everything(self):
        self.assertGreater(len(RUNS), 500)
        for run in RUNS:
            plan = json.loads(run.plan())
            with self.subTest(run.id):
                self.assertEqual(plan["micro_batches"] * plan["micro_batch_size"], run.gbs)
                intervals = [stage["layers"][0] for stage in plan["stages"]]
                self.assertEqual([interval[0] for interval in intervals[1:]], [interval[1] for interval in intervals[:-1]])
                self.assertEqual(intervals[-1][1], run.layers + 2)
                self.assertTrue(all(first < end for first, end in intervals))
                devices = [device for stage in plan["stages"] for row in stage["devices"] for device in row]
                self.assertEqual(len(set(devices)), len(devices))
                self.assertLess(max(devices), sum(node[1] for node in run.nodes()))

    def test_runtimes_are_those_of_the_configuration(self):
        reference = (ROOT / "docs" / "reference" / "config.md").read_text()
        for run in RUNS:
            self.assertTrue(f'"{run.like}"' in reference, run.like)
            self.assertIn(run.attention, ("fused", "stored", "stored-dropout"))

    def test_constants_are_within_the_limits_of_the_fit(self):
        self.assertEqual(set(runs.read_constants()), set(fit.START))
        for name, value in runs.read_constants().items():
            least, most = fit.limits_of(name)
            self.assertTrue(0.99 * least <= value <= 1.01 * most, (name, value))

    def test_equations_are_solved(self):
        self.assertEqual([round(x, 9) for x in fit.solve([[0.0, 2.0], [4.0, 1.0]], [6.0, 7.0])], [1.0, 3.0])

    def test_steps_lead_to_the_least_error(self):
        # Logarithms of ratios that grow with the only constant's: the step takes nearly all of their mean away.
        step = fit.step_of([[1.0] * 50], [0.05] * 50, 0.0)
        self.assertAlmostEqual(step[0], -0.05, delta=0.002)

    def test_constants_concern_runs_of_their_kinds(self):
        problem = fit.Problem.__new__(fit.Problem)  # without programs that predict
        problem.order = RUNS
        for what in ("products", "launch"):
            of_each = [problem.concerned(name) for name in fit.START if name.startswith(what + ".") and name != "launch.arm"]
            self.assertEqual(sum(map(len, of_each)), len(RUNS))
            self.assertEqual(set.union(*of_each), set(range(len(RUNS))))
        self.assertTrue(all(RUNS[i].gpu.startswith("GH200") for i in problem.concerned("launch.arm")))
        kinds = (ROOT / "src" / "profile" / "gpu_kinds.cpp").read_text()
        for word, architecture in fit.ARCHITECTURES.items():
            self.assertIn(f'{{"{word}", {{"{architecture}"', kinds)

    def test_constants_at_their_limits_are_told(self):
        self.assertEqual(fit.at_limits({"inner": 4.0, "link.share": 0.7, "beside": 0.8}), ["beside", "inner"])

    def test_constants_are_pulled_to_where_the_fit_begins(self):
        far = {**fit.START, "inner": 2.0 * fit.START["inner"]}
        self.assertEqual(fit.loss([], fit.START), 0.0)
        self.assertGreater(fit.loss([], far), 0.0)
        step = fit.step_of([[0.0] * 5], [0.0] * 5, 0.0, [0.4])
        self.assertAlmostEqual(step[0], -0.4)

    def test_grades_are_errors_and_ranks(self):
        exact = [(run.seconds, run.peak or 1.0) for run in RUNS]
        found = grades.Grades(RUNS, exact)
        self.assertLess(max(found.raw()), 1e-9)
        self.assertAlmostEqual(found.spearman, 1.0)
        self.assertEqual(set(found.jobs()), {1.0})
        slow = grades.Grades(RUNS, [(1.25 * seconds, peak) for seconds, peak in exact])
        self.assertAlmostEqual(sum(slow.raw()) / len(RUNS), 0.25)
        self.assertLess(max(slow.after_constant()), 1e-9)
        self.assertTrue(math.isnan(grades.spearman([1, 2], [1, 2])))


if __name__ == "__main__":
    unittest.main()
