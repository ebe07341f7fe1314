#!/usr/bin/env python3
"""llama.cpp's speed, printed as `moxie bench --json` prints moxie's: one JSON line a test.

    llama_cpp_bench.py MODEL.gguf [--pp N] [--tg N] [--threads N] [--repetitions N]
    llama_cpp_bench.py MODEL.gguf --check GOLDEN.json      greedy ids of each case against the reference

As llama-bench has it: batches of 512, logits of the last token only, an empty context before each repetition. The ids are
those that moxie bench feeds, so that routers see the same.
"""
import argparse
import ctypes
import json
import time

import llama_cpp as llama
import numpy as np


class Context:
    def __init__(self, path, threads):
        llama.llama_backend_init()
        quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        self.quiet = quiet  # the library keeps the pointer
        llama.llama_log_set(quiet, None)
        self.model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp does not load {path}")
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = 1024, 512, 512
        params.n_threads = params.n_threads_batch = threads
        self.context = llama.llama_init_from_model(self.model, params)
        self.vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))

    def clear(self):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)

    def decode(self, ids):
        array = (llama.llama_token * len(ids))(*ids)
        if llama.llama_decode(self.context, llama.llama_batch_get_one(array, len(ids))) != 0:
            raise SystemExit("llama_decode failed")
        llama.llama_synchronize(self.context)

    def best(self):
        logits = llama.llama_get_logits_ith(self.context, -1)
        return int(np.ctypeslib.as_array(logits, (self.vocab,)).argmax())


def seconds_of(context, ids, chunk):
    context.clear()
    began = time.perf_counter()
    for i in range(0, len(ids), chunk):
        context.decode(ids[i:i + chunk])
    return time.perf_counter() - began


def measure(context, name, tokens, chunk, repetitions):
    ids = [(i * 7919 + 1) % context.vocab for i in range(tokens)]
    seconds_of(context, ids, chunk)  # warm
    samples = [tokens / seconds_of(context, ids, chunk) for _ in range(repetitions)]
    print(json.dumps({"test": f"{name}{tokens}", "tokens_per_second": samples, "repetitions": repetitions}), flush=True)


def agreement(context, case):
    """How many ids agree before the first difference, and whether a close call explains that."""
    context.clear()
    context.decode(case["prompt_ids"])
    for i, step in enumerate(case["steps"]):
        if context.best() != step["id"]:
            margin = step["top"][0][1] - step["top"][1][1]
            return i, margin
        context.decode([step["id"]])
    return len(case["steps"]), None


def check(context, golden):
    """bf16 activations move log-probabilities by up to 0.3: only a difference at a wider margin says another model."""
    wrong = 0
    for number, case in enumerate(json.loads(open(golden).read())["cases"]):
        agreed, margin = agreement(context, case)
        note = "" if margin is None else f", then a margin of {margin:.3f}"
        print(f"case {number}: {agreed} of {len(case['steps'])} ids agree{note}")
        wrong += margin is not None and margin > 0.3
    if wrong:
        raise SystemExit(f"{wrong} cases differ from the reference: not the same model")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model")
    p.add_argument("--pp", type=int, default=512)
    p.add_argument("--tg", type=int, default=64)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--repetitions", type=int, default=3)
    p.add_argument("--check")
    a = p.parse_args()
    context = Context(a.model, a.threads)
    if a.check:
        check(context, a.check)
        return
    measure(context, "pp", a.pp, 512, a.repetitions)
    measure(context, "tg", a.tg, 1, a.repetitions)


if __name__ == "__main__":
    main()
