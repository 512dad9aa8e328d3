#!/usr/bin/python3
"""Computed against measured profiles: how far the share that each layer has of a step's time is off, for one model of each
family. A share is what decides where planners cut; layers below one part in a hundred are left out."""

import json

import measure
import prediction

LEAST_SHARE = 0.01
TOLERANCE = 0.25


def run(*arguments):
    measure.run([*map(str, arguments)], measure.launcher_settings())


def layer_seconds(path, samples):
    """Seconds of a micro-batch of so many samples, passes together, by layer."""
    seconds = {}
    for layer in json.loads(path.read_text())["layers"]:
        rows = sorted((row["samples"], sum(row.get(key, 0.0) for key in ("forward", "backward", "backward_input", "backward_weight")))
                      for row in layer["seconds"] if row["tensor_parallel"] == 1)
        below = [row for row in rows if row[0] <= samples][-1]
        above = ([row for row in rows if row[0] >= samples] or [below])[0]
        part = (samples - below[0]) / (above[0] - below[0]) if above[0] > below[0] else 0.0
        seconds[layer["name"]] = below[1] + part * (above[1] - below[1])
    return seconds


def compare(shape, cluster):
    name = "profiles-" + shape.get("family", "gpt2")
    config = measure.write_config(shape, name, grid=(1, 1, 1), micro_batch=shape["batch"])
    paths = {kind: measure.RESULTS / f"{name}-{kind}.json" for kind in ("measured", "computed")}
    run("mpirun", "--bind-to", "none", "-np", 1, measure.PPTRAIN, "profile", config, "-o", paths["measured"])
    run(measure.PPTRAIN, "profile", config, "--cluster", cluster, "--analytic", "-o", paths["computed"])
    seconds = {kind: layer_seconds(path, shape["batch"]) for kind, path in paths.items()}
    shares = {kind: {layer: s / sum(times.values()) for layer, s in times.items()} for kind, times in seconds.items()}
    errors = {layer: shares["computed"][layer] / share - 1
              for layer, share in shares["measured"].items() if share >= LEAST_SHARE}
    worst = max(errors, key=lambda layer: abs(errors[layer]))
    moved = sum(abs(shares["computed"][layer] - share) for layer, share in shares["measured"].items()) / 2
    return {"model": prediction.model_name(shape), "layers": len(errors), "worst": worst, "share": shares["measured"][worst],
            "error": errors[worst], "within": sum(abs(error) <= TOLERANCE for error in errors.values()), "moved": moved,
            "ratio": sum(seconds["computed"].values()) / sum(seconds["measured"].values())}


def main():
    measure.RESULTS.mkdir(parents=True, exist_ok=True)
    cluster = measure.RESULTS / "profiles-cluster.toml"
    run("mpirun", "--bind-to", "none", "-np", 1, measure.PPTRAIN, "cluster", "--format", "toml", "-o", cluster)
    rows = []
    for shape in (measure.SMALL, *prediction.FAMILIES, measure.RESNET_224):
        row = compare(shape, cluster)
        rows.append(row)
        print("{model}: {within} of {layers} layers within 25 %, furthest off {worst} ({share:.1%} of the step) by {error:+.0%}; "
              "{moved:.1%} of the step lies in other layers; computed takes {ratio:.2f} of the measured time".format(**row), flush=True)
    measure.save("profiles", rows)


main()
