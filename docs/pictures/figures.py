"""What several pictures draw: nodes, timelines, bars and curves, from the figures of a report (`pptrain.report/1`)."""
from svg import width_of

KINDS = ("blue", "orange", "green", "violet", "grey")
KIND_NAMES = ("forward", "backward", "weight gradients", "optimizer step", "communication")
MEMORY = (("blue", "weights"), ("orange", "gradients"), ("green", "optimizer state"), ("violet", "activations and buffers"))


def digits(value, count=3):
    text = f"{value:.{count}g}"
    return f"{float(text):g}"


def seconds(value):
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= 0.9995 * factor or unit == "µs":
            return f"{digits(value / factor)} {unit}"


def size(value):
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= factor or unit == "KiB":
            return f"{digits(value / factor)} {unit}"


def ticks(most, about):
    """Round values from 0 to `most`, some `about` of them."""
    step = 10.0 ** (len(str(int(most / about))) - 1) if most / about >= 1 else 1.0
    while step > most / about:
        step /= 10
    for factor in (1, 2, 5, 10):
        if step * factor >= most / about:
            step *= factor
            break
    return [i * step for i in range(int(most / step + 1e-9) + 1)]


def places(plan):
    """Stage of each device."""
    return {device: s for s, stage in enumerate(plan["stages"]) for row in stage["devices"] for device in row}


def layers_text(stage):
    return ", ".join(f"{a}–{b - 1}" if b - a > 1 else f"{a}" for a, b in (chunk["interval"] for chunk in stage["layers"]))


def nodes(canvas, document, x, y, width):
    """A box for each node, with its devices in the colour of their stage; returns where it ends."""
    stage_of = places(document["plans"][-1])
    stages = document["plans"][-1]["stages"]
    count = len(document["nodes"])
    wide = (width - 14 * (count - 1)) / count
    for n, node in enumerate(document["nodes"]):
        left = x + n * (wide + 14)
        canvas.rect(left, y, wide, 96, "card", 6, "line")
        canvas.text(left + 10, y + 18, node["name"], 12, "ink", bold=True)
        devices = node["devices"]
        each = (wide - 20 - 4 * (len(devices) - 1)) / len(devices)
        runs = []
        for d, device in enumerate(devices):
            s = stage_of.get(device["id"])
            at = left + 10 + d * (each + 4)
            canvas.rect(at, y + 27, each, 26, "grid" if s is None else f"stage{s % 8}", 3, told=f"device {device['id']}")
            canvas.text(at + each / 2, y + 44, str(device["id"]), 12, "ink", "middle")
            if runs and runs[-1][0] == s:
                runs[-1][2] = at + each
            else:
                runs.append([s, at, at + each])
        for s, begin, end in runs:
            middle = (begin + end) / 2
            canvas.line(begin, y + 58, end, y + 58, "outline")
            if s is None:
                canvas.text(middle, y + 73, "not used", 11, "soft", "middle")
                continue
            canvas.text(middle, y + 73, f"stage {s}: DP {stages[s]['replicas']}" + (f" × TP {stages[s]['tensor_parallel']}" if stages[s]["tensor_parallel"] > 1 else ""), 11, "ink", "middle")
            canvas.text(middle, y + 88, f"layers {layers_text(stages[s])}", 11, "soft", "middle")
    return y + 96


def timeline(canvas, rows, x, y, width, height, longest, name):
    """Rows of tasks [kind, chunk, micro-batch, begin, length] in seconds, chunks but the first of a row fainter; returns where the
    axis begins, pixels in a second, and where the rows end."""
    left = x + max(width_of(name(row), 11) for row in rows) + 8
    scale = (x + width - left) / longest
    for row in rows:
        canvas.text(left - 7, y + height / 2 + 4, name(row), 11, "soft", "end")
        canvas.rect(left, y + 1, longest * scale, height - 3, "grid")
        first = min((task[1] for task in row["tasks"] if task[0] < 3), default=0)
        for kind, chunk, batch, begin, length in row["tasks"]:
            at, wide = left + begin * scale, length * scale
            if kind == 4:
                canvas.rect(at, y + height - 5, max(wide - 0.4, 0.6), 3, KINDS[kind], 0)
                continue
            canvas.rect(at, y + 1, max(wide - 0.6, 0.6), height - 6, KINDS[kind], 1, faint=kind < 3 and chunk != first)
            if kind < 3 and wide > 8 * len(str(batch)) + 3:
                canvas.text(at + wide / 2, y + height / 2 + 2, str(batch), 10, "on-dark" if kind == 0 else "on-light", "middle")
        y += height
    return left, scale, y


def time_axis(canvas, left, scale, y, longest, about=6):
    for value in ticks(longest * 1e3, about):
        at = left + value * 1e-3 * scale
        canvas.line(at, y, at, y + 4, "outline")
        canvas.text(at, y + 17, seconds(value * 1e-3) if value else "0", 11, "soft", "middle")


def in_seconds(line):
    """Rows of a timeline of the report with times in seconds."""
    unit = line["seconds"] / line["ticks"]
    return [{**row, "tasks": [[k, c, m, b * unit, n * unit] for k, c, m, b, n in row["tasks"]]} for row in line["rows"]]


def joined(rows):
    """Rows of which all tasks are alike are one, the first of them, with how many they are as `alike`."""
    kept = {}
    for row in rows:
        key = repr(row["tasks"])
        if key in kept:
            kept[key]["alike"] += row.get("alike", 1)
        else:
            kept[key] = {**row, "alike": row.get("alike", 1)}
    return list(kept.values())


def bars(canvas, rows, x, y, width, most, height=22, text_room=90):
    """Stacked bars. rows: (label, [(colour, value)], text behind, limit or None); returns where it ends."""
    left = x + max(width_of(row[0], 12) for row in rows) + 10
    scale = (x + width - left - text_room) / most
    for label, parts, text, limit in rows:
        canvas.text(left - 8, y + height / 2 + 4, label, 12, "ink", "end")
        canvas.rect(left, y + 2, most * scale, height - 5, "grid")
        at = left
        for colour, value in parts:
            canvas.rect(at, y + 2, value * scale, height - 5, colour, 0)
            at += value * scale
        if limit is not None:
            canvas.line(left + limit * scale, y, left + limit * scale, y + height - 1, "bad", 2)
        canvas.text(left + most * scale + 8, y + height / 2 + 4, text, 12, "ink")
        y += height
    return left, scale, y


def memory_parts(device):
    state = [device["state"][name] for name in ("weights", "gradients", "optimizer")]
    return [*state, max(0.0, device["predicted_bytes"] - sum(state))]
