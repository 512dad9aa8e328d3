"""Whale (Jia et al., USENIX ATC 2022): unequal devices, a huge classifier, M6-10B."""

import planning

FIGURES = planning.FIGURES["whale"]
DATA_PARALLEL = {"parallelism__pipeline": 1, "parallelism__tensor": 1}
NESTED = {"parallelism__pipeline": 4, "parallelism__data": 2, "parallelism__tensor": 1}


def batches_of(job, **arguments):
    """Seconds of the iteration and of its compute, of even batches and of uneven ones with a share on every device."""
    even = planning.plan(job, "data-parallel", **arguments)
    uneven = planning.plan(job, "whale", **arguments, **DATA_PARALLEL, parallelism__data=16)
    return [(planning.seconds(plan), planning.compute_seconds(job, "whale-8v100-8p100", plan)) for plan in (even, uneven)]


def data_parallelism():
    rows = []
    for model in ("resnet-50", "bert-large", "gnmt-16"):
        job = "papers/whale-" + model
        (even, even_compute), (uneven, uneven_compute) = batches_of(job)
        best = planning.plan(job)
        others = [even, planning.seconds(planning.plan(job, "megatron"))]
        rows.append([model, even, uneven, planning.times(even / uneven), planning.times(even_compute / uneven_compute),
                     planning.seconds(best)] + [planning.times(other / planning.seconds(best)) for other in others]
                    + [planning.shape(best)])
    low, high = FIGURES["uneven_over_even_batches"]["range"]
    return planning.table(("model", "even batches, s", "uneven, s", "even / uneven", "of it compute alone", "`auto`, s",
                           "even / `auto`", "`megatron` / `auto`", "plan of `auto`"), rows) + (
        f"\n\nThe paper measured {low} to {high}. A V100 has 15.7 TFLOP/s and a P100 9.3 in fp32, so that no division of "
        f"the batch gains more than {(1 + 15.7 / 9.3) / 2:.2f} in compute; whole samples take the rest of the difference.")


def batch_sweep():
    """Where data parallelism gains less than the paper says: gradients that do not shrink with the batch."""
    rows = []
    for batch in (256, 1024, 4096):
        (even, even_compute), (uneven, uneven_compute) = batches_of("papers/whale-bert-large", batch=batch)
        rows.append([batch, even, uneven, planning.times(even / uneven), planning.times(even_compute / uneven_compute),
                     f"{1 - even_compute / even:.0%}"])
    return ("Gradients are reduced after the backward pass in the `amp` estimate, and take the same time in both. The "
            "paper gives no batches; the larger it is, the less they count (BERT-Large):\n\n" + planning.table(
                ("batch", "even batches, s", "uneven, s", "even / uneven", "of it compute alone",
                 "gradients' part of the even iteration"), rows))


def pipelines():
    rows = []
    for model in ("bert-large", "t5-large"):
        job = f"papers/whale-{model}-pipeline"
        for order in ("V100", "P100"):
            cluster = planning.variant("whale-4v100-4p100", "whale-4p100-4v100", reversed_nodes=order == "P100")
            plans = [planning.plan(job, name, cluster=cluster, **NESTED) for name in ("megatron", "whale", "auto")]
            rows.append([model, order] + [planning.seconds(plan) for plan in plans]
                        + [planning.ratio(plans[0], plan) for plan in plans[1:]])
    return planning.table(("model", "first in the file", "even stages, s", "`whale`, s", "`auto`, s", "even / `whale`",
                           "even / `auto`"), rows) + (
        f"\n\nThe paper measured about {FIGURES['uneven_over_even_stages']['about']}. What even stages lose depends on which "
        "layers fall on the P100s, and the paper does not say in which order its devices stand: T5's encoder works on 512 "
        "tokens and its decoder on 114, so that equal numbers of layers with V100s first are nearly balanced by chance.")


def annotated(job, classifier, devices):
    """The job with its features replicated and its classifier split, both over all devices (section 5.1.2)."""
    parts = (f"[0, {classifier}]", "replicate"), (f"[{classifier}, {classifier + 1}]", "split")
    return planning.job_with(job, "".join(
        f'\n[[model.annotate]]\nlayers = {layers}\nprimitive = "{primitive}"\ndevices = {devices}\n'
        for layers, primitive in parts))


def by_dapple(plan):
    return plan["predicted"]["estimates"]["dapple"]


