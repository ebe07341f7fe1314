"""tokenizer.json from the metadata of a GGUF file, as Hugging Face's own file for that model has it.

A GGUF file names its splitting rule ("llama-bpe", "qwen2", ...) instead of spelling it out; RULES spells it out, after
the models' published tokenizer.json files. SentencePiece vocabularies have scores where BPE has merges: the merges
follow from the scores as transformers derives them.
"""
import tempfile
from pathlib import Path

from gguf import GGUFReader

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # tokenizer.ggml.token_type
BERT_SPECIAL = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
SPACE = "\u2581"

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def byte_level(**more):
    return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True, **more}


def split(pattern):
    rule = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [rule, byte_level(add_prefix_space=False, use_regex=False)]}


GPT2 = byte_level(add_prefix_space=False)
DIGITS_GPT2 = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, GPT2]}
RULES = {  # tokenizer.ggml.pre -> normalizer, pre-tokenizer, whether a word that is a token skips its merges
    "gpt-2": (None, GPT2, False),
    "starcoder": (None, DIGITS_GPT2, False),
    "smollm": (None, DIGITS_GPT2, False),
    "llama-bpe": (None, split(LLAMA3), True),
    "qwen2": ({"type": "NFC"}, split(LLAMA3.replace("{1,3}", "")), False),
}


class Metadata:
    """The fields of a GGUF file, of which only the beginning need be there."""

    def __init__(self, path):
        with tempfile.NamedTemporaryFile() as whole:
            whole.write(Path(path).read_bytes())
            whole.truncate(1 << 40)  # the reader maps tensors that are not there; a hole costs nothing
            self.fields = GGUFReader(whole.name).fields

    def get(self, key, default=None):
        field = self.fields.get(key)
        return default if field is None else field.contents()


def added_tokens(tokens, kinds):
    return [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": kind == CONTROL}
            for i, (token, kind) in enumerate(zip(tokens, kinds)) if kind in (CONTROL, USER_DEFINED)]


def bpe(vocab, merges, **more):
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, **more,
            "vocab": vocab, "merges": merges}


def merges_of_scores(vocab, scores, added):
    """Every pair of pieces that makes a piece: best score first, then by the ids of the two. Added tokens take no part."""
    merges = []
    for piece, score in scores.items():
        if piece in added:
            continue
        pairs = [(piece[:i], piece[i:], score) for i in range(1, len(piece))
                 if piece[:i] in vocab and piece[i:] in vocab]
        merges += sorted(pairs, key=lambda m: (vocab[m[0]], vocab[m[1]]))
    merges.sort(key=lambda m: m[2], reverse=True)  # stable
    return [[left, right] for left, right, _ in merges]


def gpt2_style(meta, tokens, kinds):
    normalizer, pre_tokenizer, ignore_merges = RULES[meta.get("tokenizer.ggml.pre")]
    vocab = {token: i for i, token in enumerate(tokens)}
    merges = [merge.split(" ") for merge in meta.get("tokenizer.ggml.merges")]
    return {"added_tokens": added_tokens(tokens, kinds), "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "post_processor": None, "decoder": byte_level(),
            "model": bpe(vocab, merges, ignore_merges=ignore_merges)}


def sentencepiece_style(meta, tokens, kinds):
    vocab = {token: i for i, token in enumerate(tokens)}
    prefix = meta.get("tokenizer.ggml.add_space_prefix", True)
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    decoders = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
                {"type": "Fuse"}]
    if prefix:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    added = added_tokens(tokens, kinds)
    merges = merges_of_scores(vocab, dict(zip(tokens, meta.get("tokenizer.ggml.scores"))), {t["content"] for t in added})
    return {"added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers":
                           [{"type": "Prepend", "prepend": SPACE}] * prefix + [replace]},
            "pre_tokenizer": None, "post_processor": None, "decoder": {"type": "Sequence", "decoders": decoders},
            "model": bpe(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)}


def wordpiece_style(meta, tokens, _):
    """GGUF marks a word's beginning where BERT's file marks its continuation."""
    def bert(token):
        if token in BERT_SPECIAL or token.startswith("[unused"):
            return token
        return token[1:] if token.startswith(SPACE) else "##" + token
    words = [bert(token) for token in tokens]
    ids = {name: words.index(name) for name in ("[CLS]", "[SEP]")}
    kinds = [CONTROL if word in BERT_SPECIAL else NORMAL for word in words]
    cls, sep = [{"SpecialToken": {"id": name, "type_id": 0}} for name in ids]
    first, second = [{"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB")]
    return {"added_tokens": added_tokens(words, kinds),
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": [cls, first, sep],
                               "pair": [cls, first, sep, second, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
                               "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]}
                                                  for name, i in ids.items()}},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {word: i for i, word in enumerate(words)}}}


STYLES = {"gpt2": gpt2_style, "llama": sentencepiece_style, "bert": wordpiece_style}


def convert(meta):
    """The tokenizer.json of a GGUF file's Metadata, as a dict."""
    tokens, kinds = meta.get("tokenizer.ggml.tokens"), meta.get("tokenizer.ggml.token_type")
    style = STYLES[meta.get("tokenizer.ggml.model")]
    return {"version": "1.0", "truncation": None, "padding": None, **style(meta, tokens, kinds)}
