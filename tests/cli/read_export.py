"""Reads back what `pptrain export-plan` wrote, by what each trainer's own source says of its files, and compares it with the plan.

    read_export.py megatron|torchtitan|flagscale|deepspeed FOLDER PLAN.json BLOCK_LAYERS DEVICES_PER_NODE... [--order SIMULATION.json]

BLOCK_LAYERS: how many of the plan's layers a block of the model is. For each device of the plan the reader says which blocks it has,
which samples of a micro-batch and which part of a layer, once as the plan says it and once as the trainer makes it of ranks and
files, and fails where these differ. `run/NUMBER` are what rank.sh gave process NUMBER: its environment, then its arguments, a line each.
"""

import csv
import json
import os
import re
import sys


def fail(text):
    sys.exit(f"read_export.py: {text}")


def equal(what, found, wanted):
    if found != wanted:
        fail(f"{what}: {found}, not {wanted}")


class Plan:
    def __init__(self, path, block_layers):
        with open(path, encoding="utf-8") as file:
            self.json = json.load(file)
        self.stages = self.json["stages"]
        self.block_layers = block_layers
        self.num_layers = max(layers[1] for stage in self.stages for layers in stage["layers"])
        self.num_blocks = (self.num_layers - 2) // block_layers
        self.micro_batch = self.json["micro_batch_size"]
        self.context = self.json.get("context", 1)

    def part(self, layer):
        """A layer of the plan as a part of the model: "E", the number of a block, or "L"."""
        if layer == 0:
            return "E"
        return "L" if layer == self.num_layers - 1 else (layer - 1) // self.block_layers

    def places(self):
        """(parts, samples, member, members) of each device."""
        found = {}
        for stage in self.stages:
            parts = [self.part(layer) for first, last in sorted(stage["layers"]) for layer in range(first, last)]
            parts = list(dict.fromkeys(parts))
            for row, (first, last) in zip(stage["devices"], stage["samples"]):
                for member, device in enumerate(row):
                    found[device] = (parts, last - first, member, len(row))
        return found


