"""The pictures, each a function of the program that returns a canvas."""
import json
import os
import re

import figures
from figures import bars, digits, in_seconds, joined, memory_parts, nodes, seconds, size, time_axis, timeline
from svg import Canvas

HERE = os.path.dirname(os.path.abspath(__file__))
TASK = re.compile(r"(F|BW|B|W)(\d+)\.(\d+)$")
TASK_KIND = {"F": 0, "B": 1, "BW": 1, "W": 2}


def row_name(plan):
    """Names a row of the timeline by its stage, and how many devices it stands for."""
    stage_of = figures.places(plan)
    return lambda row: f"stage {stage_of[row['device']]}" + (f", {row['alike']} devices" if row["alike"] > 1 else f", device {row['device']}")


def memory_rows(document):
    """Bars of memory, devices with equal needs together."""
    alike = {}
    for node in document["nodes"]:
        for device in node["devices"]:
            if device.get("predicted_bytes"):
                alike.setdefault((device["kind"], tuple(memory_parts(device)), device["memory"]), []).append(device["id"])
    for (kind, parts, limit), ids in alike.items():
        name = f"{len(ids)} × {kind}" if len(ids) > 1 else f"device {ids[0]}"
        yield name, [(figures.MEMORY[i][0], part) for i, part in enumerate(parts)], f"{size(sum(parts))} of {size(limit)}", limit


def plan_picture(pptrain):
    document = pptrain.plan("inputs/papers/whale-bert-large.toml")
    plan = document["plans"][-1]
    predicted = plan["predicted"]
    canvas = Canvas(880, 520, "A plan of pptrain", "Two nodes with their devices in the colours of their stages, what each device does in a step, and its memory.")
    canvas.text(24, 32, "BERT-Large on 8 V100 and 8 P100: who does what, when, in how much memory", 16, bold=True)
    canvas.text(24, 53, f"{seconds(predicted['iteration_seconds'])} a step of {document['job']['global_batch_size']} samples, predicted; the 8 V100 alone: "
                f"{seconds(document['fewer_nodes'][0]['iteration_seconds'])}. No plan takes less than {seconds(predicted['lower_bound_seconds'])}.", 13, "soft")
    y = nodes(canvas, document, 24, 70, 832) + 30
    line = document["timelines"]["predicted"]
    rows = joined(in_seconds(line))
    canvas.text(24, y, f"One step ({plan['schedule'].split(',')[0]})", 13, bold=True)
    canvas.legend(None, y, list(zip(figures.KINDS, figures.KIND_NAMES)))
    left, scale, y = timeline(canvas, rows, 24, y + 12, 832, 26, line["seconds"], row_name(plan))
    time_axis(canvas, left, scale, y, line["seconds"])
    y += 46
    canvas.text(24, y, "Memory", 13, bold=True)
    canvas.legend(None, y, [*figures.MEMORY, ("bad", "limit")])
    rows = list(memory_rows(document))
    *_, y = bars(canvas, rows, 24, y + 12, 832, max(row[3] for row in rows), text_room=150)
    canvas.height = int(y + 16)
    return canvas


def axes(canvas, x, y, width, height, across, upwards, format_x, format_y):
    """A frame with ticks from 0 to the given ends; returns where a point lies."""
    for value in figures.ticks(upwards, 5):
        at = y + height - value / upwards * height
        canvas.line(x, at, x + width, at, "grid")
        canvas.text(x - 8, at + 4, format_y(value), 11, "soft", "end")
    for value in figures.ticks(across, 6):
        at = x + value / across * width
        canvas.text(at, y + height + 16, format_x(value), 11, "soft", "middle")
    canvas.line(x, y + height, x + width, y + height, "outline")
    return lambda a, b: (x + a / across * width, y + height - b / upwards * height)


