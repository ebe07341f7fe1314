#!/usr/bin/env python3
"""Writes tests/data/config/rope_goldens.json: rotary frequencies by transformers' formulas in float32.

The formulas follow transformers 5's modeling_rope_utils.py (default, linear, llama3, yarn) in numpy, so that
no torch is needed. Usage: make_rope_goldens.py OUTPUT (needs numpy).
"""
import json
import math
import sys

import numpy as np

F = np.float32


def base_freqs(theta, dim):
    return F(theta) ** (np.arange(0, dim, 2).astype(F) / F(dim))


def default(rope, dim, _):
    return F(1) / base_freqs(rope["rope_theta"], dim), 1.0


def linear(rope, dim, max_positions):
    inv_freq, attention = default(rope, dim, max_positions)
    return inv_freq / F(rope["factor"]), attention


def llama3(rope, dim, max_positions):
    inv_freq, attention = default(rope, dim, max_positions)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    old = rope.get("original_max_position_embeddings", max_positions)
    wavelength = F(2 * math.pi) / inv_freq
    scaled = np.where(wavelength > old / low, inv_freq / F(rope["factor"]), inv_freq)
    smooth = (F(old) / wavelength - F(low)) / F(high - low)
    mixed = (F(1) - smooth) * scaled / F(rope["factor"]) + smooth * scaled
    medium = ~(wavelength < old / high) & ~(wavelength > old / low)
    return np.where(medium, mixed, scaled), attention


def mscale(scale, m=1.0):
    return 1.0 if scale <= 1 else 0.1 * m * math.log(scale) + 1.0


def yarn_attention(rope, factor):
    if rope.get("attention_factor") is not None:
        return rope["attention_factor"]
    if rope.get("mscale") and rope.get("mscale_all_dim"):
        return mscale(factor, rope["mscale"]) / mscale(factor, rope["mscale_all_dim"])
    return mscale(factor)


def yarn(rope, dim, max_positions):
    theta = rope["rope_theta"]
    old = rope.get("original_max_position_embeddings", max_positions)
    factor = rope.get("factor") or max_positions / old

    def correction(rotations):
        return dim * math.log(old / (rotations * 2 * math.pi)) / (2 * math.log(theta))

    low, high = correction(rope.get("beta_fast") or 32), correction(rope.get("beta_slow") or 1)
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(dim // 2).astype(F) - F(low)) / F(high - low), F(0), F(1))
    keep = F(1) - ramp
    freqs = base_freqs(theta, dim)
    inv_freq = F(1) / (F(factor) * freqs) * (F(1) - keep) + F(1) / freqs * keep
    return inv_freq, yarn_attention(rope, factor)


KINDS = {"default": default, "linear": linear, "llama3": llama3, "yarn": yarn}

CASES = [
    ("default", 64, 2048, {"rope_type": "default", "rope_theta": 10000.0}),
    ("default mixtral", 128, 32768, {"rope_type": "default", "rope_theta": 1e6}),
    ("linear 4", 64, 2048, {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}),
    ("llama3 8", 128, 131072, {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                               "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}),
    ("llama3 tiny", 16, 256, {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                              "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
    ("yarn tiny", 16, 256, {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                            "original_max_position_embeddings": 64}),
    ("yarn 128", 128, 131072, {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0,
                               "original_max_position_embeddings": 32768}),
    ("yarn no truncation", 64, 131072, {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0,
                                        "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                                        "original_max_position_embeddings": 4096}),
    ("yarn mscale", 64, 163840, {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "mscale": 1.0,
                                 "mscale_all_dim": 0.707, "beta_fast": 32, "beta_slow": 1,
                                 "original_max_position_embeddings": 4096}),
    ("yarn attention_factor", 64, 8192, {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 2.0,
                                         "attention_factor": 1.25, "original_max_position_embeddings": 4096}),
    ("yarn factor null", 64, 16384, {"rope_type": "yarn", "rope_theta": 10000.0, "factor": None,
                                     "original_max_position_embeddings": 4096}),
]


def main():
    rows = []
    for name, dim, max_positions, rope in CASES:
        inv_freq, attention = KINDS[rope["rope_type"]](rope, dim, max_positions)
        rows.append({"name": name, "head_dim": dim, "max_position_embeddings": max_positions,
                     "rope_parameters": rope, "inv_freq": [float(f"{x:.9g}") for x in inv_freq],
                     "attention_factor": float(attention)})
    with open(sys.argv[1], "w") as out:
        json.dump(rows, out, indent=0)
        out.write("\n")


if __name__ == "__main__":
    main()
