#!/usr/bin/env python3
"""The converter of published profiles on small inputs, and, where the published files are at hand, on those.

    convert_test.py PPTRAIN                # small inputs
    convert_test.py PPTRAIN --published    # regenerates inputs/profiles from the folder $PPTRAIN_PUBLISHED, which holds
                                           # clones or a flat copy of their files; exits with 77 where there is none
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONVERT = ROOT / "inputs" / "profiles" / "convert" / "convert.py"
sys.path.insert(0, str(CONVERT.parent))
sys.dont_write_bytecode = True
PPTRAIN = sys.argv[1]

import graph  # noqa: E402


def node_line(number, name, forward, backward, activation, parameters):
    return (f"node{number} -- {name} -- forward_compute_time={forward}, backward_compute_time={backward}, "
            f"activation_size={activation}, parameter_size={parameters}\n")


# Input feeds both a and the mask; b needs a and the mask; the view of b is free; c adds b's view and a; the mask goes
# on to the end. Times in ms and bytes of 4 samples. Nodes are not in order.
BRANCHES = (
    node_line(4, "b(x)", 2.0, 4.0, "[60.0; 20.0]", 800.0)
    + node_line(1, "Input0", 9.0, 0.0, 1000.0, 0.0)
    + node_line(2, "a", 1.0, 2.0, 40.0, 400.0)
    + node_line(3, "mask", 0.5, 0.0, 8.0, 0.0)
    + node_line(5, "__getitem__(0)", 0.0, 0.0, 60.0, 0.0)
    + node_line(6, "b(y)", 3.0, 5.0, 16.0, 0.0)
    + node_line(7, "ReLU(inplace)", 1.0, 1.0, 16.0, 0.0)
    + node_line(8, "end", 1.0, 1.0, 4.0, 0.0)
    + "".join(f"\tnode{a} -- node{b}\n" for a, b in
              [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6), (2, 6), (6, 7), (7, 8), (3, 8)])
)


class GraphTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "graph.txt"
        self.path.write_text(BRANCHES, encoding="utf-8")
        self.nodes = graph.read_graph(self.path)

    def tearDown(self):
        self.folder.cleanup()

    def test_inputs_are_left_out(self):
        self.assertEqual(sorted(self.nodes), [2, 3, 4, 5, 6, 7, 8])
        self.assertEqual(self.nodes[4].activation, 80.0)
        self.assertEqual(self.nodes[2].predecessors, [])
        self.assertAlmostEqual(self.nodes[4].backward, 0.004)

    def test_each_tensor_crosses_once(self):
        chain = graph.layers_of(self.nodes)
        self.assertEqual([[n.number for n in nodes] for nodes, _ in chain], [[2], [3], [4, 5], [6], [7], [8]])
        # a | a, mask | a, mask, b's view | mask, c | mask, ReLU | nothing
        self.assertEqual([crossing for _, crossing in chain], [40.0, 48.0, 108.0, 24.0, 24.0, 0.0])
        self.assertEqual(graph.layer_names(chain), ["a", "mask", "b.4", "b.6", "ReLU", "end"])

    def test_narrow_cuts_have_one_tensor(self):
        chain = graph.layers_of(self.nodes, "narrow")
        self.assertEqual([[n.number for n in nodes] for nodes, _ in chain], [[2], [3, 4, 5, 6, 7, 8]])

    def test_a_cycle_is_refused(self):
        self.path.write_text(BRANCHES + "\tnode6 -- node4\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "cycle"):
            graph.layers_of(graph.read_graph(self.path))

    def test_a_foreign_line_is_refused(self):
        self.path.write_text(BRANCHES + "nodes\n", encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "graph.txt:19: neither"):
            graph.read_graph(self.path)


CATALOGUE = """
[repositories]
made = { url = "https://example.org/made", commit = "abc", licence = "MIT" }
[[profile]]
file = "plain"
input = "made/graph.txt"
samples = 4
optimizer = "momentum"
[[profile]]
file = "measured"
input = "made/graph.txt"
samples = 4
optimizer = "adam"
devices = ["t4"]
memory = { bytes = 8240, samples = 8, from = "a table" }
[[profile]]
file = "like"
input = "made/graph.txt"
samples = 4
optimizer = "sgd"
memory = { like = "measured" }
[[profile]]
file = "shards"
reader = "piper"
input = "made/piper.json"
samples = 2
devices = ["a", "b"]
optimizer = "none"
[[profile]]
file = "rows"
reader = "sailor"
input = "made/times"
devices = { fast = "F-1", slow = "S-2" }
optimizer = "adam"
layers = [
  { name = "first", count = 1, parameters = 5, output_bytes = 6, stored_bytes = 7 },
  { name = "block", count = 2, parameters = 8, output_bytes = 9, stored_bytes = 10 },
]
"""


def choices(seconds, parameters, memory, gradients):
    vanilla = {"id": "vanilla", "timePerSample": seconds, "parameterSize": parameters, "memoryUsageA": memory,
               "memoryUsageB": 0.0, "syncTimeFw": {}, "syncTimeBw": gradients}
    return [dict(vanilla, id="activation recomp", timePerSample=9.0), vanilla]


PIPER = {
    "nodes": [
        {"id": 0, "name": "tensor",
         "TMPCs": {"1": choices(0.0, 0.0, 16.0, {}), "2": choices(0.0, 0.0, 16.0, {"1": 16.0})}},
        {"id": 1, "name": "Layer",
         "TMPCs": {"1": choices(3.0, 40.0, 100.0, {}), "2": choices(1.5, 20.0, 60.0, {"2": 12.0})}},
        {"id": 2, "name": "Layer",
         "TMPCs": {"1": choices(6.0, 80.0, 200.0, {}), "2": choices(3.3, 40.0, 90.0, {})}},
    ],
    "edges": [{"sourceId": a, "destId": b, "communicationCost": 99.0} for a, b in ((0, 1), (1, 2), (0, 2))],
}


class ConvertTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        (folder / "made").mkdir()
        (folder / "made" / "graph.txt").write_text(BRANCHES, encoding="utf-8")
        (folder / "made" / "piper.json").write_text(json.dumps(PIPER), encoding="utf-8")
        for name, factor in (("F-1", 1.0), ("S-2", 2.0)):
            (folder / "made" / "times" / name).mkdir(parents=True)
            times = {"2": {"1": {str(i): [factor * (i + 1), 3.0, 7.0] for i in range(3)}},
                     "1": {"4": {str(i): [0.5, 1.5, 7.0] for i in range(3)},
                           "1": {str(i): [1.0, 2.0, 7.0] for i in range(3)}}}
            (folder / "made" / "times" / name / "profile.json").write_text(json.dumps(times), encoding="utf-8")
        (folder / "catalogue.toml").write_text(CATALOGUE, encoding="utf-8")
        subprocess.run([sys.executable, CONVERT, folder, "-o", folder, "--catalogue", folder / "catalogue.toml",
                        "--pptrain", PPTRAIN], check=True)
        names = ("plain", "measured", "like", "shards", "rows")
        cls.profiles = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def layer(self, profile, name):
        return next(item for item in self.profiles[profile]["layers"] if item["name"] == name)

    def test_a_graph_is_per_sample(self):
        profile = self.profiles["plain"]
        self.assertEqual(profile["schema"], "pptrain.profile/1")
        self.assertEqual(profile["bytes_per_parameter"], {"weight": 4, "gradient": 4, "optimizer": 4})
        self.assertIn("graph.txt of https://example.org/made at abc (MIT)", profile["source"])
        b = self.layer("plain", "b.4")
        self.assertEqual((b["parameters"], b["output_bytes"], b["stored_bytes"]), (200, 27, 20))
        self.assertEqual([r["device"] for r in b["seconds"]], ["v100", "v100-32gb"])
        self.assertEqual(b["seconds"][0], {"device": "v100", "tensor_parallel": 1, "samples": 4, "forward": 0.002,
                                           "backward": 0.004})

    def test_what_is_stored(self):
        stored = {item["name"]: item["stored_bytes"] for item in self.profiles["plain"]["layers"]}
        # The mask has no backward pass, the ReLU works in place.
        self.assertEqual(stored, {"a": 10, "mask": 0, "b.4": 20, "b.6": 4, "ReLU": 0, "end": 1})
        # 8240 bytes less 16 for each of 300 parameters leave 3440 for 8 samples, 430 for one: 430 / 35 times as much.
        total = sum(item["stored_bytes"] for item in self.profiles["measured"]["layers"])
        self.assertAlmostEqual(total, 430.0, places=6)
        self.assertAlmostEqual(self.layer("like", "b.4")["stored_bytes"], 430 * 20 / 35, places=6)

    def test_shards_of_piper(self):
        first, last = self.profiles["shards"]["layers"]
        self.assertEqual((first["name"], last["name"]), ("Layer.1", "Layer.2"))
        # The mask (16) and the first layer's output (12) cross; not what the edges say.
        self.assertEqual((first["output_bytes"], first["stored_bytes"], first["parameters"]), (14, 58, 10))
        self.assertEqual((last["output_bytes"], last["stored_bytes"]), (0, 100))
        rows = {(r["device"], r["tensor_parallel"]): (r["samples"], r["forward"], r["backward"])
                for r in last["seconds"]}
        self.assertEqual(rows, {(d, n): (2, s, 2 * s) for d in "ab" for n, s in ((1, 2), (2, 1.1))})

    def test_rows_of_sailor(self):
        layers = self.profiles["rows"]["layers"]
        self.assertEqual([item["name"] for item in layers], ["first", "block.0", "block.1"])
        self.assertEqual((layers[1]["parameters"], layers[1]["stored_bytes"], layers[2]["output_bytes"]), (8, 10, 0))
        rows = [(r["device"], r["tensor_parallel"], r["samples"], r["forward"], r["backward"])
                for r in layers[1]["seconds"]]
        self.assertEqual(rows, [("fast", 1, 1, 1, 2), ("fast", 4, 1, 0.5, 1.5), ("fast", 1, 2, 2, 3),
                                ("slow", 1, 1, 1, 2), ("slow", 4, 1, 0.5, 1.5), ("slow", 1, 2, 4, 3)])


def lay_out(published, folder):
    """Links below `folder` where the clones have the files that `published` holds in whichever way."""
    catalogue = tomllib.loads((CONVERT.parent / "catalogue.toml").read_text(encoding="utf-8"))
    for entry in catalogue["profile"]:
        path = pathlib.PurePath(entry["input"])
        flat = published / path.parts[0]
        places = [published / path, flat / path.name, flat / f"{path.parent.name}.graph.txt",
                  flat / "profiles" / path.name]
        link = folder / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(next(place for place in places if place.exists()).resolve())


def regenerate():
    """Whether converting the published files gives the files of inputs/profiles."""
    published = os.environ.get("PPTRAIN_PUBLISHED", "")
    if not published:
        print("skipped: PPTRAIN_PUBLISHED names no folder with the files of catalogue.toml")
        return 77
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as clones:
        lay_out(pathlib.Path(published), pathlib.Path(clones))
        subprocess.run([sys.executable, CONVERT, clones, "-o", folder, "--pptrain", PPTRAIN], check=True)
        written = sorted(pathlib.Path(folder).glob("*.json"))
        differ = [path.name for path in written
                  if path.read_bytes() != (ROOT / "inputs" / "profiles" / path.name).read_bytes()]
    print(f"{len(written)} profiles, {len(differ)} differ from inputs/profiles: {' '.join(differ)}")
    return 1 if differ or not written else 0


if __name__ == "__main__":
    if "--published" in sys.argv:
        sys.exit(regenerate())
    unittest.main(argv=sys.argv[:1])