def run_picture(_):
    with open(os.path.join(HERE, "run.json"), encoding="utf-8") as file:
        run = json.load(file)
    job, series = run["job"], run["series"]
    canvas = Canvas(880, 420, "The report of a run", "Loss over steps, one iteration as predicted and as measured, and memory of each device as predicted and as measured.")
    predicted = run["plans"][-1]["predicted"]["iteration_seconds"]
    canvas.text(24, 32, f"{job['name']}: {job['steps_done']} steps on {job['devices']} processes of a machine with two cores", 16, bold=True)
    canvas.text(24, 53, f"{seconds(job['iteration_seconds'])} a step measured, {seconds(predicted)} predicted; {digits(job['amount_per_second'] / 1000)}k tokens/s", 13, "soft")
    canvas.text(24, 82, "Loss", 13, bold=True)
    loss = series["loss"]["mean"]
    place = axes(canvas, 60, 92, 330, 150, series["step"][-1], max(loss) * 1.05, lambda v: f"{v:g}", lambda v: f"{v:g}")
    canvas.path([place(step, value) for step, value in zip(series["step"], loss) if value is not None])
    for step, value in zip(run["evaluation"]["step"], run["evaluation"]["loss"]):
        canvas.dot(*place(step, value), 3.5, "orange", f"held-back data after step {step}: {value}")
    canvas.legend(235, 82, [("blue", "training"), ("orange", "held-back")])
    canvas.text(440, 82, "Peak memory of each process", 13, bold=True)
    devices = {device["id"]: device for node in run["nodes"] for device in node["devices"]}
    most = max(max(rank["peak_bytes"], devices[rank["device"]]["predicted_bytes"]) for rank in run["ranks"])
    rows = [(f"rank {rank['rank']}", [("blue", rank["peak_bytes"])], f"{size(rank['peak_bytes'])}, {size(devices[rank['device']]['predicted_bytes'])} predicted", None) for rank in run["ranks"]]
    bars(canvas, rows, 440, 94, 416, most, 26, 180)
    y = 290
    lines = run["timelines"]
    longest = max(lines["predicted"]["seconds"], lines["measured"]["seconds"])
    name = row_name(run["plans"][-1])
    for title, line in (("A step as predicted", lines["predicted"]), ("As measured", lines["measured"])):
        canvas.text(24, y, f"{title}: {seconds(line['seconds'])}", 13, bold=True)
        if title.startswith("A "):
            canvas.legend(None, y, list(zip(figures.KINDS, figures.KIND_NAMES)))
        rows = [{"alike": 1, **row} for row in in_seconds(line)]
        left, scale, y = timeline(canvas, rows, 24, y + 10, 832, 22, longest, name)
        y += 24
    time_axis(canvas, left, scale, y - 24, longest)
    canvas.height = int(y + 12)
    return canvas


SCHEDULES = {"gpipe": "stages", "1f1b": "stages", "dapple-b": "stages", "interleaved-1f1b": "loops", "breadth-first": "loops", "zb-h1": "stages", "zb-h2": "stages",
             "zb-v": "v", "zeropp": "loops", "auto": "loops"}


def schedule_rows(events):
    """Rows of a timeline of a Chrome trace, by device."""
    rows = {}
    for event in events:
        named = TASK.match(event.get("name", ""))
        if event.get("ph") == "X" and event.get("tid", 0) == 0 and named:
            task = [TASK_KIND[named[1]], int(named[2]), int(named[3]), event["ts"] * 1e-6, event["dur"] * 1e-6]
            rows.setdefault(event["pid"], []).append(task)
    return [{"device": device, "alike": 1, "tasks": tasks} for device, tasks in sorted(rows.items())]


def schedule_picture(name, plan):
    def draw(pptrain):
        rows = schedule_rows(pptrain.trace(plan, name))
        end = max(task[3] + task[4] for row in rows for task in row["tasks"])
        longest = 66.0 if plan == "stages" else 33.0
        busy = sum(task[4] for row in rows for task in row["tasks"]) / (end * len(rows))
        canvas = Canvas(880, 150, f"Schedule {name}", "What each of four devices does in a step; numbers are micro-batches.")
        canvas.text(20, 26, f"{name}: {digits(end)} s a step, devices compute {100 * busy:.0f} % of it", 14, bold=True)
        chunks = any(task[1] != row["tasks"][0][1] for row in rows for task in row["tasks"] if task[0] < 3)
        kinds = [0, 1] + ([2] if any(task[0] == 2 for row in rows for task in row["tasks"]) else [])
        names = {0: "forward", 1: "input gradients" if 2 in kinds else "backward", 2: "weight gradients"}
        canvas.legend(None, 26, [(figures.KINDS[kind], names[kind]) for kind in kinds])
        *_, y = timeline(canvas, rows, 20, 38, 840, 24, longest, lambda row: f"device {row['device']}")
        if chunks:
            canvas.text(20, y + 16, "Fainter: the second chunk of a device.", 11, "soft")
        canvas.height = int(y + (26 if chunks else 12))
        return canvas

    return draw


