#!/usr/bin/env python3
"""read_events.py EVENTS METRICS.h5: decodes an event file of TensorBoard, its checksums included, and compares it with the
series of the run. Written from the formats' descriptions (TFRecord, protobuf's wire format) alone."""
import datetime
import math
import re
import struct
import sys

import h5py

TABLE = []
for n in range(256):
    crc = n
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        (crc,) = struct.unpack_from("<I", data, at + 8)
        assert crc == masked_crc(data[at:at + 8]), "checksum of a length"
        payload = data[at + 12:at + 12 + length]
        (crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert len(payload) == length and crc == masked_crc(payload), "checksum of a record"
        yield payload
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: value} of a protobuf message."""
    at, found = 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size = {1: 8, 5: 4}[wire]
            (value,) = struct.unpack_from("<d" if wire == 1 else "<f", data, at)
            at += size
        found[tag >> 3] = value
    return found


def check_times(events, metrics):
    """The last job's steps lie behind its start by its iterations, and earlier ones before it."""
    environment = {name: str(text, "utf-8") for name, text in metrics["environment"].attrs.items() if isinstance(text, bytes)}
    started = datetime.datetime.strptime(environment["started"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
    resumed = re.search(r"step-(\d+)\.h5$", environment.get("resumed_from", ""))
    resumed = int(resumed[1]) if resumed else 0
    steps = list(metrics["steps/step"][:])
    seconds = dict(zip(steps, metrics["steps/iteration_seconds"][:]))
    gaps = {step: step - before for before, step in zip([0] + steps, steps)}
    for event in events[1:]:
        between = [s for s in steps if min(event[2], resumed) < s <= max(event[2], resumed)]
        sign = 1 if event[2] > resumed else -1
        wanted = started + sign * sum(seconds[s] * gaps[s] for s in between)
        assert abs(event[1] - wanted) < 1e-4, (event[2], event[1], wanted)


def main():
    with open(sys.argv[1], "rb") as file:
        events = [fields(record) for record in records(file.read())]
    assert events[0][3] == b"brain.Event:2", events[0]
    series = {}
    times = [event[1] for event in events]
    assert times == sorted(times) and times[0] > 1.7e9, times[:3]
    for event in events[1:]:
        value = fields(fields(event[5])[1])
        series.setdefault(value[1].decode(), []).append((event[2], value[2]))
    with h5py.File(sys.argv[2], "r", swmr=True) as metrics:
        check_times(events, metrics)
        groups = [("steps", "train"), ("steps", "speed"), ("steps", "memory")]
        if len(metrics["evaluation/step"]) > 0:
            groups.append(("evaluation", "evaluation"))
        for group, prefix in groups:
            names = [tag.split("/")[1] for tag in series if tag.startswith(prefix + "/")]
            assert names, prefix
            for name in names:
                wanted = zip(metrics[group]["step"][:], metrics[group][name][:])
                for (step, value), (wanted_step, wanted_value) in zip(series[f"{prefix}/{name}"], wanted, strict=True):
                    assert step == wanted_step and math.isclose(value, wanted_value, rel_tol=1e-6, abs_tol=1e-30), (name, step)
        assert len(series) == 8 + len(groups) - 3, sorted(series)
    print(f"{len(events)} events of {len(series)} series")


main()
