"""Finds constants of the model of kernels from published runs."""

import concurrent.futures
import math

from published import runs

# What limits a constant where runs say little: parts of something, and what data sheets and measurements of others allow.
LIMITS = {"products": (0.3, 1.05), "attention": (0.1, 1.05), "link.share": (0.6, 1.0), "uplink.share": (0.6, 1.0),
          "align": (0.05, 1.0), "elementwise": (0.1, 4.0), "beside": (0.01, 0.8), "scores.products": (0.2, 1.2),
          "scores.forward": (1.0, 12.0), "scores.backward": (1.0, 16.0), "inner": (4.0, 200.0), "blocking": (0.02, 0.4),
          "launch": (1e-6, 60e-6), "launch.arm": (1.0, 6.0), "link.half": (1e4, 1e7), "link.start": (1e-6, 2e-4)}
KNEE = 0.08  # errors beyond it count as they are and not squared: some published runs are odd
PULL = 0.04  # of a constant towards where it was, in logarithms


def limits_of(name):
    return LIMITS.get(name) or LIMITS.get(name.split(".")[0], (1e-12, 1e12))


def loss(ratios):
    total = 0.0
    for ratio in ratios:
        square = (math.log(ratio) / KNEE) ** 2
        total += 2.0 * (math.sqrt(1.0 + square) - 1.0)
    return total


class Problem:
    def __init__(self, given):
        self.given = given
        halves = [given[0::2], given[1::2]]
        self.order = halves[0] + halves[1]
        self.predictors = [runs.Predictor(half) for half in halves]
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def logs(self, constants):
        """Logarithm of predicted over measured of each run."""
        found = self.pool.map(lambda predictor: predictor(constants), self.predictors)
        seconds = [one for half in found for one, _ in half]
        return [math.log(predicted / run.seconds) for predicted, run in zip(seconds, self.order)]

    def close(self):
        for predictor in self.predictors:
            predictor.close()



def solve(matrix, vector):
    """Gauss's elimination with pivots."""
    size = len(vector)
    rows = [list(row) + [value] for row, value in zip(matrix, vector)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            if factor:
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (rows[i][size] - sum(rows[i][k] * found[k] for k in range(i + 1, size))) / rows[i][i]
    return found


def step_of(columns, logs, damping):
    """Gauss-Newton with weights for the knee, and damped by Levenberg and Marquardt."""
    weights = [1.0 / math.sqrt(1.0 + (value / KNEE) ** 2) for value in logs]
    size = len(columns)
    matrix = [[sum(w * a * b for w, a, b in zip(weights, columns[i], columns[k])) for k in range(size)] for i in range(size)]
    for i in range(size):
        matrix[i][i] += PULL + damping * (matrix[i][i] + 0.01)
    return solve(matrix, [-sum(w * a * b for w, a, b in zip(weights, columns[i], logs)) for i in range(size)])


def moved(constants, names, step):
    made = dict(constants)
    for name, by in zip(names, step):
        least, most = limits_of(name)
        made[name] = min(max(constants[name] * math.exp(max(-0.7, min(0.7, by))), least), most)
    return made


def fit(given, rounds):
    """The constants that fit these runs best, from those of the last fit."""
    constants = runs.read_constants()
    names = sorted(constants)
    problem = Problem(given)
    logs = problem.logs(constants)
    best, damping, width = loss(map(math.exp, logs)), 0.03, 0.02
    for number in range(rounds):
        columns = []
        for name in names:
            changed = problem.logs({**constants, name: constants[name] * math.exp(width)})
            columns.append([(a - b) / width for a, b in zip(changed, logs)])
        for _ in range(4):
            step = step_of(columns, logs, damping)
            tried = moved(constants, names, step)
            found = problem.logs(tried)
            value = loss(map(math.exp, found))
            if value < best:
                constants, logs, best, damping = tried, found, value, damping / 3.0
                break
            damping *= 5.0
        print(f"round {number + 1}: {best:.1f}", flush=True)
    problem.close()
    return constants
