#!/usr/bin/env python3
"""read_trace.py TRACE.json DEVICES: holds a trace to Chrome's trace event format as Perfetto and chrome://tracing read it, by
nothing but that format: complete events with microseconds, metadata that names each process and thread, no two events of a
thread that overlap in part."""
import collections
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    named = collections.defaultdict(dict)
    threads = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"], event
        if event["ph"] == "M":
            named[event["name"]][event["pid"], event["tid"]] = event["args"]
            continue
        assert event["ph"] == "X" and event["cat"] and event["ts"] >= 0 and event["dur"] >= 0, event
        threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    devices = list(range(int(sys.argv[2])))
    assert sorted(pid for pid, _ in named["process_name"]) == devices
    assert all(named["process_name"][pid, 0]["name"] == f"device {pid}" for pid in devices)
    assert set(threads) <= set(named["thread_name"]), set(threads) - set(named["thread_name"])
    for thread, events in threads.items():
        assert events == sorted(events, key=lambda event: event[0]), f"{thread} is not in order"
        for (_, end, name), (begin, _, other) in zip(events, events[1:]):
            assert begin >= end - 1e-3, f"{thread}: {name} and {other} overlap"
    tasks = [name for (_, thread), events in threads.items() if thread == 0 for _, _, name in events]
    assert any(name.startswith("F0.") for name in tasks), "no forward task is computed"
    longest = max(end for events in threads.values() for _, end, _ in events)
    assert 1 < longest < 3.6e9, f"{longest} microseconds"
    print(f"{sum(map(len, threads.values()))} events in {len(threads)} threads, {longest / 1e3:.1f} ms")


main()
