#!/usr/bin/env python3
"""How long `moxie serve MODEL` takes until /health answers 200, files in the page cache.

    bench/start.py [MODEL] [STARTS]      default: models/moe-noise, 7 starts after one that warms the cache
"""
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "e2e"))
from harness import MODELS, Server  # noqa: E402


def main():
    model = Path(sys.argv[1]) if len(sys.argv) > 1 else MODELS / "moe-noise"
    starts = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    seconds = []
    for _ in range(starts + 1):
        with Server(model) as server:
            seconds.append(server.ready_seconds)
    first, *rest = seconds
    print(f"{model.name}: first {first:.2f} s; then median {statistics.median(rest):.2f} s, "
          f"{min(rest):.2f} to {max(rest):.2f} s over {starts} starts; "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