def classifiers():
    rows = []
    for nodes in (1, 2, 4):
        devices = 8 * nodes
        cluster = planning.variant("whale-v100-4x8", f"whale-v100-{nodes}x8", nodes=nodes)
        batch = 64 * devices
        job = "papers/whale-resnet-50-100k"
        together, best = (planning.plan(job, name, cluster=cluster, batch=batch) for name in ("data-parallel", "auto"))
        split = planning.plan(annotated(job, 17, devices), "whale", cluster=cluster, batch=batch)
        rows.append([devices, planning.seconds(together), planning.seconds(split), planning.seconds(best),
                     planning.ratio(together, split), planning.times(by_dapple(together) / by_dapple(split)), planning.ratio(together, best),
                     FIGURES["split_over_data_parallel"][str(devices)]])
    million = "papers/whale-resnet-50-1m"
    together = planning.plan(million, "data-parallel")
    split = [planning.seconds(planning.plan(annotated(million, 17, 8 * nodes), "whale", batch=512 * nodes,
                                            cluster=planning.variant("whale-v100-4x8", f"whale-v100-{nodes}x8", nodes=nodes)))
             for nodes in (1, 4)]
    return planning.table(("devices", "data parallel, s", "classifier split, s", "`auto`, s", "data parallel / split",
                           "by `dapple`'s form",
                           "data parallel / `auto`", "the paper's, measured"), rows) + (
        "\n\nThe gradients of data parallelism cross nodes from 16 devices on, and a ring takes 2 (n - 1) / n of their bytes "
        "over an uplink, hardly more on 32 than on 16, where what the paper measured still grows. Part of them is reduced "
        "during the backward pass, which `dapple`'s form counts and `amp`'s does not.\n\n"
        f"With 1,000,000 classes data parallelism does not fit, as in the paper: {together}. The split takes "
        f"{split[0]:.3f} s on 8 devices and {split[1]:.3f} s on 32 with as many images on each: {split[0] / split[1]:.0%} of "
        f"the throughput per device is kept, {FIGURES['million_classes_scaling']['efficiency']:.0%} in the paper; ours loses "
        "it to gradients of the features, which stay inside the node on 8 devices.")


def pipelines_in_nodes(plan):
    """The plan with the stages of each replica side by side on the 8 devices of a node."""
    stages = [{**stage, "devices": [[8 * replica + index] for replica in range(stage["replicas"])]}
              for index, stage in enumerate(plan["stages"])]
    return {**plan, "stages": stages}


def scaling():
    """M6-10B: throughput per device of 32 nodes over that of 8, in the layout our planner takes and in the other."""
    job = "papers/whale-m6-10b"
    chosen, inside = {}, {}
    for nodes in (8, 32):
        cluster = planning.variant("whale-v100-32x8", f"whale-v100-{nodes}x8", nodes=nodes)
        best = planning.plan(job, "amp", cluster=cluster, batch=35 * nodes, parallelism__pipeline=8,
                             parallelism__tensor=1, training__micro_batch_size=nodes)
        chosen[nodes] = planning.seconds(best)
        inside[nodes] = planning.cost(job, pipelines_in_nodes(best), cluster=cluster)["iteration_seconds"]
    return (f"M6-10B in 8 stages of 35 micro-batches, as many replicas as nodes: `amp` puts a stage side by side and takes "
            f"{chosen[8]:.2f} s on 8 nodes, where gradients stay inside a node, and {chosen[32]:.2f} s on 32, where they "
            f"cross: {chosen[8] / chosen[32]:.0%} of the throughput per device is kept. With a pipeline inside each node, "
            f"where gradients cross in both, it is {inside[8]:.2f} s, {inside[32]:.2f} s and {inside[8] / inside[32]:.0%}. "
            f"The paper measured {FIGURES['m6_10b_scaling']['efficiency']:.0%}.")


def section():
    return "\n\n".join([
        "## Whale: unequal devices, a huge classifier",
        "Data parallelism on 8 V100 of 32 GB and 8 P100 (figure 17), every device with a share:", data_parallelism(),
        batch_sweep(), "Four stages of two replicas on 4 V100 and 4 P100 (figure 18), even ones by number of layers or of "
        "parameters:", pipelines(),
        "ResNet-50 with 100,000 classes on V100s, 64 images on each: the features replicated and the classifier split "
        "(section 5.1.2).", classifiers(), scaling()])
