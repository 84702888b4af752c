"""The static model that runs inside the process: a table of vectors, and their mean."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstone import Memory
from memstone.compose import build_adapter
from memstone.errors import ConfigError, MissingExtra
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from tests.conformance.model_package import add_in_process, append_line, copy_package

both = pytest.mark.parametrize("mode", MODES)
SETTINGS: dict[str, Any] = {"store": {"url": "memory:"}, "embedder": {"provider": "static"}}


def embed(texts: list[str], **options: Any) -> Any:
    async def scenario(io: Io) -> Any:
        return await build_adapter("embedder", "static", options, io).embed(texts)

    return scenario


@both
@pytest.mark.req("N-2.1", "C-47")
def test_every_text_gets_a_unit_vector_of_its_own(mode: str) -> None:
    texts = ["I drink green tea.", "", "緑茶", " \n", "half \ud83d a pair", "tea " * 5000]
    rows = run(mode, embed(texts))
    assert (rows.shape, rows.dtype) == ((6, 256), np.float32)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0, 1, 1], atol=1e-5)
    for text, row in zip(texts, rows, strict=True):  # in whatever company
        assert np.array_equal(run(mode, embed([text]))[0], row)
    assert run(mode, embed([])).shape == (0, 256)


@pytest.mark.req("N-2.1")
def test_vectors_are_those_that_the_package_itself_computes() -> None:
    texts = ["I drink green tea.", "My sister lives in Lisbon", "bees", "Ça va bien ?"]
    script = """
import json, sys
from pathlib import Path
from safetensors.numpy import load_file
from tokenizers import Tokenizer
import wordllama
from wordllama.inference import WordLlamaInference
folder = Path(wordllama.__file__).parent
table = load_file(folder / "weights/l2_supercat_256.safetensors")["embedding.weight"]
tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
print(json.dumps(WordLlamaInference(table, tokenizer).embed(json.loads(sys.argv[1]), norm=True).tolist()))
"""
    command = [sys.executable, "-W", "ignore", "-c", script, json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
    assert np.allclose(run("blocking", embed(texts)), json.loads(done.stdout), atol=1e-4)


def test_of_a_long_text_as_much_is_read_as_is_configured() -> None:
    text, same = "tea " * 50, "tea " * 25
    first, second = run("blocking", embed([text, same], max_chars=100))
    assert np.allclose(first, second, atol=1e-6)
    first, second = run("blocking", embed([text, same + "and a boat"], max_chars=200))
    assert not np.allclose(first, second, atol=1e-3)


@pytest.mark.req("N-2.1")
def test_a_question_finds_what_has_the_same_meaning() -> None:
    with Memory(SETTINGS) as memory:
        for text in ("My sister lives in Lisbon.", "I am saving up for a boat.", "I play the violin on Fridays."):
            memory.add(text, user_id="anna", infer=False)
        for query, word in (("vessel", "boat"), ("musical instrument", "violin"), ("sibling", "sister")):
            assert word in memory.search(query, user_id="anna")["results"][0]["memory"]
        embedding = memory.admin.status()["embedding"]
        assert (embedding["destination"], embedding["dim"]) == ("this machine", 256)


@pytest.mark.parametrize("package", ["wordllama", "tokenizers"])
def test_without_its_packages_the_error_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"memstone\[static\]"):
        run("blocking", embed(["tea"]))


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(ConfigError, match="max_chars"):
        run("blocking", embed(["tea"], max_char=200))


@pytest.mark.parametrize(
    "name", ["weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"]
)
def test_a_file_that_was_changed_is_not_loaded_and_no_code_of_the_package_runs(tmp_path: Path, name: str) -> None:
    copy = copy_package("wordllama", tmp_path)
    (copy / "__init__.py").write_text("raise RuntimeError('imported')")
    assert "'error'" not in add_in_process(SETTINGS, tmp_path)
    append_line(copy / name)
    assert "is not the expected file" in add_in_process(SETTINGS, tmp_path)
