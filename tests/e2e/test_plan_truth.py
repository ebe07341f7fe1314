"""What `moxie plan` says against what a fresh `moxie serve` of the same flags does.

    MOXIE_TRUTH   how many random settings (default 20)
    MOXIE_SEED    of their choice (default 1)
"""
import concurrent.futures
import json
import os
import random
import re
import socket
import tempfile
import unittest
import urllib.request
from pathlib import Path

from harness import MODELS, TINY, Server, error_lines, limit_address_space, run

SETTINGS = int(os.environ.get("MOXIE_TRUTH", "20"))
SEED = int(os.environ.get("MOXIE_SEED", "1"))
TOKENIZER = ("--tokenizer", TINY.parent / "cases" / "fixtures" / "tok-gpt2.json")
ARENAS = ("weights", "kv_cache", "arena", "step_inputs")


def models():
    """(folder, flags, longest length)"""
    found = [(TINY / name, TOKENIZER, 256) for name in ("mixtral", "llama", "mistral-swa", "mixtral-tp8")]
    found += [(MODELS / name, (), 2048) for name in ("moe-noise", "dense") if (MODELS / name).is_dir()]
    return found


def draw(rng):
    """A model and flags. The KV cache has a size of its own: else it would shrink to fit any limit."""
    model, flags, longest = rng.choice(models())
    block = rng.choice((8, 16, 32))
    length = rng.randint(32, longest)
    seqs = rng.choice((1, 2, 3, 8, 33))
    width = -(-length // block)
    blocks = rng.randint(width, width * seqs)
    cache = ("--num-gpu-blocks-override", blocks)
    if rng.random() < 0.3:  # a size in bytes, which is no whole number of blocks
        one = plan(model, (*flags, "--block-size", block, "--max-model-len", block, "--num-gpu-blocks-override", 1))
        cache = ("--kv-cache-memory-bytes", reserved(one)["kv_cache"] * 2 * blocks + 17)
    return model, (*flags, "--max-model-len", length, "--block-size", block, "--max-num-seqs", seqs,
                   "--max-num-batched-tokens", max(seqs, rng.choice((16, 100, 512, 2048))),
                   *cache,
                   "--compute", rng.choice(("bf16", "f32")), "--kv-cache-dtype", rng.choice(("auto", "bfloat16", "float32")),
                   "--threads", rng.choice((1, 2, 3))), length


def plan(model, flags):
    done = run("plan", model, *flags, "--json")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def reserved(plan):
    total = dict.fromkeys(ARENAS, 0)
    for term in plan["footprints"]:
        if term["owner"] in total:
            total[term["owner"]] += term["bytes"]
    return total


def status_bytes(pid, *fields):
    lines = dict(l.split(":", 1) for l in Path(f"/proc/{pid}/status").read_text().splitlines())
    return [int(lines[f].split()[0]) * 1024 for f in fields]


def ask(server, prompt, max_tokens):
    body = {"prompt": prompt, "max_tokens": max_tokens, "ignore_eos": True, "logprobs": 5}
    request = urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.loads(answer.read())


def load(server, rng, length):
    """The longest prompt that there is room for, and twelve short ones with it."""
    longest = [rng.randrange(3, 200) for _ in range(length - 4)]
    prompts = [longest] + [longest[: rng.randint(1, min(len(longest), 48))] for _ in range(12)]
    with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
        answers = list(pool.map(lambda p: ask(server, p, 4), prompts))
    return [a["usage"]["completion_tokens"] for a in answers]


class Truth(unittest.TestCase):
    def test_random_settings(self):
        rng = random.Random(SEED)
        tightest = {"resident": 0.0, "address space": 0.0}
        for i in range(SETTINGS):
            model, flags, length = draw(rng)
            with self.subTest(i=i, model=model.name, flags=" ".join(map(str, flags))):
                planned = plan(model, flags)
                used = self.check_exact_limit(model, flags, length, planned, rng)
                self.check_refused_below(model, flags, planned)
                for key in tightest:
                    tightest[key] = max(tightest[key], used[key])
        print(f"{SETTINGS} settings; most used of what was planned: "
              + ", ".join(f"{key} {100 * share:.1f} %" for key, share in tightest.items()))

    def test_bench_and_complete_run_under_the_same_limit(self):
        flags = (*TOKENIZER, "--num-gpu-blocks-override", 64)
        limit = plan(TINY / "mixtral", flags)["address_space_bytes"]
        for command in (("bench", TINY / "mixtral", "--pp", 100, "--tg", 10, "--repetitions", 2),
                        ("complete", TINY / "mixtral", "--prompt", "a", "--max-tokens", 8)):
            done = run(*command, *flags, preexec_fn=lambda: limit_address_space(limit))
            self.assertEqual(done.returncode, 0, done.stderr)
            refused = run(*command, *flags, preexec_fn=lambda: limit_address_space(limit * 9 // 10))
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn("does not fit in the address space", error_lines(refused.stderr)[0])

    def check_exact_limit(self, model, flags, length, planned, rng):
        limit = planned["address_space_bytes"]
        with Server(model, *flags, address_space=limit) as server:
            self.assertEqual(load(server, rng, length), [4] * 13)
            peak_resident, peak_mapped = status_bytes(server.process.pid, "VmHWM", "VmPeak")
            mapped = json.loads(re.search(r"^moxie: mapped (.*)$", server.output(), re.M)[1])
            self.assertEqual(server.terminate(), 0, server.output())
        self.assertEqual(mapped, reserved(planned))
        self.assertLessEqual(peak_resident, planned["resident_bytes"])
        self.assertLessEqual(peak_mapped, limit)
        return {"resident": peak_resident / planned["resident_bytes"], "address space": peak_mapped / limit}

    def check_refused_below(self, model, flags, planned):
        limit = planned["address_space_bytes"] * 9 // 10
        done = run("serve", model, *flags, "--port", "0", preexec_fn=lambda: limit_address_space(limit))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("does not fit in the address space", error_lines(done.stderr)[0])
        self.assertNotIn("mapped", done.stderr)
        self.assertNotIn("loading", done.stderr)


class HostileClients(unittest.TestCase):
    """Bodies made to take much memory, more at a time than are parsed: the totals hold all the same."""

    BODY = 4 << 20  # --max-request-bytes
    CLIENTS = 24

    def bodies(self):
        def filled(head, piece, tail):
            return head + piece * ((self.BODY - len(head) - len(tail)) // len(piece)) + tail
        yield "one word", filled(b'{"prompt":"', b"x", b'"}')
        yield "blanks", filled(b'{"prompt":"', b" ", b'"}')
        yield "words", filled(b'{"prompt":"', b"a b ", b'"}')
        yield "escapes", filled(b'{"prompt":"', b"\\u0001", b'"}')
        yield "wide", filled(b'{"prompt":"', "\ufdfa".encode(), b'"}')
        yield "ids", filled(b'{"prompt":[', b"1,", b"1]}")
        yield "lists", filled(b'{"prompt":[', b"[],", b"[]]}")
        yield "strings", filled(b'{"stop":[', b'"a",', b'"a"]}')
        yield "keys", b"{" + b",".join(b'"%x":1' % i for i in range(self.BODY // 12)) + b"}"

    def send(self, server, body, chunked):
        # A refusal may come before the body is sent: the server closes, which is its right.
        data = iter([body[i:i + 65536] for i in range(0, len(body), 65536)]) if chunked else body
        request = urllib.request.Request(server.url + "/v1/completions", data, {"Content-Type": "application/json"})
        if chunked:
            request.add_header("Transfer-Encoding", "chunked")
        try:
            urllib.request.urlopen(request, timeout=120).close()
        except OSError:
            pass

    def attack(self, tokenizer):
        flags = ("--tokenizer", tokenizer, "--num-gpu-blocks-override", 64)
        planned = plan(TINY / "mixtral", flags)
        heap = sum(t["bytes"] for t in planned["footprints"] if t["kind"] != "reserved")
        limit = planned["address_space_bytes"]
        most = 0
        for name, body in self.bodies():
            with self.subTest(name=name), Server(TINY / "mixtral", *flags, address_space=limit) as server:
                with concurrent.futures.ThreadPoolExecutor(self.CLIENTS) as pool:
                    list(pool.map(lambda i: self.send(server, body, i % 2), range(self.CLIENTS)))
                self.assertIsNone(server.process.poll(), server.output())
                peak_resident, peak_mapped = status_bytes(server.process.pid, "VmHWM", "VmPeak")
                self.assertLessEqual(peak_resident, planned["resident_bytes"])
                self.assertLessEqual(peak_mapped, limit)
                self.assertEqual(ask(server, [5, 6, 7], 4)["usage"]["completion_tokens"], 4)
                most = max(most, peak_resident)
        print(f"{Path(tokenizer).name}: {most >> 20} MiB at most of {planned['resident_bytes'] >> 20} planned")
        self.assertGreater(most, heap // 5, "the attack is none")

    def test_bpe(self):
        self.attack(TOKENIZER[1])

    def test_sentencepiece(self):
        self.attack(TOKENIZER[1].with_name("tok-spm.json"))

    def test_parsing_keeps_its_bound_and_comes_near_it(self):
        most = 0
        for tokenizer in (TOKENIZER[1], TOKENIZER[1].with_name("tok-spm.json")):
            flags = ("--tokenizer", tokenizer, "--num-gpu-blocks-override", 64)
            bound = next(t["bytes"] for t in plan(TINY / "mixtral", flags)["footprints"] if t["name"] == "parsing")
            for name, body in self.bodies():
                with Server(TINY / "mixtral", *flags) as server:
                    before, = status_bytes(server.process.pid, "VmRSS")
                    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # as many as parse at a time
                        list(pool.map(lambda _: self.send(server, body, False), range(2)))
                    after, = status_bytes(server.process.pid, "VmHWM")
                self.assertLessEqual(after - before, bound, name)
                most = max(most, (after - before) / bound)
        print(f"parsing took {100 * most:.0f} % of its bound")
        self.assertGreater(most, 0.8)

    def test_long_answers_with_all_logprobs(self):
        flags = (*TOKENIZER, "--num-gpu-blocks-override", 4096, "--max-num-seqs", 256,
                 "--chat-template", "{{ messages[0].content }}")
        planned = plan(TINY / "mixtral", flags)
        bound = next(t["bytes"] for t in planned["footprints"] if t["name"] == "replies")
        body = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 250, "ignore_eos": True,
                "logprobs": True, "top_logprobs": 20}
        with Server(TINY / "mixtral", *flags, address_space=planned["address_space_bytes"]) as server:
            def chat(tokens):
                request = urllib.request.Request(server.url + "/v1/chat/completions",
                                                 json.dumps(body | {"max_tokens": tokens}).encode(),
                                                 {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=300) as answer:
                    return len(json.loads(answer.read())["choices"][0]["logprobs"]["content"])
            with concurrent.futures.ThreadPoolExecutor(256) as pool:
                self.assertEqual(set(pool.map(chat, [1] * 256)), {1})
                before, = status_bytes(server.process.pid, "VmHWM")
                self.assertEqual(set(pool.map(chat, [250] * 256)), {250})
            after, = status_bytes(server.process.pid, "VmHWM")
        print(f"replies took {(after - before) >> 20} MiB of {bound >> 20}")
        self.assertLessEqual(after - before, bound)
        self.assertGreater(after - before, bound // 4)
        self.assertLessEqual(after, planned["resident_bytes"])

    def test_many_connections(self):
        flags = (*TOKENIZER, "--num-gpu-blocks-override", 64)
        planned = plan(TINY / "mixtral", flags)
        with Server(TINY / "mixtral", *flags, address_space=planned["address_space_bytes"]) as server:
            before, = status_bytes(server.process.pid, "VmRSS")
            sockets = []
            header = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 60000
            for _ in range(900):
                s = socket.create_connection(("127.0.0.1", server.port))
                self.addCleanup(s.close)
                s.sendall(header)
                sockets.append(s)
            self.assertEqual(ask(server, [5, 6, 7], 4)["usage"]["completion_tokens"], 4)
            after, = status_bytes(server.process.pid, "VmHWM")
            bound = next(t["bytes"] for t in planned["footprints"] if t["name"] == "connections")
            print(f"900 connections: {(after - before) >> 20} MiB of {bound >> 20} planned for 1024")
            self.assertLessEqual((after - before) * 1024 / 900, bound)
            self.assertGreater(after - before, bound // 3, "the headers are not held")
            self.assertLessEqual(after, planned["resident_bytes"])


class NearestSettings(unittest.TestCase):
    """Every suggestion of a refusal is started and answers; the next larger one is refused."""

    def check(self, model, *flags, address_space=None):
        limit = None if address_space is None else lambda: limit_address_space(address_space)
        refused = run("serve", model, *flags, preexec_fn=limit)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        suggestions = [s.split() for s in re.findall(r"\[(--[^\]]+)\]", error_lines(refused.stderr)[0])]
        self.assertTrue(suggestions, refused.stderr)
        for words in suggestions:
            with self.subTest(words=words):
                with Server(model, *flags, *words, address_space=address_space) as server:
                    self.assertEqual(ask(server, [5, 6, 7, 8], 4)["usage"]["completion_tokens"], 4)
                if words[-2] in ("--max-model-len", "--max-num-seqs", "--max-num-batched-tokens"):
                    larger = run("plan", model, *flags, *words[:-1], int(words[-1]) + 1, preexec_fn=limit)
                    self.assertEqual(larger.returncode, 1, larger.stdout)
        return {words[-2] for words in suggestions}

    def test_too_few_blocks(self):
        self.assertEqual(self.check(TINY / "mixtral", *TOKENIZER, "--num-gpu-blocks-override", 5),
                         {"--max-model-len", "--num-gpu-blocks-override"})

    def test_too_few_bytes(self):
        self.assertIn("--kv-cache-memory-bytes",
                      self.check(TINY / "llama", *TOKENIZER, "--kv-cache-memory-bytes", 20000))

    def test_a_narrower_type_of_keys_and_values(self):
        self.assertEqual(self.check(TINY / "mixtral", *TOKENIZER, "--kv-cache-dtype", "float32",
                                    "--kv-cache-memory-bytes", 100000),
                         {"--max-model-len", "--kv-cache-dtype", "--kv-cache-memory-bytes"})

    def test_several_settings_together_where_none_is_enough_alone(self):
        with tempfile.TemporaryDirectory() as folder:  # Llama-3.1-8B's sizes
            config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128256,
                      "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                      "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072}
            (Path(folder) / "config.json").write_text(json.dumps(config))

            def planned(*flags):
                return run("plan", folder, "--max-num-batched-tokens", 1 << 20, *flags,
                           preexec_fn=lambda: limit_address_space(20 << 30))
            refused = planned()
            self.assertEqual(refused.returncode, 1)
            words, = [s.split() for s in re.findall(r"\[(--[^\]]+)\]", refused.stderr)]
            self.assertEqual(words[::2], ["--max-num-batched-tokens", "--max-num-seqs", "--max-model-len"])
            self.assertEqual(planned(*words).returncode, 0)
            self.assertEqual(planned(*words[:-1], int(words[-1]) + 1).returncode, 1)

    def test_too_little_address_space(self):
        flags = (*TOKENIZER, "--max-num-seqs", 64, "--num-gpu-blocks-override", 16)
        limit = plan(TINY / "mixtral", flags)["address_space_bytes"] - (1 << 20)
        self.assertLessEqual({"--max-num-seqs", "--max-num-batched-tokens"},
                             self.check(TINY / "mixtral", *flags, address_space=limit))

    @unittest.skipUnless((MODELS / "moe-noise").is_dir(), "needs models/moe-noise")
    def test_too_little_memory(self):
        flags = ("--max-model-len", 2048, "--max-num-seqs", 32, "--num-gpu-blocks-override", 1024)
        planned = plan(MODELS / "moe-noise", flags)
        share = round(planned["resident_bytes"] / planned["limit_bytes"] - 0.0001, 6)
        self.assertLessEqual({"--max-num-seqs", "--max-num-batched-tokens", "--gpu-memory-utilization"},
                             self.check(MODELS / "moe-noise", *flags, "--gpu-memory-utilization", share))


class Cgroup(unittest.TestCase):
    """The same against a memory cgroup, where this machine lets us make one."""

    def test_runs_in_a_cgroup_of_exactly_resident(self):
        group = self.make_group()
        flags = (*TOKENIZER, "--num-gpu-blocks-override", 64)
        planned = plan(TINY / "mixtral", flags)
        whole_pages = -(-planned["resident_bytes"] // 4096) * 4096
        (group / self.limit_file).write_text(str(whole_pages))

        def join():
            (group / "cgroup.procs").write_text(str(os.getpid()))
        inside = run("plan", TINY / "mixtral", *flags, "--gpu-memory-utilization", "1", "--json", preexec_fn=join)
        self.assertEqual(inside.returncode, 0, inside.stderr)
        self.assertIn("cgroup", json.loads(inside.stdout)["limit_source"])
        server = Server(TINY / "mixtral", *flags, "--gpu-memory-utilization", "1")
        server.limit = join
        with server:
            self.assertEqual(load(server, random.Random(1), 256), [4] * 13)
            self.assertEqual(server.terminate(), 0)
        (group / self.limit_file).write_text(str(planned["resident_bytes"] * 9 // 10))
        done = run("serve", TINY / "mixtral", *flags, "--gpu-memory-utilization", "1", preexec_fn=join)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cgroup", error_lines(done.stderr)[0])

    def make_group(self):
        for base, self.limit_file in ((Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
                                      (Path("/sys/fs/cgroup"), "memory.max")):
            group = base / f"moxie-test-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            self.addCleanup(group.rmdir)
            if (group / self.limit_file).exists():
                return group
        self.skipTest("NOT CHECKED: no memory cgroup can be made here")


if __name__ == "__main__":
    unittest.main()
