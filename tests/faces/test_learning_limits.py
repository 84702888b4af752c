"""One message and one call teach so much and no more; what was said is kept whole, and the answer says so."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.errors import ConfigError
from tests.faces.harness import ANYWHERE, Face, Opens, texts

_FILLER: Final = "The weather was fine on that day and on the next.\n"


def _settings(**extract: Any) -> dict[str, Any]:
    return {"write": {"mode": "inline"}, "extract": extract}


async def _turns(face: Face) -> list[str]:
    return texts(await face.get_all(user_id="alice", layers=["turn"]))


@ANYWHERE
async def test_of_a_long_message_the_end_is_learned_from_and_all_of_it_is_kept(opens: Opens) -> None:
    face = opens(_settings(message_chars=1_000))
    text = f"I live in Oslo.\n{_FILLER * 30}I like tea."

    answer = await face.add(["Hi!", text], user_id="alice")

    assert [one["memory"] for one in answer["results"]] == ["User likes tea."]
    assert answer["warnings"] == [
        "messages[1]: too long to read in full, so facts may be missing (extract.message_chars)"
    ]
    assert text in await _turns(face)
    start, end = (answer["results"][0]["evidence"][name] for name in ("start", "end"))
    assert text[start:end] == "I like tea."


@ANYWHERE
async def test_of_many_messages_the_newest_are_learned_from_and_all_are_kept(opens: Opens) -> None:
    face = opens(_settings(call_chars=1_000))
    texts = ["I live in Oslo.", _FILLER * 30, "I like tea."]

    answer = await face.add(texts, user_id="alice")

    assert [one["memory"] for one in answer["results"]] == ["User likes tea."]
    assert answer["warnings"][-1] == (
        "messages not read for facts, because the call is too long: 1 (extract.call_chars)"
    )
    assert set(texts) <= set(await _turns(face))


@ANYWHERE
async def test_one_call_teaches_so_many_facts_and_says_so(opens: Opens) -> None:
    face = opens(_settings(call_facts=1))

    answer = await face.add("I live in Oslo. I like tea.", user_id="alice")

    assert [one["memory"] for one in answer["results"]] == ["User likes tea."]
    assert answer["warnings"] == ["facts learned from this call: the last 1 of 2 (extract.call_facts)"]


@ANYWHERE
async def test_what_is_within_the_limits_is_learned_without_a_word(opens: Opens) -> None:
    answer = await opens(_settings()).add("I live in Oslo. I like tea.", user_id="alice")
    assert len(answer["results"]) == 2
    assert "warnings" not in answer


@ANYWHERE
@pytest.mark.parametrize("wrong", [{"message_chars": 999}, {"message_chars": 65_537}, {"call_facts": 0}])
async def test_limits_that_make_no_sense_are_refused(opens: Opens, wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        opens(_settings(**wrong))
