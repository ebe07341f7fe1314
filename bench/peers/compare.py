#!/usr/bin/env python3
"""moxie against llama.cpp on the same weights, in one run: a Markdown table.

    compare.py [--rounds N] [MODEL ...]        default: models/dense models/moe-noise

The engines take turns (A B A B ...), each turn a process of its own with one warm-up and a few repetitions, so that a drift of
the machine meets both. Given are medians over all samples, and the range of the middle half.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import llama_cpp
from make_gguf import make_gguf

ROOT = Path(__file__).resolve().parents[2]
MOXIE = ROOT / "build" / "release" / "src" / "moxie"
HERE = Path(__file__).parent


def run(command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def gguf_of(model):
    """Made once beside the models, and checked against the golden where there is one."""
    path = ROOT / "models" / "gguf" / f"{model.name}-bf16.gguf"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        make_gguf(model, path)
    golden = ROOT / "tests" / "data" / "goldens" / f"golden-{model.name}.json"
    if golden.exists():
        done = subprocess.run([sys.executable, HERE / "llama_cpp_bench.py", path, "--check", golden], stdout=sys.stderr)
        if done.returncode:
            sys.exit(f"{path}: llama.cpp's answers are not the reference's")
    return path


def commands(model, a):
    more = ["--pp", a.pp, "--tg", a.tg, "--threads", a.threads]
    return {"moxie": [MOXIE, "bench", model, *more, "--repetitions", a.repetitions, "--json"],
            "llama.cpp": [sys.executable, HERE / "llama_cpp_bench.py", gguf_of(model), *more,
                          "--repetitions", a.repetitions]}


def measure(model, a):
    """(engine, test) -> samples in tokens a second."""
    samples = {}
    engines = commands(model, a)
    for turn in range(a.rounds):
        for engine, command in engines.items():
            print(f"{model.name}: {engine}, turn {turn + 1} of {a.rounds}", file=sys.stderr)
            for row in run(command):
                samples.setdefault((engine, row["test"]), []).extend(row["tokens_per_second"])
    return samples


def figure(samples):
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


def table(results):
    lines = ["| model | test | moxie, t/s | llama.cpp, t/s | ratio |", "|---|---|---:|---:|---:|"]
    for model, samples in results.items():
        for test in dict.fromkeys(t for _, t in samples):
            ours, theirs = samples["moxie", test], samples["llama.cpp", test]
            ratio = statistics.median(ours) / statistics.median(theirs)
            lines.append(f"| {model} bf16 | {test} | {figure(ours)} | {figure(theirs)} | {ratio:.2f} |")
    return "\n".join(lines)


def machine(threads):
    info = Path("/proc/cpuinfo").read_text()
    name = next(line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name"))
    load = os.getloadavg()[0]
    return (f"{name}, {os.cpu_count()} cores, {threads} threads; llama-cpp-python {llama_cpp.__version__} built for this CPU; "
            f"load before the run {load:.1f}; medians, in brackets the middle half.")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("models", nargs="*", type=Path, default=[ROOT / "models" / n for n in ("dense", "moe-noise")])
    p.add_argument("--pp", type=int, default=512)
    p.add_argument("--tg", type=int, default=64)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--rounds", type=int, default=4)
    p.add_argument("--repetitions", type=int, default=3)
    a = p.parse_args()
    facts = machine(a.threads)
    results = {model.name: measure(model.resolve(), a) for model in a.models}
    print(table(results), facts, sep="\n\n")


if __name__ == "__main__":
    main()
