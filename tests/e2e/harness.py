"""Runs the real binary. Standard library only; the tests that need a client import it themselves.

    MOXIE         path of the binary (default: build/release/src/moxie)
    MOXIE_MODELS  folder of the real-text models (default: models)
"""
import os
import re
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MOXIE = os.environ.get("MOXIE", str(ROOT / "build" / "release" / "src" / "moxie"))
MODELS = Path(os.environ.get("MOXIE_MODELS", ROOT / "models"))
TINY = ROOT / "tests" / "data" / "tiny"


def limit_address_space(limit):
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run(*args, timeout=60, **kw):
    return subprocess.run([MOXIE, *map(str, args)], capture_output=True, text=True, timeout=timeout, **kw)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`moxie serve` as a context; `url` answers /health when the block is entered."""

    def __init__(self, model, *flags, ready_timeout=60, address_space=None):
        """address_space: RLIMIT_AS of the process, in bytes."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.args = [MOXIE, "serve", str(model), "--host", "127.0.0.1", "--port", str(self.port), *map(str, flags)]
        self.ready_timeout = ready_timeout
        self.limit = None if address_space is None else lambda: limit_address_space(address_space)

    def __enter__(self):
        import tempfile
        self.log = tempfile.TemporaryFile("w+")
        began = time.monotonic()
        self.process = subprocess.Popen(self.args, stdout=self.log, stderr=subprocess.STDOUT, text=True,
                                        preexec_fn=self.limit)
        while time.monotonic() - began < self.ready_timeout:
            if self.process.poll() is not None:
                raise AssertionError(f"moxie serve ended with {self.process.returncode}: {self.output()}")
            if self.status("/health") == 200:
                self.ready_seconds = time.monotonic() - began
                return self
            time.sleep(0.01)
        self.process.kill()
        raise AssertionError(f"not ready after {self.ready_timeout} s: {self.output()}")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def output(self):
        self.log.seek(0)
        return self.log.read()

    def status(self, path):
        import urllib.error
        import urllib.request
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as r:
                return r.status
        except urllib.error.HTTPError as e:
            return e.code
        except OSError:
            return None

    def terminate(self, timeout=30):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)


def error_lines(stderr):
    return [l for l in stderr.splitlines() if re.match(r"moxie: error: ", l)]
