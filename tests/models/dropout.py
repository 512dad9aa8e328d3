"""pptrain's dropout for models of transformers: the same elements dropped, by counter-based random numbers.

Element i of a stream takes word i % 4 of block i / 4 of Philox 4x32-10 (Salmon et al., SC11), keyed by the job's seed, and is dropped
where that is below rate * 2^32. A stream is named by a place in the model; samples are counted from the start of the training.
"""

import numpy
import torch

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = numpy.uint64(0xFFFFFFFF)


def philox(counters, key):
    """Four words for each counter (n, 4), as uint64 below 2^32."""
    words = [counters[:, i].astype(numpy.uint64) for i in range(4)]
    keys = list(key)
    for _ in range(10):
        products = [numpy.uint64(m) * words[i] for m, i in zip(MULTIPLIERS, (0, 2))]
        high = [p >> numpy.uint64(32) for p in products]
        low = [p & LOW for p in products]
        words = [high[1] ^ words[1] ^ numpy.uint64(keys[0]), low[1], high[0] ^ words[3] ^ numpy.uint64(keys[1]), low[0]]
        keys = [(k + w) & 0xFFFFFFFF for k, w in zip(keys, WEYL)]
    return numpy.stack(words, axis=1)


def stream_of(name):
    """FNV-1a, 64 bits."""
    value = 14695981039346656037
    for byte in name.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


def factors(seed, stream, first, count, rate):
    """What elements first, first + 1, ... of a stream are multiplied by."""
    blocks = numpy.arange(first // 4, (first + count + 3) // 4, dtype=numpy.uint64)
    halves = [numpy.full_like(blocks, half) for half in (stream & 0xFFFFFFFF, stream >> 32)]
    counters = numpy.stack([blocks & LOW, blocks >> numpy.uint64(32), *halves], axis=1)
    words = philox(counters, (seed & 0xFFFFFFFF, seed >> 32)).reshape(-1)[first % 4:first % 4 + count]
    return torch.from_numpy(numpy.where(words < numpy.uint64(int(rate * 2**32)), 0.0, 1.0 / (1.0 - rate)))


class Dropout:
    """Hooks on a Llama that drop where pptrain does; `first_sample` is the number of a micro-batch's first sample."""

    def __init__(self, model, rate, seed):
        self.rate, self.seed, self.first_sample = rate, seed, 0
        decoder = model.model
        decoder.embed_tokens.register_forward_hook(self.hook("dropout.embedding"))
        for i, layer in enumerate(decoder.layers):
            layer.self_attn.register_forward_hook(self.hook(f"dropout.block.{i}.0"))
            layer.mlp.register_forward_hook(self.hook(f"dropout.block.{i}.1"))

    def hook(self, name):
        stream = stream_of(name)

        def drop(_module, _inputs, output):
            x = output[0] if isinstance(output, tuple) else output
            first = self.first_sample * x[0].numel()
            mask = factors(self.seed, stream, first, x.numel(), self.rate).to(x.dtype).view_as(x)
            return (x * mask, *output[1:]) if isinstance(output, tuple) else x * mask

        return drop
