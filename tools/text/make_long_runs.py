#!/usr/bin/env python3
"""Makes tests/data/tokenizers/long_runs.json: the ids of 200 KB of one letter by the tokenizers package, as runs.

Usage: .venv/bin/python tools/text/make_long_runs.py (after tools/fetch_text_data)

{tokenizer: {letter: [[id, times], ...]}}, encoded without special tokens around it.
"""
import itertools
import json
from pathlib import Path

from tokenizers import Tokenizer

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
LETTERS, BYTES = "aZ\u00e9", 200_000


def runs(tokenizer, letter):
    text = letter * (BYTES // len(letter.encode()))
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return [[token, len(list(group))] for token, group in itertools.groupby(ids)]


def main():
    tokenizers = {folder.name: Tokenizer.from_file(str(folder / "tokenizer.json"))
                  for folder in sorted((DATA / "fetched" / "tokenizers").iterdir())}
    made = {name: {letter: runs(tokenizer, letter) for letter in LETTERS} for name, tokenizer in tokenizers.items()}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(of, ensure_ascii=False)}" for name, of in made.items())
    (DATA / "tokenizers" / "long_runs.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
