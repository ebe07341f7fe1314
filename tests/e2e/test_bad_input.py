"""Bad input gives one clear line, exit code 1, and leaves nothing behind."""
import json
import os
import shutil
import socket
import struct
import tempfile
import unittest
from pathlib import Path

from harness import TINY, error_lines, run


class BadModel(unittest.TestCase):
    command = ("bench", "--pp", "4", "--tg", "1", "--repetitions", "1")

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="moxie-e2e-"))
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.model = self.dir / "model"
        shutil.copytree(TINY / "mixtral", self.model)

    def refused(self, *words, model=None):
        before = sorted(p.relative_to(self.dir) for p in self.dir.rglob("*"))
        command, *flags = self.command
        done = run(command, model or self.model, *flags)
        lines = error_lines(done.stderr)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], lines[0])
        for word in words:
            self.assertIn(word, lines[0])
        self.assertEqual(sorted(p.relative_to(self.dir) for p in self.dir.rglob("*")), before)

    def edit_config(self, **fields):
        path = self.model / "config.json"
        config = json.loads(path.read_text())
        config.update(fields)
        path.write_text(json.dumps(config))

    def test_the_model_is_good_to_begin_with(self):
        command, *flags = self.command
        done = run(command, self.model, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_missing_directory(self):
        self.refused(str(self.dir / "nowhere"), model=self.dir / "nowhere")

    def test_missing_config(self):
        (self.model / "config.json").unlink()
        self.refused("config.json")

    def test_config_is_not_json(self):
        (self.model / "config.json").write_text('{"hidden_size": 64,')
        self.refused("config.json", "line 1")

    def test_config_field_of_the_wrong_type(self):
        self.edit_config(hidden_size="64")
        self.refused("config.json", "hidden_size")

    def test_unsupported_architecture(self):
        self.edit_config(architectures=["BertModel"])
        self.refused("BertModel", "MixtralForCausalLM")

    def test_truncated_weights(self):
        path = self.model / "model.safetensors"
        with open(path, "r+b") as f:
            f.truncate(path.stat().st_size - 1000)
        self.refused("model.safetensors")

    def test_empty_weights(self):
        (self.model / "model.safetensors").write_bytes(b"")
        self.refused("model.safetensors")

    def rewrite_header(self, edit):
        path = self.model / "model.safetensors"
        raw = path.read_bytes()
        n = struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8:8 + n])
        edit(header)
        blob = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(blob)) + blob + raw[8 + n:])

    def test_wrong_shape(self):
        name = "model.layers.1.block_sparse_moe.experts.5.w1.weight"
        self.rewrite_header(lambda h: h[name].update(shape=[64, 96]))
        self.refused(name, "[64,96]", "[96,64]")

    def test_tensor_that_nobody_wants(self):
        name = "model.layers.0.self_attn.q_proj.weight"
        self.rewrite_header(lambda h: h.update({"model.layers.0.self_attn.z_proj.weight": h.pop(name)}))
        self.refused(name)

    def test_config_with_another_width_than_the_weights(self):
        self.edit_config(intermediate_size=128)
        self.refused("w1.weight", "[96,64]", "[128,64]")

    def test_shard_named_by_the_index_is_missing(self):
        (self.model / "model.safetensors").rename(self.model / "model-00001-of-00002.safetensors")
        (self.model / "model.safetensors.index.json").write_text(json.dumps(
            {"weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors"}}))
        self.refused("model-00002-of-00002.safetensors")

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_unreadable_config(self):
        (self.model / "config.json").chmod(0)
        self.refused("config.json", "Permission denied")

    def test_config_is_a_directory(self):
        (self.model / "config.json").unlink()
        (self.model / "config.json").mkdir()
        self.refused("config.json")

    def test_too_small_a_budget_is_refused_with_the_arithmetic(self):
        command, *flags = self.command
        done = run(command, self.model, *flags, "--gpu-memory-utilization", "0.00001")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("budget", error_lines(done.stderr)[0])


class ServeBadModel(BadModel):
    """The same through the server, which must refuse before it listens."""
    command = ("serve", "--port", "0")

    def setUp(self):
        super().setUp()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = s.getsockname()[1]
        self.command = ("serve", "--host", "127.0.0.1", "--port", str(port))

    def test_the_model_is_good_to_begin_with(self):
        self.skipTest("see test_serve.py")

    def test_port_in_use(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            self.command = ("serve", "--host", "127.0.0.1", "--port", str(s.getsockname()[1]),
                            "--tokenizer", str(TINY.parent / "cases" / "fixtures" / "tok-gpt2.json"))
            self.refused(str(s.getsockname()[1]), "in use")


class Usage(unittest.TestCase):
    def test_unknown_flag_names_the_nearest(self):
        done = run("serve", TINY / "mixtral", "--max-num-seq", "4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean --max-num-seqs", done.stderr)

    def test_value_out_of_range(self):
        done = run("serve", TINY / "mixtral", "--gpu-memory-utilization", "1.5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--gpu-memory-utilization", done.stderr)

    def test_no_model(self):
        self.assertEqual(run("serve").returncode, 2)


if __name__ == "__main__":
    unittest.main()
