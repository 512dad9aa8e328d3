"""Reads orders of torchtitan's by torch's own parser, checks them, and lets them run dry: torch_schedule.py NAME.csv ...

The plan of NAME.csv is NAME.json.
"""

import csv
import json
import sys

try:
    from torch.distributed.pipelining import schedules
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)


def check(path):
    with open(path, newline="", encoding="utf-8") as file:
        actions = {rank: [schedules._Action.from_str(cell) for cell in row] for rank, row in enumerate(csv.reader(file))}
    with open(path.removesuffix(".csv") + ".json", encoding="utf-8") as file:
        plan = json.load(file)
    ranks = len(plan["stages"])
    chunks = sum(len(stage["layers"]) for stage in plan["stages"])
    mapping = schedules._validate_schedule(actions, ranks, chunks, plan["micro_batches"])
    places = {}
    for rank, stage in enumerate(plan["stages"]):
        for first, _ in stage["layers"]:
            places[first] = rank
    wanted = dict(enumerate(rank for _, rank in sorted(places.items())))
    if mapping != wanted:
        sys.exit(f"{path}: chunks on ranks: {mapping}, not {wanted}")
    lowered = schedules._add_send_recv(actions, stage_to_rank=lambda chunk: mapping[chunk], num_stages=chunks)
    schedules._simulate_comms_compute(lowered, lambda chunk: mapping[chunk], chunks)
    print(f"{path}: torch runs it")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        check(name)
