"""A model inside the process, from a GGUF file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from memstone.compose import build_adapter
from memstone.errors import AnswerCutOff, ConfigError, LLMError, MissingExtra
from memstone.ports.io import Io
from memstone.ports.models import Llm, Prompt, Reply
from memstone.testing.modes import MODES, run
from scripts.fetch_models import SMOLLM2

pytestmark = pytest.mark.llm
both = pytest.mark.parametrize("mode", MODES)

HELLO = [{"role": "user", "content": "Name a colour. Answer in JSON."}]
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


def asked(*prompts: Prompt, **options: Any) -> Callable[[Io], Coroutine[Any, Any, list[Reply]]]:
    async def scenario(io: Io) -> list[Reply]:
        config = {"model_path": SMOLLM2.path, "context_tokens": 512, **options}
        llm: Llm = build_adapter("llm", "local", config, io)
        assert llm.destination == "this machine"
        return [await llm.generate(prompt) for prompt in prompts]

    return scenario


@both
@pytest.mark.req("C-40", "C-48")
def test_a_file_answers_in_words_and_by_a_schema(mode: str) -> None:
    by_schema = Prompt(HELLO, response_format="json", schema=SCHEMA)
    options = {"model_sha256": SMOLLM2.sha256}
    (structured,) = run(mode, asked(by_schema, **options))
    assert json.loads(structured.text)["colour"] in ("red", "green", "blue")
    assert structured.input_tokens > 5
    assert structured.output_tokens > 2


@both
def test_an_answer_that_is_too_long_is_cut_off_and_a_question_that_is_too_long_refused(mode: str) -> None:
    with pytest.raises(AnswerCutOff):
        run(mode, asked(Prompt([{"role": "user", "content": "Tell me a long story."}], max_tokens=4)))
    with pytest.raises(LLMError, match="context_tokens"):
        run(mode, asked(Prompt([{"role": "user", "content": "word " * 2_000}])))


def test_what_is_no_model_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "note.gguf").write_text("hello")
    for path, words in ((tmp_path / "none.gguf", "cannot be read"), (tmp_path / "note.gguf", "not a GGUF file")):
        with pytest.raises(ConfigError, match=words):
            run("blocking", asked(model_path=path))
    with pytest.raises(ConfigError, match="not the expected file"):
        run("blocking", asked(Prompt(HELLO), model_sha256="0" * 64))


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r"memstone\[local-llm\]"):
        run("blocking", asked())
