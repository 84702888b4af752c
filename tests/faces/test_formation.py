"""Memory that forms later: what a call keeps, what it does not do, and what is counted."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from memstone.errors import InvalidInput, StorageError
from memstone.testing.llm import ScriptedLlm
from tests.faces.formation_steps import LONG, SESSION, later, outcomes
from tests.faces.harness import ON_DISK, Face, Opens
from tests.faces.infer_steps import said_in

_CHAT = [{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "A fine city!"}]


@pytest.mark.req("S-11", "X-8")
@pytest.mark.parametrize("mode", ["session_end", "manual"])
async def test_a_call_keeps_the_words_and_asks_no_model(opens: Opens, mode: str) -> None:
    llm, embedded = ScriptedLlm([]), list[str]()

    def embedder(texts: list[str]) -> Any:
        embedded.extend(texts)
        return np.ones((len(texts), 4))

    face = opens(later(mode), llm=llm, embedder=embedder)
    embedded.clear()  # it was asked for its dimension

    answer = await face.add(_CHAT, **SESSION)

    assert answer == {"results": [], "status": "queued", "queued": 2}
    assert (llm.prompts, embedded) == ([], [])
    assert await said_in(face) == ["A fine city!", "I live in Oslo."]
    assert (await face.found("Oslo", layers=["turn"]))[0] == "I live in Oslo.", "it is found by its words at once"
    assert await face.listed() == []


@pytest.mark.req("S-11", "X-8", "P-12", "P-1")
async def test_nobody_waits_for_a_model_that_takes_its_time(opens: Opens) -> None:
    answers = threading.Event()

    def slow(messages: list[dict[str, str]]) -> str:
        assert answers.wait(120)
        assert "New turns:" in messages[1]["content"]
        return '{"facts": [{"text": "User lives in Oslo.", "turn": 1, "quote": "live in Oslo"}]}'

    face = opens(later("background"), llm=slow)

    answer = await face.add("I live in Oslo.", user_id="alice")

    assert answer["status"] == "queued"
    assert await face.listed() == []
    answers.set()
    await face.sessions.flush(everybody=True)
    assert await face.listed() == ["User lives in Oslo."]
    assert await face.found("Where does she live? Oslo?") == ["User lives in Oslo."], "and is used from then on"


@pytest.mark.req("P-1", "P-12", "N-22", "O-28")
async def test_facts_form_in_the_background_without_anybody_asking(opens: Opens, face_io: Any) -> None:
    face = opens(later("background"))
    await face.add("I live in Oslo.", user_id="alice")
    for _ in range(5_000):  # a minute and more
        if await face.listed():
            break
        await face_io(face)
    assert await face.listed() == ["User lives in Oslo."]
    assert (await face.stats())["pending"] == 0
    assert await outcomes(face) == ["distilled"]


@pytest.fixture
def face_io() -> Any:
    async def moment(face: Face) -> None:
        await face.memory.engine.runtime.io.sleep(0.02)

    return moment


@ON_DISK
@pytest.mark.req("S-56", "S-11", "X-8")
async def test_one_call_is_one_row_of_the_inbox_in_the_transaction_of_its_turns(opens: Opens) -> None:
    face = opens(later("manual"))
    await face.add([*_CHAT, {"role": "user", "content": "My key is sk-proj-abcdefghijklmnopqrstuvwx1234"}], **SESSION)

    columns = "user_id, agent_id, run_id, user_text, assistant_text, status, attempts, due_at, data"
    ((*row, data),) = opens.rows(f"SELECT {columns} FROM signals")  # noqa: S608 - our own names
    assert row == ["alice", "guide", "monday", "I live in Oslo.", "A fine city!", "pending", 0, None]
    assert "sk-proj-abcdefghijklmnop" not in data, "secrets are masked before anything is stored"
    with opens.sql() as database:
        database.execute("ALTER TABLE signals RENAME TO gone")
    with pytest.raises(StorageError):
        await face.add("I love tea.", **SESSION)
    assert "I love tea." not in await said_in(face), "no words without the row that brings them into memory"


@pytest.mark.req("S-11")
async def test_an_application_that_sends_the_whole_chat_again_queues_what_is_new(opens: Opens) -> None:
    face = opens(later("manual"))
    first = await face.add(_CHAT, **SESSION)
    again = await face.add(_CHAT, **SESSION)
    more = await face.add([*_CHAT, {"role": "user", "content": "And I love tea."}], **SESSION)

    assert (first["queued"], again, more["queued"]) == (2, {"results": [], "status": "ok"}, 1)
    assert await face.sessions.flush(everybody=True) == {"stored": 2, "waiting": 0}
    assert sorted(await face.listed()) == ["User lives in Oslo.", "User loves tea."]


@pytest.mark.req("S-12")
async def test_blank_and_unwanted_words_are_not_kept_but_counted(opens: Opens) -> None:
    face = opens(later("manual"))
    await face.add("I live in Oslo.", user_id="alice")
    opens.clock.advance(minutes=1)
    for blank in ("   ", [{"role": "user", "content": "\n"}]):
        with pytest.raises(InvalidInput):
            await face.add(blank, user_id="alice")
    opens.clock.advance(minutes=1)
    await face.add([{"role": "system", "content": "Be kind."}], user_id="alice")

    counted = (await face.stats())["formation"]
    assert counted["attempts"] == 4
    assert (counted["insert_successes"], counted["insert_failures"]) == (1, 0)
    assert (counted["early_returns_empty_message"], counted["early_returns_disabled"]) == (3, 0)
    assert counted["last_success_at"].startswith("2026-01-01T00:00")
    assert counted["last_attempt_at"].startswith("2026-01-01T00:02")
    assert counted["last_error"] is None
    assert (await face.stats())["pending"] == 1


@ON_DISK
@pytest.mark.req("S-12", "R-16")
async def test_a_write_that_fails_is_raised_and_counted(opens: Opens) -> None:
    face = opens(later("manual"))
    await face.stats()
    with opens.sql() as database:
        database.execute("ALTER TABLE signals RENAME TO gone")
    with pytest.raises(StorageError):
        await face.add("I live in Oslo.", user_id="alice")
    with opens.sql() as database:
        database.execute("ALTER TABLE gone RENAME TO signals")
    counted = (await face.stats())["formation"]
    assert (counted["attempts"], counted["insert_failures"]) == (1, 1)
    assert "signals" in counted["last_error"]
    assert await said_in(face) == []


@pytest.mark.req("S-12", "D-8")
@pytest.mark.parametrize("off", [{"enabled": False}, {"learns": False}])
async def test_what_is_switched_off_keeps_nothing_and_says_so(opens: Opens, off: dict[str, bool]) -> None:
    face = opens({**later("background"), "policy": off})
    answer = await face.add(LONG, **SESSION)
    assert (answer["results"], answer["status"]) == ([], "disabled")
    assert answer["reason"]
    stats = await face.stats()
    assert (stats["turns"], stats["pending"]) == (0, 0)
    assert (stats["formation"]["attempts"], stats["formation"]["early_returns_disabled"]) == (1, 1)


@ON_DISK
@pytest.mark.req("D-8")
async def test_learning_and_showing_have_a_switch_each(opens: Opens) -> None:
    learns = opens({"policy": {"shows": False}})
    assert (await learns.add("I live in Oslo.", user_id="alice"))["status"] == "ok"
    assert (await learns.context("Where do I live?", user_id="alice")).text == ""
    shows = opens({"policy": {"learns": False}})
    assert (await shows.add("I love tea.", user_id="alice"))["status"] == "disabled"
    assert "Oslo" in (await shows.context("Where do I live?", user_id="alice")).text
    assert await shows.listed() == ["User lives in Oslo."]


@pytest.mark.req("X-8")
async def test_inside_the_call_is_one_of_the_modes(opens: Opens) -> None:
    face = opens(later("inline"))
    answer = await face.add("I live in Oslo.", user_id="alice")
    assert [one["memory"] for one in answer["results"]] == ["User lives in Oslo."]
    assert (await face.stats())["pending"] == 0


@pytest.mark.req("S-11")
async def test_turns_get_their_vectors_when_memory_is_formed(opens: Opens) -> None:
    face = opens(later("manual"))
    await face.add("I live in Oslo.", user_id="alice")
    assert (await face.stats())["vectors"] == 0
    await face.sessions.flush(everybody=True)
    stats = await face.stats()
    assert stats["vectors"] == stats["memories"] == 2
    assert await face.found("I live in Oslo", layers=["turn"], strategy="vector") == ["I live in Oslo."]


@pytest.mark.req("X-8", "R-16")
async def test_words_that_are_not_to_be_kept_leave_the_inbox_too(opens: Opens) -> None:
    face = opens(later("manual"))
    await face.add("I live in Oslo.", user_id="alice", keep_turns=False)
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert await face.listed() == ["User lives in Oslo."]
    assert await said_in(face) == []
    assert (await face.stats())["pending"] == 0
