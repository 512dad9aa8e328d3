"""Damages one thing in the folder of a model, so that a test sees what is said of it.

Usage: damage_model.py FOLDER DAMAGE [ARGUMENT ...]
"""

import json
import struct
import sys
from pathlib import Path


class Weights:
    """model.safetensors: a header's length, the header as JSON, the bytes of the tensors."""

    def __init__(self, folder, name="model.safetensors"):
        self.path = folder / name
        data = self.path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        self.header = json.loads(data[8 : 8 + length])
        self.body = data[8 + length :]

    def write(self, length=None):
        text = json.dumps(self.header).encode()
        size = len(text) if length is None else length
        self.path.write_bytes(struct.pack("<Q", size) + text + self.body)

    def add(self, name, dtype, shape, size):
        begin = len(self.body)
        self.header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
        self.body += bytes(size)

    def rename(self, old, new):
        self.header[new] = self.header.pop(old)


def set_key(folder, key, value):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config[key] = json.loads(value)
    path.write_text(json.dumps(config, indent=2))


def nest(folder, model_type):
    """The text model becomes a part of another one."""
    path = folder / "config.json"
    path.write_text(json.dumps({"model_type": model_type, "text_config": json.loads(path.read_text())}, indent=2))
    weights = Weights(folder)
    for name in [key for key in weights.header if key != "__metadata__"]:
        weights.rename(name, "language_model." + name)
    weights.write()


def change_header(change):
    def apply(folder, *arguments):
        weights = Weights(folder)
        change(weights, *arguments)
        weights.write()

    return apply


def reshape(weights, name):
    weights.header[name]["shape"].reverse()


def retype(weights, name):
    weights.header[name]["dtype"] = "I32"


def overlap(weights, name):
    begin, end = weights.header[name]["data_offsets"]
    weights.header[name]["data_offsets"] = [begin + 4, end + 4]


def poison(folder, name):
    """The second element becomes no number."""
    weights = Weights(folder)
    begin = weights.header[name]["data_offsets"][0] + 4
    weights.body = weights.body[:begin] + struct.pack("<f", float("nan")) + weights.body[begin + 4 :]
    weights.write()


def beyond(weights, name):
    weights.header[name]["data_offsets"][1] += 1 << 40


def truncate(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def lie_about_header(folder):
    Weights(folder).write(length=1 << 60)


def point_outside(folder, name):
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    names = [key for key in Weights(folder, "part.safetensors").header if key != "__metadata__"]
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, "part.safetensors")}
    index["weight_map"][name] = "../part.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


DAMAGES = {
    "set-key": set_key,
    "nest": nest,
    "rename-tensor": change_header(lambda weights, old, new: weights.rename(old, new)),
    "add-tensor": change_header(lambda weights, name: weights.add(name, "F32", [2], 8)),
    "reshape-tensor": change_header(reshape),
    "retype-tensor": change_header(retype),
    "overlap-tensor": change_header(overlap),
    "tensor-beyond-end": change_header(beyond),
    "not-a-number": poison,
    "truncate": truncate,
    "lie-about-header": lie_about_header,
    "point-outside": point_outside,
}

DAMAGES[sys.argv[2]](Path(sys.argv[1]), *sys.argv[3:])
