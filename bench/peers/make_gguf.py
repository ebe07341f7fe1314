#!/usr/bin/env python3
"""A bf16 GGUF of a Hugging Face Llama or Mixtral folder, as llama.cpp's own converter lays it out.

    make_gguf.py MODEL OUT.gguf

Norms and routers are f32, the rest keeps its bf16 bits. Rows of Q and K are interleaved for llama.cpp's rotary order, and
the experts of a layer are one tensor. Without a vocabulary: the comparison feeds and reads ids.
"""
import json
import struct
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter


class Weights:
    """Tensors of a folder's safetensors files as uint16 bits, mapped."""

    def __init__(self, folder):
        self.where = {}
        for file in sorted(Path(folder).glob("*.safetensors")):
            with open(file, "rb") as f:
                size = struct.unpack("<Q", f.read(8))[0]
                header = json.loads(f.read(size))
            header.pop("__metadata__", None)
            for name, info in header.items():
                if info["dtype"] != "BF16":
                    sys.exit(f"{file}: {name} is {info['dtype']}, expected BF16")
                self.where[name] = (file, 8 + size + info["data_offsets"][0], info["shape"])

    def __getitem__(self, name):
        file, offset, shape = self.where[name]
        return np.memmap(file, np.uint16, "r", offset, tuple(shape))


def interleave(bits, heads):
    rows, cols = bits.shape
    return bits.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def describe(out, config):
    heads = config["num_attention_heads"]
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_freq_base(config["rope_theta"])
    out.add_rope_dimension_count(config["hidden_size"] // heads)
    out.add_vocab_size(config["vocab_size"])
    out.add_file_type(32)  # LLAMA_FTYPE_MOSTLY_BF16
    out.add_tokenizer_model("no_vocab")
    if "num_local_experts" in config:
        out.add_expert_count(config["num_local_experts"])
        out.add_expert_used_count(config["num_experts_per_tok"])


def bf16(out, name, bits):
    out.add_tensor(name, np.ascontiguousarray(bits).view(np.uint8), raw_dtype=GGMLQuantizationType.BF16)


def f32(out, name, bits):
    out.add_tensor(name, (bits.astype(np.uint32) << np.uint32(16)).view(np.float32))


def add_layer(out, w, config, i):
    hf, to = f"model.layers.{i}.", f"blk.{i}."
    f32(out, to + "attn_norm.weight", w[hf + "input_layernorm.weight"])
    f32(out, to + "ffn_norm.weight", w[hf + "post_attention_layernorm.weight"])
    attention = hf + "self_attn."
    bf16(out, to + "attn_q.weight", interleave(w[attention + "q_proj.weight"], config["num_attention_heads"]))
    bf16(out, to + "attn_k.weight", interleave(w[attention + "k_proj.weight"], config["num_key_value_heads"]))
    bf16(out, to + "attn_v.weight", w[attention + "v_proj.weight"])
    bf16(out, to + "attn_output.weight", w[attention + "o_proj.weight"])
    if "num_local_experts" not in config:
        for part in ("gate", "up", "down"):
            bf16(out, f"{to}ffn_{part}.weight", w[f"{hf}mlp.{part}_proj.weight"])
        return
    block = hf + "block_sparse_moe."
    f32(out, to + "ffn_gate_inp.weight", w[block + "gate.weight"])
    for part, name in (("gate", "w1"), ("up", "w3"), ("down", "w2")):
        experts = [w[f"{block}experts.{e}.{name}.weight"] for e in range(config["num_local_experts"])]
        bf16(out, f"{to}ffn_{part}_exps.weight", np.stack(experts))


def make_gguf(model, path):
    config, w = json.loads((Path(model) / "config.json").read_text()), Weights(model)
    partial = path.with_suffix(".partial")
    out = GGUFWriter(partial, "llama")
    describe(out, config)
    bf16(out, "token_embd.weight", w["model.embed_tokens.weight"])
    f32(out, "output_norm.weight", w["model.norm.weight"])
    if not config["tie_word_embeddings"]:
        bf16(out, "output.weight", w["lm_head.weight"])
    for i in range(config["num_hidden_layers"]):
        add_layer(out, w, config, i)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    partial.rename(path)


if __name__ == "__main__":
    make_gguf(sys.argv[1], Path(sys.argv[2]))
