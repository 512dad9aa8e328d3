"""ZeroPP (Tang et al., 2024): GPT on A800, its table 3 of dp 4 x pp 4 and 64 devices."""

import planning

FIGURES = planning.FIGURES["zeropp"]
GRID = {"parallelism__data": 4, "parallelism__pipeline": 4, "parallelism__tensor": 1}
DEVICES = 16  # of that grid


def measured_table():
    """Estimates of table 3's runs of 1F1B, one sample per micro-batch and replica."""
    cluster = planning.variant("zeropp-8x8", "zeropp-2x8", nodes=2)
    rows, pairs = [], []
    for model, counts in FIGURES["micro_batches"].items():
        for count, measured, peak in zip(counts, FIGURES["samples_per_device_and_second"]["1f1b"][model],
                                         FIGURES["peak_gigabytes"]["1f1b"][model]):
            plans = [planning.plan(f"papers/zeropp-gpt-{model}", "amp", cluster=cluster, batch=4 * count,
                                   training__micro_batch_size=4, parallelism__zero_stage=stage, **GRID) for stage in (0, 1)]
            rate = 4 * count / planning.seconds(plans[0]) / DEVICES
            pairs.append((rate, measured))
            rows.append([model, count, rate, measured, planning.error(rate, measured)]
                        + [max(plan["predicted"]["peak_bytes"]) / 1e9 for plan in plans] + [peak])
    return planning.table(("model", "micro-batches", "ours, samples per device and s", "measured", "off by",
                           "ours, peak GB", "with ZeRO 1", "measured, peak GB"),
                          rows), planning.rank_correlation(*zip(*pairs))


def section():
    measured, correlation = measured_table()
    jobs = [f"papers/zeropp-gpt-{model}" for model in FIGURES["micro_batches"]]
    return "\n\n".join([
        "## ZeroPP: GPT on 64 A800",
        "Best plans for 64 devices by planner, predicted seconds of an iteration:", planning.planners_table(jobs),
        "Its table 3 has 16 devices as dp 4 x pp 4. Our estimate of 1F1B there, from computed layer times with the layers "
        "divided by `amp` and one sample per micro-batch and replica (the paper does not say), beside what it measured:",
        measured,
        f"Rank correlation {correlation:.2f}. The measured memory is less than 16 bytes per parameter need; the paper does "
        "not say how it keeps the optimizer's state, and ZeRO 1 over the 4 replicas comes near."])
