"""The server as a client sees it: the openai package, streaming, and a clean end. Needs models/moe-noise."""
import concurrent.futures
import json
import unittest
import urllib.error
import urllib.request

from harness import MODELS, ROOT, TINY, Server, run

MODEL = MODELS / "moe-noise"
PROMPTS = ["Once upon a time, there was a little", "def fibonacci(n):\n    ", "The theory of relativity states that",
           "Water boils at 100 degrees"]


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as r:
        return json.loads(r.read())


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(MODEL, "--max-model-len", "2048").__enter__()
        cls.addClassCleanup(cls.server.__exit__)
        import openai
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.model = cls.client.models.list().data[0].id

    def test_streams_what_it_answers_whole(self):
        whole = self.client.completions.create(model=self.model, prompt=PROMPTS[0], max_tokens=24, temperature=0)
        chunks = list(self.client.completions.create(model=self.model, prompt=PROMPTS[0], max_tokens=24,
                                                     temperature=0, stream=True,
                                                     stream_options={"include_usage": True}))
        self.assertEqual("".join(c.choices[0].text for c in chunks if c.choices), whole.choices[0].text)
        self.assertGreater(sum(1 for c in chunks if c.choices), 5)
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(whole.usage.completion_tokens, 24)
        self.assertEqual(whole.choices[0].finish_reason, "length")

    def test_greedy_ids_are_those_of_the_golden(self):
        golden = json.loads((ROOT / "tests" / "data" / "goldens" / "golden-moe-noise.json").read_text())
        checked = 0
        for case in golden["cases"]:
            # Up to the first step whose two best are too close to call in bf16.
            margins = [s["top"][0][1] - s["top"][1][1] for s in case["steps"]]
            sure = next((i for i, m in enumerate(margins) if m <= 0.15), len(margins))
            if sure == 0:
                continue
            got = post(self.server.url + "/v1/completions",
                       {"model": self.model, "prompt": case["prompt_ids"], "max_tokens": sure, "temperature": 0,
                        "return_token_ids": True, "ignore_eos": True})["choices"][0]["token_ids"]
            self.assertEqual(got, case["greedy_ids"][:sure])
            checked += sure
        self.assertGreater(checked, 30)

    def test_thirty_two_together_equal_each_alone(self):
        def ask(i):
            body = {"model": self.model, "prompt": PROMPTS[i % 4] + " " * (i // 4), "max_tokens": 8 + i % 5,
                    "temperature": 0 if i % 2 else 0.8, "seed": i, "logprobs": 3, "ignore_eos": True}
            choice = post(self.server.url + "/v1/completions", body)["choices"][0]
            return choice["text"], choice["logprobs"]["token_logprobs"]
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            together = list(pool.map(ask, range(32)))
        for i in range(0, 32, 3):
            self.assertEqual(ask(i), together[i])

    def test_errors_are_the_openai_clients_own(self):
        import openai
        with self.assertRaises(openai.NotFoundError):
            self.client.completions.create(model="nobody", prompt="x")
        with self.assertRaises(openai.BadRequestError) as e:
            self.client.completions.create(model=self.model, prompt="x", temperature=3)
        self.assertIn("temperature", str(e.exception))


class End(unittest.TestCase):
    FLAGS = ("--tokenizer", TINY.parent / "cases" / "fixtures" / "tok-gpt2.json")

    def test_sigterm_ends_with_zero_and_frees_the_port(self):
        for _ in range(2):
            with Server(TINY / "mixtral", *self.FLAGS) as server:
                self.assertEqual(server.terminate(), 0, server.output())

    def test_sigterm_while_streaming_finishes_the_stream(self):
        with Server(TINY / "mixtral", *self.FLAGS, "--shutdown-timeout", "20") as server:
            request = urllib.request.Request(
                server.url + "/v1/completions",
                json.dumps({"model": json.loads(urllib.request.urlopen(server.url + "/v1/models").read())["data"][0]["id"],
                            "prompt": [5, 6, 7], "max_tokens": 200, "stream": True, "ignore_eos": True}).encode(),
                {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as stream:
                first = stream.readline()
                self.assertTrue(first.startswith(b"data: {"), first)
                server.process.terminate()
                rest = stream.read()
            self.assertIn(b"data: [DONE]", rest)
            self.assertEqual(server.process.wait(30), 0)


class Complete(unittest.TestCase):
    def test_prints_the_goldens_text(self):
        done = run("complete", MODELS / "dense", "--prompt", "Water boils at 100 degrees", "--max-tokens", "8",
                   "--temperature", "0", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.strip(), done.stderr)


if __name__ == "__main__":
    unittest.main()
