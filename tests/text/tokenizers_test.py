#!/usr/bin/env python3
"""Holds pptrain's tokenizers to the package `tokenizers` of PyPI, token by token, on text that is hard to cut.

Usage: tokenizers_test.py TEST_TEXT            train tokenizers of each kind, and let TEST_TEXT (test_text) encode
       tokenizers_test.py --write FOLDER       write those that the unit tests keep (tests/data/tokenizers)

Exit code 77, the test is skipped: the package is not there.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as error:
    print("skipped: no tokenizers here (pip install tokenizers):", error)
    sys.exit(77)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
SYMBOLS = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")
MARK = "\u2581"

WORDS = """the a of and to in is was for on that with as be at by this had not are but from or have an they which one you
were her all she there would their we him been has when who will more no if out so said what up its about into than them
can only other new some could time these two may then do first any my now such like our over man me even most made after
also did many before must through back years where much your way well down should because each just those people how too
pipeline stage layer token gradient naïve café Straße größer über façade señor mañana слово дело время человек день жизнь
Україна λόγος ψυχή 言語 模型 訓練 東京 日本 中文 字符 한국어 말 مرحبا العالم لغة שלום עולם हिन्दी भाषा don't we'll I've she's
it'd you're I'm 1 12 123 2026 3.14 1,000 x+y a_b foo(bar) i++ == != -> :: /* */ // #include <int> "quoted" 'single'""".split()