def nodes_picture(pptrain):
    text = pptrain.read("inputs/clusters/whale-8v100-8p100.toml")
    cluster = pptrain.file("mixed.toml", re.sub(r"(?m)^count = 1$", "count = 2", text))
    document = pptrain.plan("inputs/papers/whale-bert-large.toml", "--cluster", cluster, "--set", "training.global_batch_size=512")
    parts = [part for part in document["fewer_nodes"] if part["iteration_seconds"] is not None]
    canvas = Canvas(880, 220, "Time of a step against the nodes of a mixed cluster", "Bars: the time of a step on growing parts of a cluster.")
    canvas.text(24, 32, "BERT-Large, 512 samples a step: nodes of V100, then nodes of P100 beside them", 15, bold=True)
    canvas.text(24, 52, "Predicted time of a step, and how many times as fast as one node", 12, "soft")
    first = parts[0]["iteration_seconds"]
    old = document["nodes"][-1]["kind"]
    rows = [(" + ".join(f"{kind['nodes']} × ({kind['kind']})" for kind in part["kinds"]),
             [("orange" if any(kind["kind"] == old for kind in part["kinds"]) else "blue", part["iteration_seconds"])],
             f"{seconds(part['iteration_seconds'])}, {digits(first / part['iteration_seconds'])} ×", None) for part in parts]
    *_, y = bars(canvas, rows, 24, 66, 832, first, 28, 130)
    canvas.height = int(y + 14)
    return canvas


def measured_picture(pptrain):
    """The steps of docs/performance.md, which the benchmarks write."""
    text = pptrain.read("docs/performance.md")
    table = text[text.index("## Predicted and measured") : text.index("## Computed and measured profiles")]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ") and re.search(r"[+-][\d.]+% \|$", line)]
    points = [(row[0], f"{row[1]} ranks, {row[2]}", float(row[-3]), float(row[-2])) for row in rows]
    canvas = Canvas(640, 470, "Predicted and measured steps", "Each dot is a job: its measured time to the right, the predicted one upwards.")
    off = sorted(abs(p / m - 1) for _, _, p, m in points)
    canvas.text(24, 32, f"{len(points)} jobs, each measured and predicted from a measured profile", 15, bold=True)
    canvas.text(24, 52, f"Half of them are off by less than {100 * off[len(off) // 2]:.1f} %, the worst by {100 * off[-1]:.0f} %.", 12, "soft")
    most = max(max(p, m) for *_, p, m in points) * 1.1
    place = axes(canvas, 76, 72, 530, 330, most, most, lambda v: seconds(v) if v else "0", lambda v: seconds(v) if v else "0")
    canvas.line(*place(0, 0), *place(most, most), "outline", 1, True)
    models = list(dict.fromkeys(model for model, *_ in points))
    for model, where, predicted, measured in points:
        colour = figures.KINDS[models.index(model) % len(figures.KINDS)]
        canvas.dot(*place(measured, predicted), 4, colour, f"{model}, {where}: {seconds(predicted)} predicted, {seconds(measured)} measured")
    canvas.text(606, 440, "measured", 12, "soft", "end")
    canvas.text(24, 68, "predicted", 12, "soft")
    canvas.text(90, 452, "Dashed: measured as predicted.", 11, "soft")
    return canvas


DIVISIONS = (("PP 1, DP 16, nothing divided", ("pipeline=1", "zero_stage=0", "recompute=none")),
             ("optimizer state divided: zero_stage 1", ("pipeline=1", "zero_stage=1", "recompute=none")),
             ("gradients too: zero_stage 2", ("pipeline=1", "zero_stage=2", "recompute=none")),
             ("weights too: zero_stage 3", ("pipeline=1", "zero_stage=3", "recompute=none")),
             ("zero_stage 2 and recompute = \"full\"", ("pipeline=1", "zero_stage=2", "recompute=full")),
             ("a pipeline: PP 4, DP 4", ("pipeline=4", "zero_stage=0", "recompute=none")))


def memory_picture(pptrain):
    """GPT-2 of 1.5 billion parameters, divided in several ways over devices whose memory is not looked at."""
    text = pptrain.read("inputs/clusters/aws-homogeneous.toml")
    limit = 16e9
    cluster = pptrain.file("large.toml", re.sub(r'memory = "16 GB"', 'memory = "64 GB"', text))
    rows = []
    for name, keys in DIVISIONS:
        settings = [text for key in ("tensor=1", "virtual_stages=1", "schedule=\"1f1b\"", *keys) for text in ("--set", "parallelism." + key)]
        document = pptrain.plan("inputs/gpt2-1.5b.toml", "--cluster", cluster, "--analytic", "--set", "training.precision=fp16", "--set",
                                "training.micro_batch_size=16", "--planner", "amp", *settings)
        fullest = max((device for node in document["nodes"] for device in node["devices"]), key=lambda device: device["predicted_bytes"])
        parts = memory_parts(fullest)
        rows.append((name, [(figures.MEMORY[i][0], part) for i, part in enumerate(parts)], f"{size(sum(parts))}, {seconds(document['plans'][-1]['predicted']['iteration_seconds'])} a step", limit))
    canvas = Canvas(880, 260, "Memory of a device by part", "Stacked bars: weights, gradients, optimizer state and activations of the fullest device, for several ways to divide a model.")
    canvas.text(24, 32, "GPT-2 with 1.5 billion parameters on 16 T4: what the fullest device holds", 15, bold=True)
    canvas.legend(24, 56, [*figures.MEMORY, ("bad", f"memory of a T4, {size(limit)}")])
    most = max(sum(value for _, value in parts) for _, parts, *_ in rows)
    *_, y = bars(canvas, rows, 24, 72, 832, most, 28, 150)
    canvas.height = int(y + 14)
    return canvas


