#!/usr/bin/env python3
"""A folder of transformers, or a GPT-2 of the configuration's own keys, trained by pptrain, exported, and loaded by
transformers again: equal parameters bit for bit, equal logits, the loss that pptrain goes on with, and after save_pretrained
the same loss once more. Models of text, of an own vocabulary or of bytes: AutoTokenizer makes the tokens of `pptrain tokenize`, and
transformers continues a text as `pptrain generate` does.

    exported.py PPTRAIN TEST_NN TEST_RUNTIME [MODELS FAMILY...]    # the programs with the tests of src/nn and src/runtime"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
    import safetensors.numpy
    import torch
    import transformers
except ImportError as error:
    print(f"exported: SKIPPED, {sys.executable} has no {error.name}")
    sys.exit(77)

import training

STEPS = 3
LOGITS = 1e-5  # of each one, fp32
LOSS = 1e-6  # of a mean over a batch, fp32: the sums of two libraries in different orders

OWN_SHAPE = {"batch": 4, "length": 16, "source": ""}
OWN_GPT2 = """name = "gpt2"
layers = 2
hidden_size = 32
heads = 4
vocabulary_size = 97
tied = {tied}"""

JOB = """
[job]
name = "job"
output = "{output}"
[model]
{model}
[data]
train = "{tokens}"
shuffle = false
[training]
steps = {steps}
sequence_length = {length}
{source}global_batch_size = {batch}
micro_batch_size = {micro}
[parallelism]
tensor = {ranks}
[checkpoint]
interval = 1
[profile]
cache = false
"""


def pptrain(program, *arguments, ranks=1):
    launcher = ["mpirun", "-np", str(ranks)] if ranks > 1 else []
    done = subprocess.run([*launcher, program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def from_folder(folder, side=0):
    """`side`: of images, where config.json does not say it."""
    return f'from = "{folder}"' + (f"\nimage_size = {side}" if side else "")


def train(program, scratch, model, tokens, shape, ranks=1, steps=STEPS):
    """The run directory of a training; its losses. `model`: keys of [model]."""
    output = tempfile.mkdtemp(dir=scratch)
    job = pathlib.Path(output) / "job.toml"
    job.write_text(JOB.format(output=output, model=model, tokens=tokens, steps=steps, ranks=ranks,
                              **{"micro": '"auto"', **shape}))
    pptrain(program, job, ranks=ranks)
    run = next((pathlib.Path(output) / "job").iterdir())
    with h5py.File(run / "metrics.h5", "r") as file:
        return run, file["steps/loss"][:]


def loss_of(folder, tokens, shape, step):
    """Of transformers, on the batch of a step."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    batch, length = shape["batch"], shape["length"]
    offset = step * batch * length
    x = tokens[offset:offset + batch * length].view(batch, length)
    y = tokens[offset + 1:offset + batch * length + 1]
    with torch.no_grad():
        return torch.nn.functional.cross_entropy(model(x).logits.view(batch * length, -1), y).item(), model


def check_logits(test_nn, title, folder, model, tokens):
    """Of all positions of a text, by pptrain that goes on from kept keys and values, and by transformers."""
    with torch.no_grad():
        theirs = model(tokens.view(1, -1)).logits[0].numpy()
    with tempfile.TemporaryDirectory() as scratch:
        text, logits = pathlib.Path(scratch) / "tokens", pathlib.Path(scratch) / "logits"
        text.write_text(" ".join(map(str, tokens.tolist())))
        subprocess.run([test_nn, "[logits_for_peer]"], check=True, stdout=subprocess.DEVNULL, env={
            **os.environ, "PPTRAIN_PEER_MODEL": str(folder), "PPTRAIN_PEER_TOKENS": str(text),
            "PPTRAIN_PEER_LOGITS": str(logits)})
        ours = numpy.fromfile(logits, dtype=numpy.float32).reshape(theirs.shape)
    difference = numpy.abs(ours - theirs).max()
    assert difference < LOGITS, (title, difference)
    return difference


def packed(parameters):
    """The parameters by the names of their tensors in a file that has several of them in one."""
    parts = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
    tensors = {}
    for name, values in parameters.items():
        for tensor, products in parts.items():
            product = next((one for one in products if f".{one}." in name), None)
            if product:
                tensors.setdefault(name.replace(product, tensor), [None] * len(products))[products.index(product)] = values[()]
                break
        else:
            tensors[name] = values
    return {name: numpy.concatenate(values) if isinstance(values, list) else values for name, values in tensors.items()}