NASTY = [
    "", " ", "  ", "\n", "\n\n", "\r\n", "\t", " \n", "a", "a b", " a", "a ", "  a  b  ", "a\nb", "a \n b", "a\r\nb\r\n",
    "x\n\n\ny", "x \n\n y", "    indented\n\tby tab\n", "trailing   \n", "1", "12", "123", "1234567890", "1a2b3c", "3.14159",
    "don't DON'T we'll I'VE she'S 'tis 'twas ''' 's", "It\u2019s \u201cquoted\u201d \u2014 dashed\u2026",
    "caf\u00e9 cafe\u0301 e\u0301\u0323 \u0301 a\u0300\u0301\u0302", "\u1e9b\u0323 \ufb01 \u2460 \u00bd \u00b2 \u2167 \uff21 \u3300",
    "\u212b \u00c5 A\u030a \uac00 \u1100\u1161 \u1100\u1161\u11a8", "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "a\u200db a\u200cb \u200b \u2060 \ufeffbom", "\u8a00\u8a9e\u6a21\u578b \u65e5\u672c\u8a9e\u306e\u6587\u3002\u6771\u4eac\u3001\uff11\uff12\uff13",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0661\u0662\u0663 \u064b\u064c", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e \u0967\u0968",
    "\ud55c\uad6d\uc5b4 \ub9d0", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\x00", "a\x00b\x01\x02\x1b[0m\x7f", "\x0b\x0c\x1c\x1d\x1e\x1f", "\x85\xa0\u1680\u180e\u2000\u2003\u2028\u2029\u202f\u205f\u3000x",
    "x\u00a0y \u3000 z\u2028w", "\u017f \u212a 'LL 'Ve '\u017f", "a" * 300, " " * 300, "\n" * 50, "ab" * 200, "=" * 80 + "\n", "0" * 100, "\u4e00" * 120,
    "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ", "<|endoftext|><|endoftext|>", "<|endoftext|", "<s>", "<s>a</s>", "a <s> b </s> c",
    "<mask>", "a <mask> b", "a<mask>b", " <mask>\n<mask>  x", "word wordy sword word, word", "wordword word\u0301 \u0301word word_ 1word", "<pad> <pad>\n x",
    "<unk>", "<0x41>", "<0x0A> \n", "<tool> <tool_call> <tool_call>x", "CAP cap Cap", "na\u00efve <nfc\u00e9> <nfce\u0301> x", "\u2581", "\u2581a \u2581 b", "a\u2581b", "\u0120 \u010a",
    "if (x == 1) { return foo->bar[i++]; } // done\n", "https://example.org/a?b=c&d=%20#e", "{\"key\": [1, 2.5, null]}\n", "a,b;c:d.e!f?g-h_i(j)k[l]m{n}",
    "...---...", "!!!\n\n", "?!\r\n\r\n", " .\n", "$100.00 \u20ac50 \u00a33 \u00a55", "A\u0130I\u0131 \u00df\u1e9e", "\U00010400\U00010428 \U0001d49c \U0002000b", "\ufffd \ufffe \uffff \U0010ffff", "\u00ad\u2011\u2010", "\u00b7\u2022\u30fb",
]
BYTES = [b"\xff", b"a\xffb", b"\xe2\x82", b"\xe2\x82\xac\xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80x", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\x80\x80 ok \xf0\x9f\x98\x80\xf0"]


def corpus(rng):
    lines = []
    for _ in range(600):
        words = [rng.choice(WORDS) for _ in range(rng.randint(3, 14))]
        line = " ".join(words)
        if rng.random() < 0.4:
            line = line.capitalize() + rng.choice(".!?")
        lines.append(line)
    return lines


def random_character(rng):
    """One that the Unicode of 2002 has: of later ones the two sides' tables may say different things."""
    while True:
        ranges = [(0, 0x2FF), (0x300, 0x36F), (0x370, 0xD7FF), (0x1F300, 0x1F3FA)]
        character = chr(rng.randint(*rng.choice(ranges)))
        if character >= "\U0001f300" or unicodedata.ucd_3_2_0.category(character) == unicodedata.category(character) != "Cn":
            return character


def random_text(rng):
    """Pieces of the hard texts and of the corpus in another order."""
    parts = []
    for _ in range(rng.randint(1, 12)):
        kind = rng.random()
        if kind < 0.4:
            parts.append(rng.choice(WORDS))
        elif kind < 0.7:
            parts.append(rng.choice(NASTY)[:40])
        elif kind < 0.9:
            parts.append(rng.choice([" ", "  ", "\n", " \n", "\t", "\r\n", "'", ".", "-"]))
        else:
            parts.append(random_character(rng))
    return "".join(parts)


def trained(tokenizer, rng, vocabulary, specials, alphabet=()):
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=specials, initial_alphabet=list(alphabet),
                                  show_progress=False)
    tokenizer.train_from_iterator(corpus(rng), trainer)
    return tokenizer


def byte_level(rng, size, pre, normalizer=None, ignore_merges=False, specials=("<|endoftext|>",)):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    trained(tokenizer, rng, size, list(specials), pre_tokenizers.ByteLevel.alphabet())
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def split_then_bytes(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def framed(before, tokenizer, behind):
    names = [name for name in (before, behind) if name]
    single = " ".join([before or "", "$A", behind or ""]).strip()
    pair = "%s $A %s $B:1 %s:1" % (before, behind, behind) if before and behind else single + " $B"
    template = processors.TemplateProcessing(single=single, pair=pair, special_tokens=[(name, tokenizer.token_to_id(name)) for name in names])
    return template


def gpt2(rng, size):
    return byte_level(rng, size, pre_tokenizers.ByteLevel(add_prefix_space=False))


def llama3(rng, size):
    tokenizer = byte_level(rng, size, split_then_bytes(LLAMA3), ignore_merges=True, specials=("<s>", "<|endoftext|>"))
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), framed("<s>", tokenizer, None)])
    return tokenizer


def qwen2(rng, size):
    tokenizer = byte_level(rng, size, split_then_bytes(QWEN2), normalizer=normalizers.NFC(), specials=())
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("<tool_call>", normalized=False), AddedToken("<nfc\u00e9>", normalized=True)])
    return tokenizer


