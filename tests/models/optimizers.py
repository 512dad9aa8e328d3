"""The optimizers of reference runs: PyTorch's, and by their formulas those that it lacks or has in bf16 alone."""

import torch


def is_hidden(name, p):
    """A matrix between the embedding and the output layer."""
    return p.dim() == 2 and "embed" not in name and "lm_head" not in name


class Lion(torch.optim.Optimizer):
    """Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2."""

    def __init__(self, groups, lr, beta1, beta2):
        super().__init__(groups, {"lr": lr, "beta1": beta1, "beta2": beta2})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                direction = torch.sign(group["beta1"] * m + (1 - group["beta1"]) * p.grad)
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * direction)
                m.mul_(group["beta2"]).add_((1 - group["beta2"]) * p.grad)


class Muon(torch.optim.Optimizer):
    """Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024, in the precision of the weights."""

    def __init__(self, groups, lr, momentum):
        super().__init__(groups, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.lerp_(p.grad, 1 - group["momentum"])
                x = self.orthogonal(torch.lerp(p.grad, m, group["momentum"]))
                step = group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(step * x)

    @staticmethod
    def orthogonal(u):
        is_tall = u.shape[0] > u.shape[1]
        x = u.T if is_tall else u
        x = x / x.norm().clamp(min=1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        return x.T if is_tall else x


def make(o, parameters, decays):
    """The optimizers of a run, `o` as expected.json has it; of each group "share" is its part of the learning rate."""
    def groups(chosen, **keys):
        found = [{"params": [p for name, p in parameters.items() if chosen(name, p) and decays(name, p) == yes],
                  "weight_decay": o["weight_decay"] if yes else 0.0, **keys} for yes in (True, False)]
        return [group for group in found if group["params"]]

    def adamw(chosen):
        return torch.optim.AdamW(groups(chosen), lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"], foreach=False)

    def everything(_name, _p):
        return True

    if o["name"] == "sgd":
        return [torch.optim.SGD(groups(everything), lr=o["lr"], momentum=o["momentum"], nesterov=o.get("nesterov", False),
                                foreach=False)]
    if o["name"] == "lion":
        return [Lion(groups(everything), o["lr"], o["beta1"], o["beta2"])]
    if o["name"] == "adafactor":
        return [torch.optim.Adafactor(groups(everything), lr=o["lr"], beta2_decay=o["beta2_decay"],
                                      eps=(o["eps1"], o["eps2"]), d=o["d"], foreach=False)]
    if o["name"] == "muon":
        hidden = groups(is_hidden, share=o["muon_lr"] / o["lr"])
        return [Muon(hidden, o["muon_lr"], o["momentum"]), adamw(lambda name, p: not is_hidden(name, p))]
    return [adamw(everything)]
