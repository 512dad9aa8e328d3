"""Writes what grading found: a picture and tables into docs/profiles.md, and the bands of errors that predictions carry."""

import math
import statistics

from published import grades as graded
from published import runs

PAGE = runs.ROOT / "docs" / "profiles.md"
PICTURE = runs.ROOT / "docs" / "static" / "published-runs.svg"
BANDS = runs.ROOT / "src" / "profile" / "graded_runs.inc"
PREDICTED, LEFT_OUT = "published runs", "left out"  # parts of the page
COLOURS = ("#1b6ca8", "#d1495b", "#2e8540", "#8f5fbf", "#c77700", "#4a4a4a", "#00848a", "#9c6b30", "#b03a9b", "#5b7f00")


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def picture(rows, ratios):
    """Ratio of predicted to measured seconds over measured GPU seconds per million tokens; both axes are logarithms."""
    width, height, left, bottom, top, right = 760, 420, 58, 46, 14, 150
    xs = [math.log10(run.seconds * run.gpus / (run.seq * run.gbs) * 1e6) for run in rows]
    ys = [math.log2(ratio) for ratio in ratios]
    x0, x1, y0, y1 = math.floor(min(xs)), math.ceil(max(xs)), -2.0, 2.0

    def place(x, y):
        return (left + (x - x0) / (x1 - x0) * (width - left - right),
                height - bottom - (min(max(y, y0), y1) - y0) / (y1 - y0) * (height - bottom - top))

    kinds = sorted({run.gpu for run in rows})
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           "<title>Predicted over measured seconds of published training runs</title>",
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for power in range(x0, x1 + 1):
        x, y = place(power, y0)
        out.append(f'<path d="M{x:.1f} {y:.1f}V{top}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{10.0**power:g}</text>')
    for ratio in (0.25, 0.5, 0.8, 1, 1.25, 2, 4):
        x, y = place(x0, math.log2(ratio))
        out.append(f'<path d="M{x:.1f} {y:.1f}H{width - right}" stroke="{"#000" if ratio == 1 else "#ddd"}"/>'
                   f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{ratio:g}</text>')
    for run, x, y in zip(rows, xs, ys):
        x, y = place(x, y)
        colour = COLOURS[kinds.index(run.gpu) % len(COLOURS)]
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}" fill-opacity="0.6"/>')
    for i, kind in enumerate(kinds):
        y = top + 14 + 17 * i
        out.append(f'<circle cx="{width - right + 16}" cy="{y - 4}" r="4" fill="{COLOURS[i % len(COLOURS)]}"/>'
                   f'<text x="{width - right + 26}" y="{y}">{kind}</text>')
    out.append(f'<text x="{(left + width - right) / 2:.0f}" y="{height - 8}" text-anchor="middle">'
               "measured GPU seconds for a million tokens</text>")
    out.append(f'<text transform="translate(14 {(height - bottom + top) / 2:.0f}) rotate(-90)" text-anchor="middle">'
               "predicted / measured</text></svg>")
    PICTURE.write_text("\n".join(out) + "\n")


def bands(rows, ratios):
    """Mean errors by kind of GPU and runtime, for src/profile/graded.hpp."""
    found = {}
    for run, ratio in zip(rows, ratios):
        found.setdefault((run.gpu_word, run.like), []).append(abs(ratio - 1))
    lines = ["// Written by `./bootstrap.sh bench published --fit`; do not edit."]
    lines += [f'{{"{gpu}", "{like}", {len(errors)}, {statistics.mean(errors):.3f}}},'
              for (gpu, like), errors in sorted(found.items())]
    BANDS.write_text("\n".join(lines) + "\n")


def write_part(name, text):
    """Replaces what the page has between the marks of a part."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    page = PAGE.read_text()
    first, last = page.index(begin) + len(begin), page.index(end)
    PAGE.write_text(page[:first] + "\n\n" + text + "\n\n" + page[last:])


def write_left_out(rows, ratios):
    """Predicted over measured seconds of each run by constants that were not fitted to its source."""
    bands(rows, ratios)
    found = {}
    for run, ratio in zip(rows, ratios):
        found.setdefault(run.source, []).append(ratio)
    lines = [[source, str(len(of)), f"{statistics.median(of):.2f}", graded.percent([abs(one - 1) for one in of])[0]]
             for source, of in sorted(found.items())]
    mean, median = graded.percent([abs(ratio - 1) for ratio in ratios])
    lines.append(["all", str(len(rows)), f"{statistics.median(ratios):.2f}", f"{mean} (median {median})"])
    write_part(LEFT_OUT, markdown(("source left out", "runs", "predicted / measured, median", "mean error, %"), lines))


def write(rows, predicted):
    found = graded.Grades(rows, predicted)
    picture(rows, found.ratios)
    header = ("source", "GPU", "runs", "predicted / measured, median", "mean error, %", "... after one constant, %",
              "peak, predicted / measured")
    write_part(PREDICTED, "\n".join([
        "![Predicted over measured seconds](static/published-runs.svg)", "",
        markdown(header, graded.table(found)), "",
        markdown(("of all " + str(len(rows)) + " runs", ""), [[name, value] for name, value in graded.summary(found).items()])]))