def symbols(rng, size):
    pre = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"[\r\n]"), "isolated"), pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
        pre_tokenizers.Split(Regex("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), "isolated"),
        pre_tokenizers.Split(Regex(SYMBOLS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return byte_level(rng, size, pre)


def falcon(rng, size):
    """Steps behind ByteLevel, on the characters that stand for bytes."""
    pre = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    return byte_level(rng, size, pre)


def roberta(rng, size):
    tokenizer = byte_level(rng, size, pre_tokenizers.ByteLevel(add_prefix_space=True), specials=("<s>", "</s>", "<unk>"))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("<pad>", rstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken("word", single_word=True), AddedToken("cap", normalized=True, lstrip=True, rstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")))
    return tokenizer


def with_bytes(tokenizer, **changes):
    """The same with a token for each byte, and what else the JSON is to say."""
    document = json.loads(tokenizer.to_str())
    model = document["model"]
    for byte in range(256):
        model["vocab"].setdefault("<0x%02X>" % byte, len(model["vocab"]))
    model["byte_fallback"] = True
    for key, value in changes.items():
        target = model if key in model else document
        target[key] = value
    return Tokenizer.from_str(json.dumps(document))


def characters(rng, size, pre):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre
    return trained(tokenizer, rng, size, ["<unk>", "<s>", "</s>"])


def llama_decoder(strip):
    steps = [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


def llama2(rng, size):
    tokenizer = with_bytes(characters(rng, size, pre_tokenizers.Metaspace()), pre_tokenizer=None)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    tokenizer.decoder = llama_decoder(True)
    tokenizer.post_processor = framed("<s>", tokenizer, None)
    return tokenizer


def mistral(rng, size):
    tokenizer = with_bytes(characters(rng, size, pre_tokenizers.Metaspace(split=True)))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = llama_decoder(True)
    tokenizer.post_processor = framed("<s>", tokenizer, "</s>")
    return tokenizer


def gemma(rng, size):
    tokenizer = with_bytes(characters(rng, size, pre_tokenizers.Metaspace(prepend_scheme="never")))
    tokenizer.normalizer = normalizers.Replace(" ", MARK)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = llama_decoder(False)
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("\n\n\n", normalized=False)])
    return tokenizer


def few_bytes(rng, size):
    """Byte tokens for some bytes only: unknown characters and bytes beside each other."""
    tokenizer = characters(rng, size, pre_tokenizers.Metaspace(prepend_scheme="always"))
    document = json.loads(tokenizer.to_str())
    for byte in [0x0A, *range(0xE0, 0xF0), *range(0x80, 0xC0)]:
        document["model"]["vocab"]["<0x%02X>" % byte] = len(document["model"]["vocab"])
    document["model"].update(byte_fallback=True, fuse_unk=False)
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def words(rng, size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("contiguous")])
    return trained(tokenizer, rng, size, ["<unk>"])


def merged(rng, size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.NFD()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{L}+"), "contiguous", invert=True), pre_tokenizers.Split(Regex(r"[aeiou]"), "merged_with_next"),
        pre_tokenizers.Split(Regex(r"[.,]"), "merged_with_previous"), pre_tokenizers.CharDelimiterSplit("-"), pre_tokenizers.Digits(),
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"\d*"), "isolated")])
    return trained(tokenizer, rng, size, ["<unk>"])


def no_alphabet(rng, size):
    """Bytes that have no token are left out; nothing decodes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("removed"), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    return trained(tokenizer, rng, size, ["<|endoftext|>"])


def word_piece(rng, size, prefix="##", longest=100, **normalizer):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=longest))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                        continuing_subword_prefix=prefix, show_progress=False)
    tokenizer.train_from_iterator(corpus(rng), trainer)
    tokenizer.decoder = decoders.WordPiece(prefix=prefix)
    return tokenizer


def bert(rng, size):
    tokenizer = word_piece(rng, size)
    tokenizer.post_processor = framed("[CLS]", tokenizer, "[SEP]")
    return tokenizer


def bert_cased(rng, size):
    tokenizer = word_piece(rng, size, longest=20, lowercase=False)
    names = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*names)
    return tokenizer


def lowered(rng, size):
    """Accents stay where capital letters go, and Chinese characters are not apart."""
    tokenizer = word_piece(rng, size, prefix="@@", lowercase=True, strip_accents=False, handle_chinese_chars=False, clean_text=False)
    document = json.loads(tokenizer.to_str())
    document["model"]["continuing_subword_prefix"] = "@@"
    document["decoder"]["cleanup"] = False
    return Tokenizer.from_str(json.dumps(document))


# SentencePiece's table for twenty-odd rules of ours: full-width letters, ligatures, fractions, composed letters, spaces, and
# characters that vanish (spm_train --normalization_rule_tsv).
CHARACTER_MAP = (
    "AAQAAAAMAAAAAACAAQ0AAMwYAgABAACAgA0AAB4AAIDMOAIAgQ0AAAo1AAAJOQAAIQAAgA0AAIAJAACADSkAAKQsAgDMDAIAlTQDAIEFAAAkAACAhAQCAICIAwDhEAIAhbgCAKEFAAAnAACAi20AAA"
    "MAAICrBQAAGwAAgBMAAICnBQAAoJEAAIDAAgCgBQAABwAAgIVwAgCESAIAgAQCAICNAACBBQAAGAAAgA8AAICsCAIAEQAAgK2xAACfQAIAkdACAJHIAgC/wQAAsvkAAKgdAAArAACANwAAADQAAACm"
    "sQAAOgAAADsAAAA4AAAAvKgDALvIAgC9wQAAPAAAAD0AAACRjQEAQwAAAEAAAACSPQEARgAAAEcAAABEAAAARQAAAEoAAABLAAAASAAAAEkAAABOAAAATwAAAEwAAABNAAAAUgAAAFMAAABQAAAAUQ"
    "AAAFYAAABXAAAAVAAAAFUAAABaAAAAWwAAAFgAAABZAAAAXgAAAF8AAABcAAAAXQAAAGIAAABjAAAAYbQCAGEAAABmAAAAZwAAAGW0AgBlAAAAagAAAGsAAABoAAAAaQAAAG4AAABvAAAAbAAAAG0A"
    "AAChaQEAcwAAAHAAAACifQEAdgAAAHcAAAB0AAAAdQAAAHoAAAB7AAAAeAAAAHkAAAB+AAAAfwAAAHwAAAB9AAAAggAAAIMAAACAAAAAgQAAAIYAAACHAAAAhAAAAIUAAACKAAAAiwAAAIgAAACJAA"
    "AAjgAAAI8AAACMAAAAjQAAAJIAAACTAAAAkAAAAJEAAACWAAAAlwAAAJQAAACVAAAAmgAAAJsAAACYAAAAmQAAAJ4AAACfAAAAnAAAAJ0AAACiAAAAowAAAKAAAAChAAAApgAAAKcAAACkAAAApQAA"
    "AKoAAACrAAAAqAAAAKkAAACuAAAArwAAAKwAAACtAAAAsgAAALMAAACwAAAAsQAAALYAAAC3AAAAtAAAALUAAAC6AAAAuwAAALgAAAC5AAAAvgAAAL8AAAC8AAAAvQAAAMIAAADCBAEAwAAAAMEAAA"
    "DGAAAAxwAAAMQAAADFAAAAygAAAMsAAADIAAAAyQAAAM4AAADPAAAAzAAAAM0AAADSAAAA0wAAANAAAADRAAAA1gAAANcAAADUAAAA1QAAANoAAADbAAAA2AAAANkAAADeAAAA3wAAANwAAADdAAAA"
    "4xgBAOIAAQDhyAEA4CABAOYAAADnAAAA5AAAAOUAAADqAAAA6wAAAOgAAADpAAAA76wBAO8AAADsAAAA7QAAAPIAAADzAAAA8AAAAPAIAQD2AAAA9wAAAPQAAAD1AAAA+gAAAPsAAAD4AAAA+QAAAP"
    "4AAAD/AAAA/AAAAP0AAAAAIAAuLi4AMQAxLzIAMgBBAEIAVklJSQBmaQDDhQDDoADDqQDOkwDqsIAA8J+YgAA=")


def unigram(rng, size, pre, normalizer=None):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                      show_progress=False)
    tokenizer.train_from_iterator(corpus(rng), trainer)
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def with_character_map(tokenizer, normalizer):
    """The same with SentencePiece's table as a step of its normalizer."""
    document = json.loads(tokenizer.to_str())
    document["normalizer"] = normalizer({"type": "Precompiled", "precompiled_charsmap": CHARACTER_MAP})
    return Tokenizer.from_str(json.dumps(document))


def t5(rng, size):
    tokenizer = unigram(rng, size, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))
    tokenizer = with_character_map(tokenizer, lambda table: table)
    tokenizer.post_processor = framed(None, tokenizer, "</s>")
    return tokenizer


