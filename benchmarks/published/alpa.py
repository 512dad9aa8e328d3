"""Alpa (Zheng et al., OSDI 2022): GPT, GShard's mixture of experts and Wide-ResNet on V100."""

import planning

JOBS = ("papers/alpa-gpt-39b", "papers/alpa-gpt-moe-70b", "papers/alpa-wide-resnet-13b", "papers/alpa-wide-resnet-4b")


def section():
    drawn = planning.plan("papers/alpa-wide-resnet-4b", "auto")
    return "\n\n".join([
        "## Alpa: large models on V100 of 16 GB",
        "Best plans by planner, predicted seconds of an iteration (64 devices; 16 for Wide-ResNet 4B):",
        planning.planners_table(JOBS),
        f"The paper draws its plan for Wide-ResNet 4B on 16 devices as three stages on 4, 4 and 8; ours: "
        f"{planning.shape(drawn)} (stages as replicas x tensor-parallel degree)."])