WAY = (("profile", "How long does each layer", "take on each device?", "PROFILE.json"), ("plan", "Who has which layers,", "samples and shards?", "PLAN.json"),
       ("simulate", "What does each device do", "when, in what memory?", "picture, trace"), ("train", "The plan over MPI, with", "checkpoints and metrics", "RUN_DIR, report"))


def way_picture(_):
    canvas = Canvas(880, 170, "From model and cluster to a trained model", "Four steps from left to right: profile, plan, simulate, train.")
    canvas.text(24, 30, "CONFIG.toml says what to train; CLUSTER.toml, or the machine itself, on what", 13, "soft")
    wide, gap = 184, 32
    for i, (name, first, second, result) in enumerate(WAY):
        x = 24 + i * (wide + gap)
        canvas.rect(x, 46, wide, 78, f"stage{i}", 6)
        canvas.text(x + 12, 70, "pptrain " + name, 14, bold=True, mono=True)
        canvas.text(x + 12, 92, first, 12)
        canvas.text(x + 12, 109, second, 12)
        canvas.text(x + wide / 2, 144, result, 12, "soft", "middle")
        if i + 1 < len(WAY):
            canvas.arrow(x + wide + 4, 85, x + wide + gap - 3)
    canvas.height = 160
    return canvas


# What stands in a printed plan: how a line begins, and what it says.
MARKS = (("plan by ", "The planner, and the shape that it chose: pipeline stages, replicas of each, members of a tensor-parallel group."),
         ("  stage ", "A row for each stage, equal ones together: its layers, time of a micro-batch, memory of the fullest device, its devices."),
         ("  predicted iteration", "How long a step takes in the simulator, and for how much of it devices compute."),
         ("  no plan can take", "A lower bound: what a better plan could gain at most."),
         ("  throughput ", "What people compare: tokens in a second, and below it the part of the peak (MFU)."),
         ("  other planners", "What the planners of papers found for the same job, in times of this plan."),
         ("other planners", "What the planners of papers found for the same job, in times of this plan."))


def printout_picture(pptrain):
    """A plan as it is printed, with what the lines say."""
    printed = pptrain.run("plan", "inputs/gpt2-1.5b.toml", "--cluster", "inputs/clusters/aws-homogeneous.toml", "--analytic", "--set",
                          "training.precision=fp16", "--set", "planner.time_limit=36000")
    lines = [line if len(line) <= 100 else line[:99] + "…" for line in printed.splitlines()]
    lines = [line for line in lines if not re.match(r"\s*(found in |(\w+ )*one$)", line)][:24]  # the time of a search is another each time
    marked = {}
    for begin, says in MARKS:
        at = next((i for i, line in enumerate(lines) if line.startswith(begin)), None)
        if at is not None and says not in (told for _, told in marked.values()):
            marked[at] = (len(marked) + 1, says)
    canvas = Canvas(880, 40 + 17 * len(lines) + 24 + 22 * len(marked), "A printed plan, line by line", "The output of pptrain plan with numbers that are explained below it.")
    for i, line in enumerate(lines):
        canvas.text(52, 34 + 17 * i, line, 12, mono=True)
    y = 40 + 17 * len(lines) + 20
    canvas.line(24, y - 22, 856, y - 22)
    for n, (at, (mark, says)) in enumerate(sorted(marked.items())):
        for middle in (30 + 17 * at, y + 22 * n - 4):
            canvas.dot(32, middle, 9, "blue")
            canvas.text(32, middle + 4, str(mark), 11, "on-dark", "middle", bold=True)
        canvas.text(52, y + 22 * n, says, 13)
    return canvas


ALL = {"way": way_picture, "plan": plan_picture, "run": run_picture, "nodes": nodes_picture, "measured": measured_picture, "memory": memory_picture, "printout": printout_picture,
       **{"schedule-" + name: schedule_picture(name, plan) for name, plan in SCHEDULES.items()}}
