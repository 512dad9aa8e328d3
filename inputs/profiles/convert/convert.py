#!/usr/bin/env python3
"""Carries published layer profiles over into PROFILE.json files.

    python3 convert.py FOLDER [-o OUTPUT_FOLDER] [--catalogue FILE] [--pptrain PROGRAM] [NAME ...]

FOLDER holds clones of the repositories that catalogue.toml names, each under its own name; without NAMEs every profile
of the catalogue is written. Sailor's files are read by `pptrain profile --from sailor`. Each entry of the catalogue says:

file       name of the profile and of its model
input      the published file (of `sailor`: a folder with one file per device) below FOLDER
reader     "graph" (default): text graphs of PipeDream and DAPPLE, see graph.py; "piper"; "sailor"
samples    samples that the published times and bytes are for
devices    kinds whose rows they become, in pptrain's names; default ["v100", "v100-32gb"], which compute alike
optimizer  "adam", "rmsprop", "momentum", "sgd", "none": 8, 8, 4, 0, 0 bytes of state per parameter; weight and gradient
           have 4 each
memory     bytes that a paper measured with `samples` in memory: what weights, gradients and optimizer state leave is
           stored activations, shared out in proportion to the outputs of the operations that have a backward pass
           and do not work in place. { like = NAME }: the same ratio as in that profile. Without it the ratio is 1.
cuts       "narrow": only cuts that one tensor crosses, so that a residual block is one layer
layers     of `sailor`: groups of equal layers
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib

import graph

STATE_BYTES = {"adam": 8, "rmsprop": 8, "momentum": 4, "sgd": 0, "none": 0}
BYTES = 4  # of a number in fp32
COLLECTIVES = "the collectives of a degree are in its times, so no tensor-parallel all-reduce is added"


class Catalogue:
    """What is to be carried over, and from where."""

    def __init__(self, path, folder, pptrain):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        self.repositories = document["repositories"]
        self.entries = {entry["file"]: entry for entry in document["profile"]}
        self.folder = folder
        self.pptrain = pptrain

    def path(self, entry):
        return self.folder / entry["input"]

    def origin(self, entry):
        """The published file with its repository, for people."""
        name, rest = entry["input"].split("/", 1)
        repository = self.repositories[name]
        return f"{rest} of {repository['url']} at {repository['commit']} ({repository['licence']})"


def number(value):
    """As JSON has it: ten digits, whole numbers without a point."""
    value = float(f"{value:.10g}")
    return int(value) if value.is_integer() else value


def layer(name, parameters, output, stored, rows):
    return {"name": name, "parameters": number(parameters), "output_bytes": number(output),
            "stored_bytes": number(stored), "tensor_parallel_allreduce_bytes": 0, "seconds": rows}


def row(device, degree, samples, forward, backward):
    return {"device": device, "tensor_parallel": degree, "samples": samples, "forward": number(forward),
            "backward": number(backward)}


def parameter_bytes(entry):
    return {"weight": BYTES, "gradient": BYTES, "optimizer": STATE_BYTES[entry["optimizer"]]}


def kept(nodes):
    return sum(node.kept for node in nodes)


def stored_ratio(catalogue, entry):
    """Stored bytes per byte of output, and why."""
    memory = entry.get("memory")
    if memory is None:
        return 1.0, "the outputs of operations that have a backward pass, once where they work in place, are stored"
    if "like" in memory:
        ratio, _ = stored_ratio(catalogue, catalogue.entries[memory["like"]])
        return ratio, f"stored_bytes are {ratio:.3g} times the outputs, the ratio of {memory['like']}"
    nodes = graph.read_graph(catalogue.path(entry)).values()
    parameters = sum(node.parameters for node in nodes) / BYTES
    left = memory["bytes"] - parameters * sum(parameter_bytes(entry).values())
    ratio = max(1.0, left / memory["samples"] * entry["samples"] / kept(nodes))
    return ratio, f"stored_bytes are {ratio:.3g} times the outputs, which gives the memory of {memory['from']}"


def convert_graph(catalogue, entry):
    samples = entry["samples"]
    ratio, why = stored_ratio(catalogue, entry)
    chain = graph.layers_of(graph.read_graph(catalogue.path(entry)), entry.get("cuts", "all"))
    layers = []
    for name, (nodes, crossing) in zip(graph.layer_names(chain), chain):
        times = (sum(node.forward for node in nodes), sum(node.backward for node in nodes))
        rows = [row(device, 1, samples, *times) for device in entry.get("devices", ["v100", "v100-32gb"])]
        layers.append(layer(name, sum(node.parameters for node in nodes) / BYTES, crossing / samples,
                            ratio * kept(nodes) / samples, rows))
    return layers, f"milliseconds and bytes of {samples} samples in fp32 on a V100; {why}"


def piper_nodes(path):
    """The nodes of a Piper input, a tensor parallel degree's properties each. The gradient of an output has its size
    (the file's edges carry these sizes exchanged)."""
    document = json.loads(path.read_text(encoding="utf-8"))
    nodes = {}
    degrees = {}
    for item in document["nodes"]:
        vanilla = {int(n): next(c for c in choices if c["id"] == "vanilla") for n, choices in item["TMPCs"].items()}
        seconds = vanilla[1]["timePerSample"]
        nodes[item["id"]] = graph.Node(item["id"], item["name"], seconds / 3, seconds * 2 / 3,
                                       max(vanilla[2]["syncTimeBw"].values(), default=0.0), vanilla[1]["parameterSize"])
        degrees[item["id"]] = vanilla
    for edge in document["edges"]:
        nodes[edge["sourceId"]].successors.append(edge["destId"])
        nodes[edge["destId"]].predecessors.append(edge["sourceId"])
    return nodes, degrees


def convert_piper(catalogue, entry):
    samples = entry["samples"]
    nodes, degrees = piper_nodes(catalogue.path(entry))
    chain = graph.layers_of(nodes)
    layers = []
    for name, (members, crossing) in zip(graph.layer_names(chain), chain):
        rows = []
        for device in entry["devices"]:
            for degree in sorted(degrees[members[0].number]):
                seconds = sum(degrees[node.number][degree]["timePerSample"] for node in members)
                rows.append(row(device, degree, samples, seconds / 3, seconds * 2 / 3))
        stored = sum(degrees[node.number][1]["memoryUsageA"] for node in members)
        layers.append(layer(name, sum(node.parameters for node in members) / BYTES, crossing / samples,
                            stored / samples, rows))
    return layers, (f"seconds and bytes of {samples} samples in fp32 on an A100; {COLLECTIVES}; a third of the time is "
                    "taken to be forward; stored_bytes are its memoryUsageA at degree 1")


def sailor_sizes(entry):
    """The layers of an entry as Sailor's llm_info.json has them, at degree 1."""
    layers = [group for group in entry["layers"] for _ in range(group["count"])]
    return {str(i): {"params_floats": group["parameters"], "params_bytes": BYTES * group["parameters"],
                     "act_output_floats": group["output_bytes"] / BYTES, "act_output_bytes": group["output_bytes"],
                     "act_mem_bytes": group["stored_bytes"]} for i, group in enumerate(layers)}


def sailor_profile(catalogue, entry):
    """What pptrain makes of the files of the devices, which lie under its own names for them. It leaves out the
    optimizer's seconds, which are equal for all layers."""
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / entry["file"]
        for device, published in entry["devices"].items():
            (model / device).mkdir(parents=True)
            shutil.copy(catalogue.path(entry) / published / "profile.json", model / device)
        sizes = {entry["file"]: {"1": sailor_sizes(entry)}}
        (model / "llm_info.json").write_text(json.dumps(sizes), encoding="utf-8")
        names = [f"--device={device}={device}" for device in entry["devices"]]
        run = subprocess.run([catalogue.pptrain, "profile", "--from", "sailor", model, "--quiet", *names], check=True,
                             stdout=subprocess.PIPE)
    return json.loads(run.stdout)


def convert_sailor(catalogue, entry):
    order = {device: i for i, device in enumerate(entry["devices"])}
    names = [f"{group['name']}.{i}" if group["count"] > 1 else group["name"]
             for group in entry["layers"] for i in range(group["count"])]
    layers = []
    for name, made in zip(names, sailor_profile(catalogue, entry)["layers"], strict=True):
        rows = [row(r["device"], r["tensor_parallel"], r["samples"], r["forward"], r["backward"])
                for r in made["seconds"]]
        rows.sort(key=lambda r: (order[r["device"]], r["samples"], r["tensor_parallel"]))
        layers.append(layer(name, made["parameters"], made["output_bytes"], made["stored_bytes"], rows))
    return layers, (f"seconds in fp32; {COLLECTIVES}; parameters and bytes from sailor/Planner/llm_info.json at degree "
                    "1, copies that DeepSpeed makes of the parameters left out")


READERS = {"graph": convert_graph, "piper": convert_piper, "sailor": convert_sailor}


def convert(catalogue, entry):
    layers, assumed = READERS[entry.get("reader", "graph")](catalogue, entry)
    layers[-1]["output_bytes"] = 0  # nothing follows
    state = STATE_BYTES[entry["optimizer"]]
    source = (f"{catalogue.origin(entry)}: {assumed}; optimizer {entry['optimizer']}, {state} bytes of state per "
              "parameter; what crosses a cut is every tensor that is needed behind it, once")
    return {"schema": "pptrain.profile/1", "model": entry["file"], "source": source,
            "bytes_per_parameter": parameter_bytes(entry), "layers": layers}


def text_of(profile):
    """The document with a line per layer and per row."""
    head = {key: value for key, value in profile.items() if key != "layers"}
    lines = [json.dumps(head)[:-1] + ',\n "layers": [']
    for i, item in enumerate(profile["layers"]):
        fields = {key: value for key, value in item.items() if key != "seconds"}
        rows = ",\n".join(json.dumps(r, separators=(",", ":")) for r in item["seconds"])
        comma = "," if i + 1 < len(profile["layers"]) else "]}"
        lines.append(f'  {json.dumps(fields)[:-1]}, "seconds": [\n{rows}]}}{comma}')
    return "\n".join(lines) + "\n"


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Carries published layer profiles over into PROFILE.json files.")
    parser.add_argument("folder", type=pathlib.Path, help="holds clones of the repositories of the catalogue")
    parser.add_argument("names", nargs="*", metavar="NAME", help="profiles to write (default: all)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=here.parent, help="folder to write to")
    parser.add_argument("--catalogue", type=pathlib.Path, default=here / "catalogue.toml")
    parser.add_argument("--pptrain", default="pptrain", help="the program that reads Sailor's files")
    arguments = parser.parse_args()
    catalogue = Catalogue(arguments.catalogue, arguments.folder, arguments.pptrain)
    unknown = [name for name in arguments.names if name not in catalogue.entries]
    if unknown:
        sys.exit(f"convert.py: not in the catalogue: {', '.join(unknown)}")
    for name in arguments.names or catalogue.entries:
        profile = convert(catalogue, catalogue.entries[name])
        (arguments.output / f"{name}.json").write_text(text_of(profile), encoding="utf-8")


if __name__ == "__main__":
    main()
