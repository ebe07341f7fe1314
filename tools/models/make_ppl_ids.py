#!/usr/bin/env python3
"""Token ids of the perplexity texts, so that the C++ tests need no tokenizer.

    make_ppl_ids.py MODELS OUT     MODELS/dense/tokenizer.json -> OUT/ppl-{gpl3,pydoc}.json

The texts are those of verify_real.py: the GPL-3 as Debian ships it, and Python 3.11's pydoc topics; 1024
tokens each. The reference perplexities (transformers, float32) stand in the goldens' info.
"""
import json
import pydoc_data.topics
import sys
from pathlib import Path

from tokenizers import Tokenizer


def main():
    models, out = Path(sys.argv[1]), Path(sys.argv[2])
    tokenizer = Tokenizer.from_file(str(models / "dense" / "tokenizer.json"))
    topics = pydoc_data.topics.topics
    texts = {"pydoc": "\n".join(topics[k] for k in sorted(topics))[:60000],
             "gpl3": Path("/usr/share/common-licenses/GPL-3").read_text()}
    for name, text in texts.items():
        ids = tokenizer.encode(text, add_special_tokens=False).ids[:1024]
        reference = {m: json.loads((out / f"golden-{m}.json").read_text())["info"]["ppl"][name]
                     for m in ("dense", "moe-copy", "moe-noise")}
        (out / f"ppl-{name}.json").write_text(
            json.dumps({"perplexity": reference, "ids": ids}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