def check_bits(family, checkpoint, folder, prefix=""):
    """What is exported are the checkpoint's numbers; GPT-2's Conv1D has them transposed, GPT-NeoX's heads are outside, Phi-3's
    matrices are one behind the other.
    T5's tables of distances are transposed. `prefix`: what names have in the folder and not in the checkpoint, but that of an output of its own."""
    exported = safetensors.numpy.load_file(folder / "model.safetensors")
    with h5py.File(checkpoint, "r") as file:
        stored = dict(file["parameters"].items())
        if family.startswith("phi3"):
            stored = packed(stored)
        names = {name if name == "lm_head.weight" else prefix + name: name for name in stored}
        assert set(names) == set(exported), set(names) ^ set(exported)
        for name, values in exported.items():
            ours = stored[names[name]][()]
            conv1d = family.startswith("gpt2") and values.ndim == 2 and ".h." in name
            if conv1d or "relative_attention_bias" in name:
                values = values.T
            if ours.size == values.size:  # a convolution's weights are a matrix in a checkpoint
                ours = ours.reshape(values.shape)
            if "query_key_value" in name:
                assert sorted(ours.flat) == sorted(values.flat), name
            else:
                assert numpy.array_equal(ours, values), name


def check(programs, title, model, tokens_file, shape, prefix=""):
    """`title` begins with the family; `model`: keys of [model]."""
    program, test_nn, _ = programs
    tokens = training.read_tokens(tokens_file)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        run, losses = train(program, scratch, model, tokens_file, shape, ranks=2)
        exported = scratch / "exported"
        checkpoint = run / "checkpoints" / f"step-{STEPS - 1}.h5"
        pptrain(program, "export", checkpoint, "-o", exported)
        check_bits(title, checkpoint, exported, prefix)
        theirs, loaded = loss_of(exported, tokens, shape, STEPS - 1)
        assert abs(theirs - losses[-1]) < LOSS, (title, theirs, losses[-1])
        logits = check_logits(test_nn, title, exported, loaded, tokens[:shape["length"]])
        saved = scratch / "saved"
        loaded.save_pretrained(saved)
        again = scratch / "again.bin"
        training.write_tokens(again, tokens[(STEPS - 1) * shape["batch"] * shape["length"]:])
        _, ours = train(program, scratch, from_folder(saved), again, shape, steps=1)
        assert abs(ours[0] - theirs) < LOSS, (title, ours[0], theirs)
    print(f"exported: {title}: loss {theirs:.6f}, pptrain's {losses[-1]:.6f}, imported again {ours[0]:.6f}, logits within "
          f"{logits:.1e}")


def check_labelled_logits(test_runtime, title, folder, data, shape, source_length, theirs):
    """Of the first sample of a data.h5."""
    with tempfile.TemporaryDirectory() as scratch:
        logits = pathlib.Path(scratch) / "logits"
        subprocess.run([test_runtime, "[encoder_logits_for_peer]"], check=True, stdout=subprocess.DEVNULL, env={
            **os.environ, "PPTRAIN_PEER_MODEL": str(folder), "PPTRAIN_PEER_DATA": str(data),
            "PPTRAIN_PEER_LENGTH": str(shape["length"]), "PPTRAIN_PEER_IMAGE": str(shape["side"]),
            "PPTRAIN_PEER_SOURCE_LENGTH": str(source_length), "PPTRAIN_PEER_LOGITS": str(logits)})
        ours = numpy.fromfile(logits, dtype=numpy.float32).reshape(theirs.shape)
    difference = numpy.abs(ours - theirs).max()
    assert difference < LOGITS, (title, difference)
    return difference


def loss_as_trained(loaded, taken, labels):
    """Of a batch, whose own statistics batch norms take; running averages are left as they are."""
    model = copy.deepcopy(loaded).train()
    with torch.no_grad():
        logits = model(**taken).logits
        return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.flatten()).item()


def check_labelled(programs, models, family, expected):
    """A family whose samples are in a data.h5."""
    program, _, test_runtime = programs
    data = models / family / "data.h5"
    source_length = expected.get("S", 0)
    shape = {"batch": expected["batch"], "length": expected.get("T", 1), "side": 0,
             "source": f"source_length = {source_length}\n" if source_length else ""}
    if "hidden_sizes" in json.loads((models / family / "config.json").read_text()):
        # Its config.json does not say how large images are, and its batch norms go by the micro-batch.
        shape["side"] = training.read_samples(data)["pixel_values"].shape[-1]
        shape["micro"] = shape["batch"]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        run, losses = train(program, scratch, from_folder(models / family, shape["side"]), data, shape, ranks=2)
        exported = scratch / "exported"
        checkpoint = run / "checkpoints" / f"step-{STEPS - 1}.h5"
        pptrain(program, "export", checkpoint, "-o", exported)
        check_bits(family, checkpoint, exported)
        # What the last step took comes first.
        samples = {name: values.roll(-(STEPS - 1) * shape["batch"], 0)
                   for name, values in training.read_samples(data).items()}
        again = scratch / "again.h5"
        training.write_samples(again, samples)
        loaded = training.load(exported).eval()
        taken = {name: values[:shape["batch"]] for name, values in samples.items()}
        labels = taken.pop("labels")
        theirs = loss_as_trained(loaded, taken, labels)
        with torch.no_grad():
            logits = loaded(**taken).logits
        assert abs(theirs - losses[-1]) < LOSS, (family, theirs, losses[-1])
        difference = check_labelled_logits(test_runtime, family, exported, again, shape, source_length, logits[0].numpy())
        saved = scratch / "saved"
        loaded.save_pretrained(saved)
        _, ours = train(program, scratch, from_folder(saved, shape["side"]), again, shape, steps=1)
        assert abs(ours[0] - theirs) < LOSS, (family, ours[0], theirs)
    print(f"exported: {family}: loss {theirs:.6f}, pptrain's {losses[-1]:.6f}, imported again {ours[0]:.6f}, logits within "
          f"{difference:.1e}")


