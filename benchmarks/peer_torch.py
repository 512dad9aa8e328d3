#!/usr/bin/python3
"""A training step in PyTorch, what pptrain is compared with: of the shape of GPT-2, of Llama where key heads are given,
or of a network of transformers where a folder is. See peer.py.

One process, one thread, fp32 or bf16 autocast, AdamW, tied output layer. Prints CPU seconds of each
steady step as one line of JSON.
"""

import argparse
import functools
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


class RmsNorm(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        if hasattr(functional, "rms_norm"):
            return functional.rms_norm(x, self.weight.shape, self.weight, 1e-5)
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.heads, self.key_heads = options.heads, options.key_heads
        self.size = options.hidden // options.heads
        self.norm1, self.norm2 = RmsNorm(options.hidden), RmsNorm(options.hidden)
        linear = functools.partial(nn.Linear, bias=False)
        self.q = linear(options.hidden, self.heads * self.size)
        self.k, self.v = (linear(options.hidden, self.key_heads * self.size) for _ in range(2))
        self.o = linear(self.heads * self.size, options.hidden)
        self.gate, self.up = (linear(options.hidden, options.feed_forward) for _ in range(2))
        self.down = linear(options.feed_forward, options.hidden)
        angles = torch.outer(torch.arange(options.length), 10000.0 ** (-torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cos", torch.cat((angles, angles), -1).cos())
        self.register_buffer("sin", torch.cat((angles, angles), -1).sin())

    def turn(self, x):
        first, second = x.chunk(2, -1)
        return (x * self.cos + torch.cat((-second, first), -1) * self.sin).to(x.dtype)

    def attend(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, -1, self.size).transpose(1, 2)
                   for part in (self.q(x), self.k(x), self.v(x)))
        q, k = self.turn(q), self.turn(k)
        k, v = (part.repeat_interleave(self.heads // self.key_heads, 1) for part in (k, v))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(attended.transpose(1, 2).reshape(batch, length, -1))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.embedding = nn.Embedding(options.vocabulary, options.hidden)
        self.blocks = nn.ModuleList(LlamaBlock(options) for _ in range(options.layers))
        self.norm = RmsNorm(options.hidden)
        self.head = nn.Linear(options.hidden, options.vocabulary, bias=False)
        self.head.weight = self.embedding.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.view(-1))


class Published(nn.Module):
    """A network of transformers by its config.json: a language model, one of pairs of texts, or with labels at every seventh
    position or for every image."""

    def __init__(self, folder):
        import transformers
        super().__init__()
        config = transformers.AutoConfig.from_pretrained(folder)
        self.kind = getattr(transformers, config.architectures[0])
        self.network = self.kind(config)
        self.config = config

    def draw(self, options):
        """Inputs and targets of a step."""
        kind = self.config.model_type
        if kind in ("vit", "resnet"):
            side = self.config.image_size if kind == "vit" else options.length
            return torch.randn(options.batch, 3, side, side), torch.randint(0, options.vocabulary, (options.batch,))
        if kind == "mixtral":
            return draw_tokens(options)
        tokens, targets = (torch.randint(0, options.vocabulary, (options.batch, options.length)) for _ in range(2))
        if kind == "bert":
            targets[:, torch.arange(options.length) % 7 != 0] = -100
        return tokens, targets

    def forward(self, inputs, targets):
        given = {"decoder_input_ids": targets.roll(1, 1), "use_cache": False} if self.config.model_type == "t5" else {}
        logits = self.network(inputs, **given).logits
        return functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.view(-1))


def draw_tokens(options):
    tokens = torch.randint(0, options.vocabulary, (options.batch, options.length + 1))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("layers", "hidden", "heads", "length", "vocabulary", "batch", "steps", "warmup"):
        parser.add_argument("--" + name, type=int, required=True)
    for name in ("key-heads", "feed-forward"):
        parser.add_argument("--" + name, type=int, help="of a Llama")
    parser.add_argument("--folder", help="of a config.json: the network of transformers")
    parser.add_argument("--bf16", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if options.folder:
        model = Published(options.folder)
    else:
        model = Llama(options) if options.key_heads else Gpt2(options)
    draw = model.draw if options.folder else draw_tokens
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    seconds = []
    for _ in range(options.warmup + options.steps):
        inputs, targets = draw(options)
        begin = time.process_time()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.bf16):
            loss = model(inputs, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - begin)
    print(json.dumps({"cpu_seconds": seconds[options.warmup:], "loss": float(loss), "torch": torch.__version__,
                      "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


main()