class Folder:
    def __init__(self, path, devices_per_node):
        self.path = path
        self.ranks = list(csv.DictReader(self.text("ranks.tsv").splitlines(), delimiter="\t"))
        self.hosts = [line.split("\t")[0] for line in self.text("hosts.txt").splitlines()]
        self.first_devices = [sum(devices_per_node[:n]) for n in range(len(devices_per_node))]
        equal("numbers of ranks", [int(rank["rank"]) for rank in self.ranks], list(range(len(self.ranks))))

    def text(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()

    def device(self, node, local_rank):
        """Hosts are "HOST-K" or "gpuK" for the K-th node of the cluster in the tests' cluster files."""
        number = int(re.search(r"\d+", self.hosts[node]).group())
        return self.first_devices[number] + local_rank

    def run_devices(self):
        """The device of each process by the environment that it got, and its arguments."""
        devices, arguments = [], []
        for rank in range(len(self.ranks)):
            lines = self.text(f"run/{rank}").splitlines()
            environment = dict(line.split("=", 1) for line in lines[: lines.index("--")])
            equal("WORLD_SIZE", int(environment["WORLD_SIZE"]), len(self.ranks))
            equal("MASTER_ADDR", environment["MASTER_ADDR"], self.hosts[int(self.ranks[0]["node"])])
            node = self.hosts.index(environment["HOST"])
            devices.append(self.device(node, int(environment["LOCAL_RANK"])))
            words = lines[lines.index("--") + 1 :]
            if "--local_rank" in words:
                place = words.index("--local_rank") + 1
                equal("--local_rank", words[place], environment["LOCAL_RANK"])
                words[place] = ""
            arguments.append(words)
        if any(one != arguments[0] for one in arguments):
            fail("processes got different arguments")
        return devices, arguments[0]


def options_of(words):
    """Options of a command line; "" is the value of a flag."""
    found, name = {}, None
    for word in words:
        if word.startswith("--"):
            name = word
            if name in found:
                fail(f"{name} is there twice")
            found[name] = ""
        elif name:
            found[name] = (found[name] + " " + word).strip()
    return found


def compare(plan, places):
    wanted = plan.places()
    equal("devices", sorted(places), sorted(wanted))
    for device, place in places.items():
        equal(f"device {device}", place, wanted[device])


def megatron_layout(text, pipeline):
    """Parts of each (rank of the pipeline, virtual stage): x*n is n times x, (xy)*n n times xy, | ends a stage."""
    text = text.replace(",", "")
    text = re.sub(r"\(([^)]+)\)\*(\d+)", lambda found: found[1] * int(found[2]), text)
    text = re.sub(r"(.)\*(\d+)", lambda found: found[1] * int(found[2]), text)
    stages, block = [], 0
    for letters in text.split("|"):
        stages.append([])
        for letter in letters:
            stages[-1].append(block if letter == "t" else letter)
            block += letter == "t"
    equal("remainder of virtual stages", len(stages) % pipeline, 0)
    return [[part for stage in stages[rank::pipeline] for part in stage] for rank in range(pipeline)], block


def grid_places(plan, devices, pipeline, data, tensor, samples, parts_of):
    """Ranks count members, then replicas, then stages."""
    equal("processes", len(devices), pipeline * data * tensor)
    return {device: (parts_of[rank // (data * tensor)], samples, rank % tensor, tensor) for rank, device in enumerate(devices)}


def read_megatron(plan, folder):
    devices, words = folder.run_devices()
    options = options_of(words)
    tensor, pipeline = int(options["--tensor-model-parallel-size"]), int(options["--pipeline-model-parallel-size"])
    context = int(options.get("--context-parallel-size", 1))
    data = len(devices) // (tensor * context * pipeline)
    every = ["E", *range(plan.num_blocks), "L"]
    layout, blocks = [every], plan.num_blocks
    if pipeline > 1:
        layout, blocks = megatron_layout(options["--pipeline-model-parallel-layout"], pipeline)
    equal("--num-layers", int(options["--num-layers"]), blocks)
    samples, batch = int(options["--micro-batch-size"]), int(options["--global-batch-size"])
    equal("micro-batches", batch // (samples * data), plan.json["micro_batches"])
    stage = plan.stages[0]
    equal("distributed optimizer", "--use-distributed-optimizer" in options, stage.get("zero_stage", 0) == 1 and data * context > 1)
    equal("recomputation", options.get("--recompute-granularity", "none"), stage.get("recompute", "none"))
    if "--num-experts" in options:
        expert, expert_tensor = int(options["--expert-model-parallel-size"]), int(options["--expert-tensor-parallel-size"])
        equal("ranks of experts", len(devices) % (expert * expert_tensor * pipeline), 0)
        equal("experts of a rank", int(options["--num-experts"]) % expert, 0)
    equal("context", context, plan.context)
    compare(plan, grid_places(plan, devices, pipeline, data * context, tensor, samples, layout))


def torch_orders(text):
    """Tasks of each line as pptrain names them: B there is both parts, I and W are one each."""
    orders = []
    for line in text.splitlines():
        tasks = [re.fullmatch(r"(\d+)([FIBW])(\d+)", cell).groups() for cell in line.split(",")]
        orders.append([f"{'B' if kind == 'I' else kind}{chunk}.{batch}" for chunk, kind, batch in tasks])
    return orders


def read_torchtitan(plan, folder, simulation):
    import tomllib

    devices, words = folder.run_devices()
    equal("arguments", words[:3], ["-m", "torchtitan.train", "--job.config_file"])
    config = tomllib.loads(folder.text("config.toml"))
    p, training = config["parallelism"], config["training"]
    pipeline, tensor = p["pipeline_parallel_degree"], p["tensor_parallel_degree"]
    data, context = p["data_parallel_replicate_degree"] * p["data_parallel_shard_degree"], p.get("context_parallel_degree", 1)
    samples = p["pipeline_parallel_microbatch_size"] if pipeline > 1 else training["local_batch_size"]
    micro_batches = training["local_batch_size"] // samples if pipeline > 1 else training["global_batch_size"] // (samples * data)
    equal("micro-batches", micro_batches, plan.json["micro_batches"])
    equal("global batch", training["global_batch_size"] * context, plan.json["global_batch_size"])
    equal("context", context, plan.context)
    equal("recomputation", config["activation_checkpoint"]["mode"], plan.stages[0].get("recompute", "none"))
    zero = plan.stages[0].get("zero_stage", 0) if data * context > 1 else 0
    equal("FSDP", p.get("fsdp_reshard_after_forward"), {0: None, 1: "never", 2: "never", 3: "always"}[zero])
    names = {"tok_embeddings": "E", "norm": None, "output": "L"}
    chunks = [[names[name] if name in names else int(name.split(".")[1]) for name in chunk] for chunk in p.get("module_fqns_per_model_part", [])]
    if pipeline == 1:
        chunks = [["E", *range(plan.num_blocks), "L"]]
    v_shape = p.get("pipeline_parallel_schedule") == "ZBVZeroBubble"
    parts = [[] for _ in range(pipeline)]
    for number, chunk in enumerate(chunks):
        rank = min(number, 2 * pipeline - 1 - number) if v_shape else number % pipeline
        parts[rank] += [part for part in chunk if part is not None]
    compare(plan, grid_places(plan, devices, pipeline, data * context, tensor, samples, parts))
    if simulation and pipeline > 1:
        compare_orders(plan, folder, p, simulation, data * context * tensor)


def compare_orders(plan, folder, parallelism, simulation, ranks_of_stage):
    with open(simulation, encoding="utf-8") as file:
        orders = [rank["order"] for rank in json.load(file)["ranks"]][::ranks_of_stage]
    if "pipeline_parallel_schedule_csv" in parallelism:
        found = torch_orders(folder.text(parallelism["pipeline_parallel_schedule_csv"]))
        split = any(task.startswith("W") for order in orders for task in order)
        if split != any("I" in line for line in folder.text("schedule.csv").splitlines()):
            fail("the order splits backward passes, and the file does not, or the other way round")
    else:
        stages, count = len(plan.stages), plan.json["micro_batches"]
        found = []
        for stage in range(stages):
            warm_up = count if parallelism["pipeline_parallel_schedule"] == "GPipe" else min(stages - stage, count)
            order = [f"F{stage}.{i}" for i in range(warm_up)]
            for i in range(count):
                order.append(f"B{stage}.{i}")
                if warm_up + i < count:
                    order.append(f"F{stage}.{warm_up + i}")
            found.append(order)
    equal("orders", found, orders)


def yaml_lines(text):
    """The `key: value` pairs of all levels of a YAML file without lists over several lines; keys that are there twice are refused."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"\s*([A-Za-z_]\w*):\s*(.*)", line)
        if match and match[2]:
            if match[1] in found:
                fail(f"{match[1]} is there twice")
            found.setdefault(match[1], match[2])
    return found


def read_flagscale(plan, folder):
    keys = yaml_lines(folder.text("config.yaml").split("\ntrain:\n")[1])
    numbers = [int(n) for n in re.findall(r"\d+", keys["hetero_process_meshes"])]
    meshes = [numbers[i : i + 5] for i in range(0, len(numbers), 5)]
    split = [int(n) for n in re.findall(r"\d+", keys["hetero_pipeline_layer_split"])]
    types = re.findall(r'"([^"]+)"', keys["hetero_device_types"])
    equal("lengths", (len(meshes), len(split)), (len(types), int(keys["pipeline_model_parallel_size"])))
    equal("blocks", sum(split), int(keys["num_layers"]))
    visible = {}
    for line in folder.text("config.yaml").splitlines():
        host = re.fullmatch(r"      (\S+):", line)
        if host:
            name = host[1]
        devices = re.fullmatch(r' +CUDA_VISIBLE_DEVICES: "([\d,]+)"', line)
        if devices:
            visible["" if line.startswith("    CUDA") else name] = [int(d) for d in devices[1].split(",")]
    processes = []  # (index of the type, rank, device), as the runner starts them
    for number, line in enumerate(folder.text("hostfile").splitlines()):
        host, slots, kind = re.fullmatch(r"(\S+) slots=(\d+) type=(\S+)", line).groups()
        equal("host", host, folder.hosts[number])
        devices = visible.get(host, visible[""])
        equal("slots", int(slots), len(devices))
        for local in devices:
            processes.append((types.index(kind), len(processes), folder.device(number, local)))
    devices = [device for _, _, device in sorted(processes)]
    first_samples, places, rank, stage, block = int(keys["micro_batch_size"]), {}, 0, 0, 0
    for tensor, context, _, data, stages in meshes:
        equal("context parallel", context, 1)
        samples = first_samples * meshes[0][3] // data
        equal("samples", samples * data, plan.micro_batch)
        for _ in range(stages):
            parts = [*(["E"] if stage == 0 else []), *range(block, block + split[stage]), *(["L"] if stage + 1 == len(split) else [])]
            for place in range(tensor * data):
                places[devices[rank]] = (parts, samples, place % tensor, tensor)
                rank += 1
            block += split[stage]
            stage += 1
    equal("ranks", rank, len(devices))
    equal("global batch", int(keys["global_batch_size"]), plan.json["global_batch_size"])
    compare(plan, places)


def read_deepspeed(plan, folder):
    devices, words = folder.run_devices()
    if "--deepspeed_config" not in words:
        fail("DeepSpeed is not told of its file")
    config = json.loads(folder.text("ds_config.json"))
    samples, steps = config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"]
    data = config["train_batch_size"] // (samples * steps)
    pipeline = len(devices) // data
    equal("micro-batches", steps, plan.json["micro_batches"])
    equal("ZeRO", config["zero_optimization"]["stage"], plan.stages[0].get("zero_stage", 0) if data > 1 else 0)
    entries = ["E", *range(plan.num_blocks), "L"]
    parts = [entries]
    if pipeline > 1:
        cuts = [int(n) for n in re.findall(r"\d+", re.search(r"CUTS = \[(.*)\]", folder.text("pptrain_pipeline.py"))[1])]
        equal("length", cuts[-1], len(entries))
        parts = [entries[first:last] for first, last in zip(cuts, cuts[1:])]
    compare(plan, grid_places(plan, devices, pipeline, data, 1, samples, parts))


def main():
    words = sys.argv[1:]
    simulation = None
    if "--order" in words:
        simulation = words[words.index("--order") + 1]
        words = words[: words.index("--order")]
    trainer, path = words[:2]
    plan, folder = Plan(words[2], int(words[3])), Folder(path, [int(n) for n in words[4:]])
    readers = {"megatron": read_megatron, "flagscale": read_flagscale, "deepspeed": read_deepspeed}
    if trainer == "torchtitan":
        read_torchtitan(plan, folder, simulation)
    else:
        readers[trainer](plan, folder)
    print("the plan and what the trainer makes of its files are the same")


if __name__ == "__main__":
    main()
