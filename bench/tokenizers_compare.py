#!/usr/bin/env python3
"""Encoding speed on English text, one thread: moxie beside the tokenizers package, in one run.

Usage: pip install tokenizers==0.23.3, build tokenizer_bench, then
  bench/tokenizers_compare.py [--bench build/release/bench/tokenizer_bench] [--text FILE] DIR...

Both are timed in turns, by CPU time, best of --rounds. The default text is the documentation that
Python carries. Fails where the ids differ in number.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer  # noqa: E402


def default_text():
    from pydoc_data.topics import topics
    return "\n".join(topics.values())


def run_moxie(bench, tokenizer, text_file):
    env = dict(os.environ, MOXIE_BENCH_TOKENIZER=str(tokenizer), MOXIE_BENCH_TEXT=text_file)
    out = subprocess.run([bench, "--benchmark_format=json", "--benchmark_filter=BM_Encode|BM_Load",
                          "--benchmark_min_time=0.5"], env=env, capture_output=True, check=True).stdout
    rows = {r["name"]: r for r in json.loads(out)["benchmarks"]}
    return rows["BM_Encode"]["cpu_time"] / 1000, int(rows["BM_Encode"]["ids"]), rows["BM_Load"]["cpu_time"] / 1000


def run_package(tokenizer, text):
    start = time.process_time()
    ids = len(tokenizer.encode(text, add_special_tokens=False).ids)
    return time.process_time() - start, ids


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizers", nargs="+", type=Path)
    parser.add_argument("--bench", default="build/release/bench/tokenizer_bench")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    text = args.text.read_text() if args.text else default_text()
    failed = False
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write(text)
        f.flush()
        megabytes = len(text.encode()) / 1e6
        print(f"{megabytes:.2f} MB of text; MB/s of one thread")
        for path in args.tokenizers:
            path = path / "tokenizer.json" if path.is_dir() else path
            package = Tokenizer.from_file(str(path))
            ours, theirs, load = [], [], []
            for _ in range(args.rounds):
                seconds, ids, load_seconds = run_moxie(args.bench, path, f.name)
                ours.append(seconds)
                load.append(load_seconds)
                seconds, want = run_package(package, text)
                theirs.append(seconds)
                failed = failed or ids != want
            a, b = megabytes / min(ours), megabytes / min(theirs)
            print(f"{path.parent.name:16} moxie {a:7.1f}  tokenizers {b:6.1f}  ratio {a / b:5.1f}  "
                  f"load {min(load):.3f} s  ids {'equal' if ids == want else f'{ids} != {want}'}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
