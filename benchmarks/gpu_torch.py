#!/usr/bin/python3
"""GPT-2 training on one GPU as PyTorch does it best: what pptrain is compared with. See gpu_compare.py.

bf16 autocast over fp32 weights, torch.compile, fused attention (scaled_dot_product_attention), fused AdamW, a
vocabulary padded to a multiple of 64, gradients accumulated over micro-batches. Prints one line of JSON: seconds of
each steady step and the allocator's peak. With --device cpu it only shows that it runs.
"""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.proj = nn.Linear(hidden, hidden)
        self.ln2 = nn.LayerNorm(hidden)
        self.fc = nn.Linear(hidden, 4 * hidden)
        self.fc2 = nn.Linear(4 * hidden, hidden)

    def forward(self, x_bth):
        batch, length, hidden = x_bth.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.ln1(x_bth)).split(hidden, 2))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x_bth = x_bth + self.proj(attended.transpose(1, 2).reshape(batch, length, hidden))
        return x_bth + self.fc2(functional.gelu(self.fc(self.ln2(x_bth)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, options):
        super().__init__()
        padded = (options.vocabulary + 63) // 64 * 64
        self.wte = nn.Embedding(padded, options.hidden)
        self.wpe = nn.Embedding(options.length, options.hidden)
        self.blocks = nn.ModuleList(Block(options.hidden, options.heads) for _ in range(options.layers))
        self.lnf = nn.LayerNorm(options.hidden)
        self.head = nn.Linear(options.hidden, padded, bias=False)
        self.head.weight = self.wte.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(self, tokens, targets):
        x_bth = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.blocks:
            x_bth = block(x_bth)
        logits = self.head(self.lnf(x_bth))
        return functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.view(-1))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("layers", "hidden", "heads", "length", "vocabulary", "batch", "micro-batch", "steps", "warmup"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    return parser.parse_args()


def step(model, optimizer, options):
    """One iteration over the global batch; returns the loss of the last micro-batch, on the device."""
    micro_batches = options.batch // options.micro_batch
    for _ in range(micro_batches):
        tokens = torch.randint(0, options.vocabulary, (options.micro_batch, options.length + 1),
                               device=options.device)
        with torch.autocast(options.device, dtype=torch.bfloat16):
            loss = model(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        (loss / micro_batches).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


def main():
    options = parse()
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    on_gpu = options.device == "cuda"
    synchronize = torch.cuda.synchronize if on_gpu else lambda: None
    model = Gpt2(options).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=on_gpu)
    compiled = torch.compile(model)
    seconds = []
    for _ in range(options.warmup + options.steps):
        synchronize()
        begin = time.perf_counter()
        loss = step(compiled, optimizer, options)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds[options.warmup:], "loss": float(loss), "torch": torch.__version__,
                      "allocated": torch.cuda.max_memory_allocated() if on_gpu else None}))


main()
