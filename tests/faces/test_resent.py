"""An application that sends the whole conversation again repeats nothing, whatever was done to what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import pytest

from tests.faces.harness import Face, Opens, ids
from tests.faces.infer_steps import told, turns

Act: TypeAlias = Callable[[Face], Awaitable[Any]]
RUN: Final = {"run_id": "r"}
MOVED: Final = ["I live in Oslo.", "I moved to Bergen."]


def chat(*text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": one} for one in text]


async def nothing(face: Face) -> None:
    """Leave it as it is."""


async def delete(face: Face) -> None:
    for one in ids(await face.get_all(user_id="alice")):
        await face.delete(one)


async def delete_all(face: Face) -> None:
    await face.delete_all(user_id="alice")


async def edit(face: Face) -> None:
    await face.update(ids(await face.get_all(user_id="alice"))[0], "User lives in Trondheim.")


async def undo(face: Face) -> None:
    (one,) = ids(await face.get_all(user_id="alice"))
    await face.undo((await face.history(one))[-1]["id"])


async def merge_and_delete(face: Face) -> None:
    assert (await face.admin.consolidate(user_id="alice"))["merged"] == 1
    await delete(face)


CASES: Final[list[tuple[list[str], Act]]] = [
    (MOVED, nothing),
    (MOVED, delete),
    (MOVED, delete_all),
    (MOVED, edit),
    (MOVED, undo),
    (["I drive a Toyota.", "I sold my Toyota.", "I bought a Tesla."], nothing),
    (["I have a car.", "I no longer have a car."], nothing),
    (["I love tea.", "I hate tea."], delete),
    (["I love tea.", "Forget that I love tea."], nothing),
    (["I like green tea very much in the morning.", "I like green tea very much in the mornings."], delete),
]


@pytest.mark.req("R-31", "P-14")
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(("said", "act"), CASES)
async def test_a_conversation_that_is_sent_again_changes_nothing(
    opens: Opens, said: list[str], act: Act, *, at_once: bool
) -> None:
    face = opens()
    for so_far in [len(said)] if at_once else range(1, len(said) + 1):
        await told(face, chat(*said[:so_far]), opens, **RUN)
    await act(face)
    before = await face.listed()

    for more in ([], ["Thanks."], ["Thanks.", "Bye."]):
        events = await told(face, chat(*said, *more), opens, **RUN)
        assert {event for event, _ in events} <= {"NONE"}, events
        assert await face.listed() == before


@pytest.mark.req("R-31")
async def test_what_became_part_of_another_memory_goes_with_it(opens: Opens) -> None:
    every_run = {"within": ["user_id", "agent_id", "run_id"]}
    face = opens({"upkeep": {"merge_facts": 0.6}, "reconcile": every_run})
    texts = ["I like long walks on the beach with my dog Rex.", "I like long walks on the beach with my dog."]
    await told(face, chat(texts[0]), opens, run_id="a")
    await told(face, chat(texts[1]), opens, run_id="b")
    assert len(await face.listed()) == 2
    await merge_and_delete(face)

    await told(face, chat(texts[0], "Thanks."), opens, run_id="a")
    await told(face, chat(texts[1], "Thanks."), opens, run_id="b")

    assert await face.listed() == []


@pytest.mark.req("P-21", "D-13")
@pytest.mark.parametrize("keep_turns", [True, False])
@pytest.mark.parametrize("answered", [False, True])
async def test_whoever_changes_their_mind_again_and_again_is_believed(
    opens: Opens, *, keep_turns: bool, answered: bool
) -> None:
    face = opens()
    for number, place in enumerate(("Oslo", "Bergen", "Oslo", "Bergen")):
        reply = [{"role": "assistant", "content": f"Noted, {number}."}] if answered else []
        await told(face, [*chat(f"I live in {place}."), *reply], opens, keep_turns=keep_turns, **RUN)
        assert await face.listed() == [f"User lives in {place}."]


@pytest.mark.req("X-30")
@pytest.mark.parametrize("act", [delete, delete_all])
async def test_what_was_deleted_and_is_said_anew_is_known_again(opens: Opens, act: Act) -> None:
    face = opens()
    await told(face, chat(*MOVED), opens, **RUN)
    await act(face)
    await told(face, chat(*MOVED, "Hello."), opens, **RUN)
    assert await face.listed() == []

    await told(face, chat(*MOVED, "Hello.", "I live in Oslo."), opens, **RUN)

    assert await face.listed() == ["User lives in Oslo."]


async def test_turns_that_were_deleted_are_not_stored_again_with_the_old_words(opens: Opens) -> None:
    face = opens()
    await told(face, chat(*MOVED), opens, **RUN)
    await face.delete_all(user_id="alice")

    await told(face, chat(*MOVED, "Hello."), opens, **RUN)

    assert [turn["memory"] for turn in await turns(face)] == ["Hello."]


async def test_a_change_by_hand_counts_from_when_it_was_made(opens: Opens) -> None:
    face = opens()
    await told(face, "I live in Oslo.", opens)
    opens.clock.advance(days=2)
    await edit(face)

    await told(face, "I moved to Bergen.", opens, occurred_at="2026-01-02")
    assert await face.listed() == ["User lives in Trondheim."], "it was said before the change"
    await told(face, "I moved to Bergen.", opens)
    assert await face.listed() == ["User moved to Bergen."]


async def test_an_undone_deletion_is_forgotten_under_all_names(opens: Opens) -> None:
    face = opens()
    await told(face, chat(*MOVED), opens, **RUN)
    (one,) = ids(await face.get_all(user_id="alice"))
    await face.delete(one)
    assert {line["memory_id"] for line in await face.export(everybody=True) if line["type"] == "suppressed"} == {one}

    await face.undo((await face.history(one))[-1]["id"])

    assert [line for line in await face.export(everybody=True) if line["type"] == "suppressed"] == []


async def test_what_was_left_out_is_said(opens: Opens) -> None:
    face = opens()
    await told(face, chat("I live in Oslo."), opens, **RUN)
    await delete(face)

    answer = await face.add(chat("I live in Oslo.", "Thanks."), user_id="alice", **RUN)

    assert (answer["results"], answer["left_out"]) == ([], 1)


@pytest.mark.req("R-31")
async def test_a_queued_conversation_that_is_sent_again_after_everything_was_deleted_is_not_learned(
    opens: Opens,
) -> None:
    face = opens({"write": {"mode": "manual"}})
    await face.add(chat(*MOVED), user_id="alice", **RUN)
    await face.sessions.flush(everybody=True)
    assert await face.listed() == ["User moved to Bergen."]
    opens.clock.advance(minutes=1)
    await face.delete_all(user_id="alice")
    opens.clock.advance(minutes=1)

    await face.add(chat(*MOVED, "Hello."), user_id="alice", **RUN)
    await face.sessions.flush(everybody=True)

    assert await face.listed() == []