def check_family(programs, models, family):
    expected = json.loads((models / family / "expected.json").read_text())
    if (models / family / "data.h5").exists():
        return check_labelled(programs, models, family, expected)
    shape = {"batch": expected["batch"], "length": expected["T"], "source": ""}
    check(programs, family, from_folder(models / family), models / family / "tokens.bin", shape)


def check_own_gpt2(programs, tied):
    with tempfile.TemporaryDirectory() as scratch:
        tokens = pathlib.Path(scratch) / "tokens.bin"
        count = (STEPS + 1) * OWN_SHAPE["batch"] * OWN_SHAPE["length"] + 1
        training.write_tokens(tokens, torch.randint(97, (count,), generator=torch.Generator().manual_seed(1)))
        title = "gpt2 of own keys, tied" if tied else "gpt2 of own keys"
        check(programs, title, OWN_GPT2.format(tied=str(tied).lower()), tokens, OWN_SHAPE, prefix="transformer.")


# A Llama without weights and tokenizer, whose vocabulary is one's own.
OWN_LLAMA = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
             "tie_word_embeddings": False}
TEXT_SHAPE = {"batch": 4, "length": 48, "source": ""}
LINES = ["the pipeline of stages computes, ", "  two  spaces and\ttabs\n", "na\u00efve caf\u00e9 \u8a00\u8a9e \U0001f600\n\n", "12 times 34 is 408; "]
PROMPT = "the pipeline of"
NEW_TOKENS = 24


def check_text(programs, title, keys, vocabulary):
    """A model of text, whose tokenizer pptrain made. `keys`: of [model]; `vocabulary`: 0 for bytes."""
    program = programs[0]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        text, tokens = scratch / "text.txt", scratch / "tokens.bin"
        text.write_text("".join(LINES[i * i % len(LINES)] + f"{i * i} " for i in range(300)))
        pptrain(program, "tokenize", text, "-o", tokens, *(["--train-vocabulary", vocabulary] if vocabulary else []))
        run, _ = train(program, scratch, keys, tokens, TEXT_SHAPE, steps=20)
        exported = scratch / "exported"
        pptrain(program, "export", run, "-o", exported)
        if vocabulary:
            assert (exported / "tokenizer.model").read_bytes() == tokens.with_suffix(".model").read_bytes(), title
        tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
        assert len(tokenizer) == (vocabulary or 256), (title, len(tokenizer))
        for line in [*LINES, text.read_text()]:
            taken = tokenizer(line)["input_ids"]
            assert tokenizer.decode(taken) == line, (title, line)
        ours = training.read_tokens(tokens).tolist()
        assert taken == ours, title
        model = transformers.AutoModelForCausalLM.from_pretrained(exported).eval()
        assert model.dtype == torch.float32 and type(model).__name__ in model.config.architectures, title
        prompt = tokenizer(PROMPT, return_tensors="pt")
        with torch.no_grad():
            drawn = model.generate(**prompt, max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0)
        theirs = tokenizer.decode(drawn[0])
        ends = "\n\ufffd"  # of a character that is not whole
        for source in (run, exported):
            continued = pptrain(program, "generate", source, "--prompt", PROMPT, "--tokens", NEW_TOKENS, "-q")
            assert (PROMPT + continued).rstrip(ends) == theirs.rstrip(ends), (title, source, continued, theirs)
    print(f"exported: {title}: {len(taken)} tokens by AutoTokenizer, {NEW_TOKENS} more by generate: {theirs!r}")


def check_texts(programs):
    own_gpt2 = OWN_GPT2.format(tied="true")
    check_text(programs, "gpt2 of an own vocabulary", own_gpt2.replace("= 97", "= 320"), 320)
    check_text(programs, "gpt2 of bytes", own_gpt2.replace("= 97", "= 256"), 0)
    with tempfile.TemporaryDirectory() as folder:
        for title, vocabulary in (("an own vocabulary", 320), ("bytes", 0)):
            config = pathlib.Path(folder) / "config.json"
            config.write_text(json.dumps({**OWN_LLAMA, "vocab_size": vocabulary or 256}))
            check_text(programs, f"llama of {title}", from_folder(folder) + '\ninitial = "random"', vocabulary)


def main():
    programs = sys.argv[1:4]
    # More ranks than cores, by root too.
    for name in ("MCA_rmaps_base_oversubscribe", "MCA_mpi_yield_when_idle", "ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM"):
        os.environ.setdefault(f"OMPI_{name}", "1")
    os.environ.setdefault("OMPI_MCA_hwloc_base_binding_policy", "none")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for family in sys.argv[5:]:
        check_family(programs, pathlib.Path(sys.argv[4]), family)
    for tied in (False, True):
        check_own_gpt2(programs, tied)
    check_texts(programs)


if __name__ == "__main__":
    main()
