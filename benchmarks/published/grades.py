"""How far predictions of published runs are off."""

import math
import statistics


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for k in range(first, last + 1):
            found[order[k]] = (first + last) / 2
        first = last + 1
    return found


def spearman(x, y):
    if len(x) < 3:
        return math.nan
    a, b = ranks(x), ranks(y)
    mean_a, mean_b = statistics.mean(a), statistics.mean(b)
    spread = math.sqrt(sum((i - mean_a) ** 2 for i in a) * sum((j - mean_b) ** 2 for j in b))
    return sum((i - mean_a) * (j - mean_b) for i, j in zip(a, b)) / spread if spread else math.nan


def groups(rows):
    found = {}
    for i, run in enumerate(rows):
        found.setdefault(run.kind, []).append(i)
    return dict(sorted(found.items()))


def fragments(rows, predicted):
    """What PyTorch's allocator holds beside what is allocated, as a part of it: the median of the sources whose peaks are
    those of nvidia-smi, of each the median of its runs."""
    parts = {}
    for run, (_, peak) in zip(rows, predicted):
        if run.peak and run.shown_by_driver:
            parts.setdefault(run.source, []).append((run.peak - run.reserve) / peak - 1)
    return statistics.median(statistics.median(of_source) for of_source in parts.values()) if parts else 0.0


def held(run, allocated, fragments):
    """Bytes that the counter of a run shows where so many are allocated."""
    return allocated * (1 + fragments) + run.reserve if run.shown_by_driver else allocated


class Grades:
    """Of all runs; `predicted`: (seconds, peak bytes) of each."""

    def __init__(self, rows, predicted):
        self.rows = rows
        self.ratios = [seconds / run.seconds for run, (seconds, _) in zip(rows, predicted)]
        self.fragments = fragments(rows, predicted)
        self.peaks = [held(run, peak, self.fragments) / run.peak if run.peak else None
                      for run, (_, peak) in zip(rows, predicted)]
        per_token = [run.seconds * run.gpus / (run.seq * run.gbs) for run in rows]
        self.spearman = spearman(per_token, [ratio * seconds for ratio, seconds in zip(self.ratios, per_token)])

    def raw(self, which=None):
        return [abs(self.ratios[i] - 1) for i in which or range(len(self.rows))]

    def after_constant(self, which=None):
        """Errors after one constant for each source and kind of GPU, the median ratio."""
        errors = []
        for members in [which] if which else groups(self.rows).values():
            middle = statistics.median(self.ratios[i] for i in members)
            errors += [abs(self.ratios[i] / middle - 1) for i in members]
        return errors

    def peak_ratios(self, which=None):
        return [self.peaks[i] for i in which or range(len(self.rows)) if self.peaks[i]]

    def jobs(self):
        """Of at least four plans of one job: how much slower than the best the one was that is predicted fastest."""
        found = {}
        for i, run in enumerate(self.rows):
            row = run.row
            key = tuple(row[name] for name in ("source", "trainer", "gpu", "model", "layers", "hidden", "heads", "gpus", "gbs",
                                               "seq", "precision"))
            found.setdefault(key, []).append(i)
        regrets = []
        for members in found.values():
            plans = {tuple(self.rows[i].row[name] for name in ("tp", "pp", "dp", "mbs", "zero", "zero_group", "recompute"))
                     for i in members}
            if len(plans) < 4:
                continue
            chosen = min(members, key=lambda i: self.ratios[i] * self.rows[i].seconds)
            regrets.append(self.rows[chosen].seconds / min(self.rows[i].seconds for i in members))
        return regrets


def percent(values):
    return f"{100 * statistics.mean(values):.1f}", f"{100 * statistics.median(values):.1f}"


def table(grades):
    """A row per source and kind of GPU: runs, median ratio, mean error without and with a constant, peaks."""
    rows = []
    for (source, gpu), members in groups(grades.rows).items():
        peaks = grades.peak_ratios(members)
        rows.append([source, gpu, str(len(members)), f"{statistics.median(grades.ratios[i] for i in members):.2f}",
                     percent(grades.raw(members))[0], percent(grades.after_constant(members))[0],
                     f"{statistics.median(peaks):.2f} ({len(peaks)})" if peaks else "-"])
    return rows


def summary(grades):
    peaks = [abs(peak - 1) for peak in grades.peak_ratios()]
    regrets = grades.jobs()
    return {"mean error, %": percent(grades.raw())[0], "median error, %": percent(grades.raw())[1],
            "mean after one constant, %": percent(grades.after_constant())[0],
            "median after one constant, %": percent(grades.after_constant())[1],
            "median error of peaks, %": percent(peaks)[1] if peaks else "-",
            "held by allocators beside allocations, %": f"{100 * grades.fragments:.1f}",
            "Spearman, seconds per token": f"{grades.spearman:.3f}",
            "chosen over best plan, mean": f"{statistics.mean(regrets):.3f}" if regrets else "-"}


def describe(run):
    row = run.row
    return " ".join([run.id, row["model"], f"gpus {run.gpus} seq {run.seq} gbs {run.gbs} mbs {run.mbs} tp {run.tp} pp {run.pp}",
                     f"dp {run.dp} zero {run.zero} recompute {row['recompute']}: measured {run.seconds}"])


def report(rows, predicted, worst=0):
    grades = Grades(rows, predicted)
    lines = [f"{'source, GPU':34s} runs median error, % after, %  peak"]
    members_of = groups(rows)
    for line in table(grades):
        lines.append(f"{line[0] + ' ' + line[1]:34s} {line[2]:>4s} {line[3]:>6s} {line[4]:>8s} {line[5]:>8s}  {line[6]}")
        far = sorted(members_of[line[0], line[1]], key=lambda i: -abs(math.log(grades.ratios[i])))[:worst]
        lines += [f"    {grades.ratios[i]:.2f} {describe(rows[i])}" for i in far]
    return "\n".join(lines + [f"{name}: {value}" for name, value in summary(grades).items()])

