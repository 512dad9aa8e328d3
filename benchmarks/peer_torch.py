#!/usr/bin/python3
"""A GPT-2-shaped training step in PyTorch: what pptrain is compared with. See peer.py.

One process, one thread, fp32 or bf16 autocast, AdamW, tied output layer. Prints CPU seconds of each
steady step as one line of JSON.
"""

import argparse
import json
import resource
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, hidden, heads, length):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.proj = nn.Linear(hidden, hidden)
        self.ln2 = nn.LayerNorm(hidden)
        self.fc = nn.Linear(hidden, 4 * hidden)
        self.fc2 = nn.Linear(4 * hidden, hidden)
        self.mask = torch.tril(torch.ones(length, length, dtype=torch.bool)).logical_not().view(1, 1, length, length)

    def forward(self, x_bth):
        batch, length, hidden = x_bth.shape
        size = hidden // self.heads
        parts = self.qkv(self.ln1(x_bth)).split(hidden, 2)
        q, k, v = (part.view(batch, length, self.heads, size).transpose(1, 2) for part in parts)
        scores = ((q @ k.transpose(-2, -1)) * size**-0.5).masked_fill(self.mask, float("-inf"))
        attended = (functional.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, hidden)
        x_bth = x_bth + self.proj(attended)
        return x_bth + self.fc2(functional.gelu(self.fc(self.ln2(x_bth))))


class Gpt2(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.wte = nn.Embedding(options.vocabulary, options.hidden)
        self.wpe = nn.Embedding(options.length, options.hidden)
        self.blocks = nn.ModuleList(
            Block(options.hidden, options.heads, options.length) for _ in range(options.layers))
        self.lnf = nn.LayerNorm(options.hidden)
        self.head = nn.Linear(options.hidden, options.vocabulary, bias=False)
        self.head.weight = self.wte.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(self, tokens, targets):
        x_bth = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1)))
        for block in self.blocks:
            x_bth = block(x_bth)
        logits = self.head(self.lnf(x_bth))
        return functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.view(-1))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("layers", "hidden", "heads", "length", "vocabulary", "batch", "steps", "warmup"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--bf16", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Gpt2(options)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    seconds = []
    for _ in range(options.warmup + options.steps):
        tokens = torch.randint(0, options.vocabulary, (options.batch, options.length + 1))
        begin = time.process_time()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.bf16):
            loss = model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - begin)
    print(json.dumps({"cpu_seconds": seconds[options.warmup:], "loss": float(loss), "torch": torch.__version__,
                      "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


main()
