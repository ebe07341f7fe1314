"""Small valid inputs for the fuzz targets: make_seeds.py FOLDER writes FOLDER/<target>/<name>."""
import base64
import json
import struct
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
TEXT = b"\xffHello, \xe4\xb8\x96 12 don't  <s>\n"  # behind the mark: the text to encode


def byte_characters():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in printable]
    table = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(rest)}
    return [table[b] for b in range(256)]


def tokenizer_json():
    letters = {c: i for i, c in enumerate("ab?\u2581H")}
    added = [{"id": 5, "content": "<s>", "special": True, "normalized": False, "lstrip": True, "rstrip": True}]
    models = {"bpe": {"type": "BPE", "vocab": {**letters, "ab": 6}, "merges": ["a b"], "unk_token": "?", "fuse_unk": True},
              "unigram": {"type": "Unigram", "unk_id": 2, "vocab": [["a", -1], ["ab", -1.5], ["?", -9]]},
              "wordpiece": {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##", "vocab": letters},
              "wordlevel": {"type": "WordLevel", "unk_token": "?", "vocab": letters}}
    parts = [("normalizer", [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True},
                             {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "_"}, {"type": "BertNormalizer"}]),
             ("pre_tokenizer", [{"type": "Split", "pattern": {"Regex": "\\p{L}+(?!\\S)|[^a-c&&\\w]"}, "behavior": "Isolated"},
                                {"type": "ByteLevel"}, {"type": "Metaspace", "prepend_scheme": "first"}, {"type": "Punctuation"}]),
             ("decoder", [{"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                          {"type": "WordPiece", "prefix": "##", "cleanup": True}, {"type": "CTC", "pad_token": "a"}])]
    lists = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
    for name, model in models.items():
        file = {"added_tokens": added, "model": model}
        for part, steps in parts:
            file[part] = {"type": "Sequence", lists[part]: steps}
        yield name, json.dumps(file).encode() + TEXT


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def sentencepiece():
    pieces = [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("\u2581", 1), ("a", 1), ("ab", 1), ("\u2581\u2581", 4), ("<0x41>", 6)]
    body = b"".join(field(1, field(1, p.encode()) + field(2, -float(i)) + field(3, kind)) for i, (p, kind) in enumerate(pieces))
    for name, kind in (("unigram", 1), ("bpe", 2)):
        yield name, body + field(2, field(3, kind) + field(35, 1)) + field(3, field(1, b"identity") + field(3, 1) + field(4, 1)) + TEXT


def tekken():
    vocab = [{"rank": i, "token_bytes": base64.b64encode(t).decode()} for i, t in enumerate((b"a", b"b", b" ", b"ab", b"aba"))]
    config = {"pattern": "[a-z]+|[^a-z]", "default_num_special_tokens": 3, "default_vocab_size": 8}
    yield "small", json.dumps({"config": config, "vocab": vocab}).encode() + TEXT


def tiktoken():
    tokens = [bytes([b]) for b in range(256)] + [b"he", b"ll", b"hell"]
    yield "small", b"".join(base64.b64encode(t) + b" %d\n" % i for i, t in enumerate(tokens)) + TEXT


def gguf_string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_tokenizer():
    def array(kind, items):
        pack = {8: gguf_string, 6: lambda f: struct.pack("<f", f), 5: lambda i: struct.pack("<i", i)}[kind]
        return struct.pack("<IIQ", 9, kind, len(items)) + b"".join(map(pack, items))

    def text(value):
        return struct.pack("<I", 8) + gguf_string(value)

    def vocabulary(model, tokens, kinds, **more):
        pairs = {"model": text(model), "tokens": array(8, tokens), "token_type": array(5, kinds),
                 "bos_token_id": struct.pack("<II", 4, len(tokens) - 1), **more}
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
        return head + b"".join(gguf_string("tokenizer.ggml." + k) + v for k, v in pairs.items()) + TEXT

    tokens = byte_characters() + ["he", "<s>"]
    yield "gpt2", vocabulary("gpt2", tokens, [1] * 257 + [3], pre=text("qwen2"), merges=array(8, ["h e"]))
    pieces = ["<unk>"] + [f"<0x{b:02X}>" for b in range(256)] + ["\u2581", "a", "\u2581a", "<s>"]
    for model in ("llama", "t5"):
        yield model, vocabulary(model, pieces, [2] + [6] * 256 + [1, 1, 1, 3], scores=array(6, [-float(i) for i in range(len(pieces))]))
    yield "bert", vocabulary("bert", ["[UNK]", "\u2581a", "b", "<s>"], [3, 1, 1, 3])


def jinja_template():
    for number, line in enumerate((DATA / "jinja" / "reference.jsonl").read_text().splitlines()):
        yield str(number), json.loads(line)["template"].encode("utf-8", "replace")


for make in (tokenizer_json, sentencepiece, tekken, tiktoken, gguf_tokenizer, jinja_template):
    folder = Path(sys.argv[1]) / make.__name__
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in make():
        (folder / name).write_bytes(data)
