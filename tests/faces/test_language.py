from __future__ import annotations

from typing import Any

import pytest

from memstone import Memory
from memstone.errors import ConfigError
from memstone.language.neutral import Neutral
from tests.english import ENGLISH

_SAID = "I live in Oslo, and my sister Anna visits me on Friday."


def _configured(language: str) -> dict[str, Any]:
    return {"store": {"url": "memory:"}, "embedder": {"provider": "hash"}, "extract": {"language": language}}


def test_in_a_language_that_nobody_reads_turns_are_kept_and_found() -> None:
    with Memory(_configured("neutral")) as memory:
        added = memory.add(_SAID, user_id="alice")
        assert (added["results"], added["reason"]) == ([], "language")
        found = memory.search("Oslo", user_id="alice", layers=["turn"])["results"]
        assert [one["memory"] for one in found] == [_SAID]
        assert memory.graph.entities(user_id="alice")["results"] == []


def test_every_step_has_an_answer_for_a_language_that_nobody_reads() -> None:
    with Memory(_configured("neutral")) as memory:
        memory.add("User lives in Oslo.", user_id="alice", infer=False)
        memory.add("User lives in Oslo!", user_id="alice", infer=False)
        memory.add([{"role": "user", "content": _SAID}, {"role": "assistant", "content": "Noted."}], user_id="alice")
        assert memory.search("Where do I live?", user_id="alice")["results"]
        for gate in ("heuristic", "always", "profile"):
            memory.context("What did I say about Oslo yesterday?", user_id="alice", gate=gate)
        memory.profile.get(user_id="alice")
        memory.admin.consolidate(user_id="alice")
        memory.sessions.ingest([{"role": "user", "content": _SAID}], user_id="alice", run_id="one")
        assert memory.settings.suggest_instructions("A coach for runners")["instructions"]


def test_a_language_is_named_by_its_class() -> None:
    with Memory(_configured("memstone.language.neutral:Neutral")) as memory:
        assert memory.add(_SAID, user_id="alice")["reason"] == "language"


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown language 'xx'"):
        Memory(_configured("xx"))


@pytest.mark.parametrize("text", [_SAID, "Ich wohne in Oslo.", "", "42", "…"])
def test_both_languages_answer_about_any_text(text: str) -> None:
    for language in (ENGLISH, Neutral()):
        read = language.facts.read(text, None)
        assert not (read.is_foreign and language.reads(text))
        assert language.guard.own_words(text) in text
        assert language.changes.is_known(text, text)


class Shouting(Neutral):
    """A language that answers one question by itself, and takes the other answers from the neutral one."""

    code = "xs"

    def reads(self, text: str) -> bool:
        """Return whether somebody shouts."""
        return text.isupper()


def test_a_language_of_your_own_takes_answers_from_the_neutral_one() -> None:
    with Memory(_configured("tests.faces.test_language:Shouting")) as memory:
        answer = memory.add("I LIVE IN OSLO", user_id="alice")
        assert (answer["results"], answer["status"]) == ([], "ok")
        assert [one["memory"] for one in memory.search("Oslo", user_id="alice")["results"]] == ["I LIVE IN OSLO"]
