"""Finds constants of the model of kernels from published runs."""

import concurrent.futures
import math

from published import runs

# Where every fit begins and where each constant is pulled to: what data sheets and measurements of others say, and by
# kinds of GPU and runtimes about what the runs of each say alone. Ends of the limits: parts of something, and what is
# known to be possible.
START = {
    "align.half": 0.85, "align.none": 0.2, "attention.ada": 0.8, "attention.ampere": 0.5, "attention.backward": 0.5,
    "attention.blackwell": 0.4, "attention.hopper": 0.4, "attention.other": 0.4, "beside": 0.5, "blocking": 2e9,
    "elementwise.deepspeed": 2.0, "elementwise.fsdp": 1.0, "elementwise.jax": 1.0, "elementwise.llm.c": 0.5,
    "elementwise.megatron": 1.0, "elementwise.nanotron": 1.0, "elementwise.oneflow": 0.5, "elementwise.other": 1.0,
    "elementwise.transformers": 0.5, "inner": 20.0, "launch.arm": 2.0, "launch.jax": 3e-6, "launch.llm.c": 3e-6,
    "launch.nanotron": 3e-5, "launch.other": 1.5e-5, "link.half": 5e5, "link.share": 0.7, "link.start": 3e-5,
    "products.ada": 0.9, "products.ampere": 0.78, "products.blackwell": 0.6, "products.ga10x": 0.95,
    "products.hopper": 0.66, "products.other": 0.7, "products.volta": 0.65, "scores.backward": 1.0,
    "scores.forward": 1.0, "scores.products": 0.7, "uplink.share": 0.8,
}
LIMITS = {"products": (0.3, 1.05), "attention": (0.1, 1.05), "link.share": (0.6, 1.0), "uplink.share": (0.5, 1.0),
          "align": (0.05, 1.0), "elementwise": (0.1, 4.0), "beside": (0.01, 0.8), "scores.products": (0.2, 1.2),
          "scores": (0.4, 2.0), "inner": (4.0, 200.0), "blocking": (1e8, 1e11), "launch": (3e-6, 60e-6),
          "launch.arm": (1.0, 6.0), "link.half": (1e4, 1e7), "link.start": (1e-6, 2e-4)}
KNEE = 0.08  # errors beyond it count as they are and not squared: some published runs are odd
PULL = 0.3  # towards where the fit begins, per logarithm squared; a run that is off by KNEE counts 0.0064


# As src/profile/gpu_kinds.cpp has them.
ARCHITECTURES = {"v100": "volta", "a100": "ampere", "a800": "ampere", "h100": "hopper", "gh200": "hopper", "b200": "blackwell",
                 "3090": "ga10x", "4090": "ada", "l40s": "ada"}


def architecture(run):
    return ARCHITECTURES[run.gpu_word]


def kernels(run):
    """Whose constants the kernels of a run's trainer have (src/profile/runtimes.cpp)."""
    return "megatron" if run.like == "megatron-deepspeed" else run.like


def limits_of(name):
    return LIMITS.get(name) or LIMITS.get(name.split(".")[0], (1e-12, 1e12))


def at_limits(constants):
    """Names of constants that stand at an end of their limits."""
    return [name for name, value in sorted(constants.items())
            if any(abs(value / end - 1) < 0.01 for end in limits_of(name))]


def loss(logs, constants):
    """What is made least: how far runs and constants are off."""
    total = 0.0
    for value in logs:
        total += 2.0 * KNEE**2 * (math.sqrt(1.0 + (value / KNEE) ** 2) - 1.0)
    return total + PULL * KNEE**2 * sum(math.log(value / START[name]) ** 2 for name, value in constants.items())