def t5_later(rng, size):
    """As transformers 5 converts SentencePiece's models."""
    tokenizer = unigram(rng, size, pre_tokenizers.Metaspace())
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": MARK}
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    return with_character_map(tokenizer, lambda table: {"type": "Sequence", "normalizers": [table, strip, spaces]})


def albert(rng, size):
    """Quotes, accents and capital letters go before SentencePiece's table is asked."""
    small = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tokenizer = unigram(rng, size, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]), small)
    quotes = [{"type": "Replace", "pattern": {"String": text}, "content": "\""} for text in ("``", "''")]
    rest = [{"type": kind} for kind in ("NFKD", "StripAccents", "Lowercase")]
    tokenizer = with_character_map(tokenizer, lambda table: {"type": "Sequence", "normalizers": quotes + rest + [table]})
    tokenizer.add_special_tokens(["[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True, special=True)])
    tokenizer.post_processor = framed("[CLS]", tokenizer, "[SEP]")
    return tokenizer


def unigram_bytes(rng, size):
    """Whole texts as words, and bytes for what is unknown."""
    tokenizer = unigram(rng, size, pre_tokenizers.Metaspace(), normalizers.Strip())
    document = json.loads(tokenizer.to_str())
    document["model"]["vocab"] += [["<0x%02X>" % byte, 0.0] for byte in range(256)]
    document["model"]["byte_fallback"] = True
    document["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(" ", MARK)])
    tokenizer.decoder = llama_decoder(False)
    return tokenizer


KINDS = [gpt2, llama3, qwen2, symbols, falcon, roberta, llama2, mistral, gemma, few_bytes, words, merged, no_alphabet, bert, bert_cased, lowered, t5, t5_later,
         albert, unigram_bytes]

# Texts that are hard for one kind.
OWN_TEXTS = {albert: ["``quoted'' 'single' ```a''''", "\u00c9\u0301\u0130\u1e9e \u0915\u093f \u20dd", "`` ` '' ' ``a [MASK] b''",
                      "\u0903\u0488\u0301"]}


def case(tokenizer, text, raw=None):
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    entry = {"hex": raw.hex()} if raw is not None else {"text": text}
    entry["ids"] = ids
    entry["framed"] = tokenizer.encode(text).ids
    entry["decoded"] = tokenizer.decode(ids, skip_special_tokens=False)
    entry["plain"] = tokenizer.decode(ids, skip_special_tokens=True)
    return entry


def write(folder, kind, rng, size, num_random):
    place = Path(folder) / kind.__name__
    place.mkdir(parents=True, exist_ok=True)
    document = kind(rng, size).to_str()
    (place / "tokenizer.json").write_text(document + "\n", encoding="utf-8")
    tokenizer = Tokenizer.from_str(document)
    texts = NASTY + [random_text(rng) for _ in range(num_random)] + OWN_TEXTS.get(kind, [])
    cases = [case(tokenizer, text) for text in texts]
    cases += [case(tokenizer, raw.decode("utf-8", errors="replace"), raw) for raw in BYTES]
    # Some texts are paired with the ones before them.
    for before, after in zip(cases[8:12], cases[9:13]):
        both = tokenizer.encode(before["text"], after["text"])
        after["pair"], after["types"] = both.ids, both.type_ids
    lines = ",\n".join(json.dumps(entry, ensure_ascii=True, separators=(",", ":")) for entry in cases)
    (place / "cases.json").write_text("[\n" + lines + "\n]\n", encoding="utf-8")
    return len(cases)


def check(program):
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            rng = random.Random("%d %s" % (seed, kind.__name__))
            count = write(folder, kind, rng, rng.choice([300, 500, 900]), 300)
            print(kind.__name__, count, "texts")
        environment = dict(os.environ, PPTRAIN_TOKENIZER_CASES=folder)
        status = subprocess.run([program, "[recorded]"], env=environment).returncode
    return status


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        for each in KINDS:
            write(sys.argv[2], each, random.Random("recorded " + each.__name__), 400, 8)
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        sys.exit(check(sys.argv[1]))
    else:
        print(__doc__)
        sys.exit(2)