class Problem:
    def __init__(self, given):
        self.order = given
        self.halves = [range(0, len(given), 2), range(1, len(given), 2)]
        self.predictors = [runs.Predictor([given[i] for i in half]) for half in self.halves]
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def logs(self, constants, wanted=None):
        """Logarithm of predicted over measured of each run, or by number of those that are wanted."""
        asked = [[k for k, i in enumerate(half) if wanted is None or i in wanted] for half in self.halves]
        found = self.pool.map(lambda predictor, numbers: predictor(constants, numbers), self.predictors, asked)
        values = {}
        for half, numbers, answers in zip(self.halves, asked, found):
            for k, (seconds, _) in zip(numbers, answers):
                values[half[k]] = math.log(seconds / self.order[half[k]].seconds)
        return values if wanted is not None else [values[i] for i in range(len(self.order))]

    def concerned(self, name):
        """Numbers of the runs that a constant may change."""
        what, _, of = name.partition(".")
        owners = {"products": architecture, "attention": architecture, "elementwise": kernels, "launch": kernels}
        own = {key.partition(".")[2] for key in START if key.startswith(what + ".")}

        def changes(run):
            if name == "launch.arm":
                return run.gpu.startswith("GH")
            if what == "scores":
                return run.attention != "fused"
            if what == "attention" and run.attention != "fused":
                return False
            if what not in owners or name == "attention.backward":
                return True
            owner = owners[what](run)
            return owner == of or (of == "other" and owner not in own)

        return {i for i, run in enumerate(self.order) if changes(run)}

    def columns(self, constants, logs, names):
        """What each logarithm gains when that of a constant grows, per constant."""
        width, columns = 0.02, []
        for name in names:
            wanted = self.concerned(name)
            changed = self.logs({**constants, name: constants[name] * math.exp(width)}, wanted)
            columns.append([(changed[i] - value) / width if i in wanted else 0.0 for i, value in enumerate(logs)])
        return columns

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


def step_of(columns, logs, damping, off=None):
    """Gauss-Newton with weights for the knee, and damped by Levenberg and Marquardt; `off`: how far each constant's
    logarithm is from where it is pulled to."""
    weights = [1.0 / math.sqrt(1.0 + (value / KNEE) ** 2) for value in logs]
    size = len(columns)
    weighted = [[w * a for w, a in zip(weights, column)] for column in columns]
    matrix = [[sum(a * b for a, b in zip(weighted[i], columns[k])) for k in range(size)] for i in range(size)]
    pull = PULL * KNEE**2
    for i in range(size):
        matrix[i][i] += pull + damping * (matrix[i][i] + 0.01)
    vector = [-sum(a * b for a, b in zip(weighted[i], logs)) - (pull * off[i] if off else 0.0) for i in range(size)]
    return solve(matrix, vector)


def moved(constants, names, step):
    made = dict(constants)
    for name, by in zip(names, step):
        least, most = limits_of(name)
        made[name] = min(max(constants[name] * math.exp(max(-0.7, min(0.7, by))), least), most)
    return made


def off_start(constants, names):
    return [math.log(constants[name] / START[name]) for name in names]


def minimum(problem, constants, rounds):
    """The constants with the least loss, from these on."""
    names = sorted(constants)
    logs = problem.logs(constants)
    best, damping = loss(logs, constants), 0.03
    for number in range(rounds):
        columns = problem.columns(constants, logs, names)
        for _ in range(4):
            tried = moved(constants, names, step_of(columns, logs, damping, off_start(constants, names)))
            found = problem.logs(tried)
            value = loss(found, tried)
            if value < best:
                constants, logs, best, damping = tried, found, value, damping / 3.0
                break
            damping *= 5.0
        print(f"round {number + 1}: {best:.4f}", flush=True)
    return constants, logs


def without_each(problem, constants, logs):
    """Predicted over measured seconds of each run, by its id, by constants to which runs of its source were not fitted: those
    after one step of Gauss and Newton's from the fit to all, without these runs. More steps along the derivatives there leave
    where these hold, and make what is fitted worse."""
    names = sorted(constants)
    columns = problem.columns(constants, logs, names)
    left_out = {}
    for source in sorted({run.source for run in problem.order}):
        left = {i for i, run in enumerate(problem.order) if run.source == source}
        kept = [i for i in range(len(problem.order)) if i not in left]
        some = [[column[i] for i in kept] for column in columns]
        step = step_of(some, [logs[i] for i in kept], 0.03, off_start(constants, names))
        found = problem.logs(moved(constants, names, step), left)
        left_out.update({problem.order[i].id: math.exp(value) for i, value in found.items()})
    return left_out


def fit(given, rounds):
    """The constants that fit these runs best, and predicted over measured seconds of each run by a fit without its
    source."""
    problem = Problem(given)
    constants, logs = minimum(problem, dict(START), rounds)
    left_out = without_each(problem, constants, logs)
    problem.close()
    return constants, left_out
