"""Exports that somebody edited, or that another program wrote: restoring gives what Memstone would have written."""

from __future__ import annotations

import copy
import hashlib
import math
from pathlib import Path
from typing import Any

import pytest

from memstone.errors import InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens

Lines = list[dict[str, Any]]


def edited(lines: Lines, kind: str = "memory", **changes: Any) -> Lines:
    """A copy of an export in which the lines of one kind say something else."""
    return [{**line, **changes} if line["type"] == kind else line for line in copy.deepcopy(lines)]


def second(opens: Opens, folder: Path) -> Face:
    """Another, empty store of the same kind."""
    other = Opens(opens.kind, folder / "second.db" if opens.path else None)
    other._open, other.clock = opens._open, opens.clock
    return other()


async def exported(face: Face) -> Lines:
    await face.remember("User lives in Oslo", expires_at="2027-01-01")
    return await face.export(everybody=True)


@pytest.mark.req("X-37")
async def test_a_time_with_an_offset_is_the_time_it_means(face: Face, opens: Opens, tmp_path: Path) -> None:
    lines = edited(await exported(face), expires_at="2026-11-15T23:30:00-05:00", occurred_at="2025-06-01")
    copied = second(opens, tmp_path)

    await copied.load(lines)

    (found,) = (await copied.get_all(user_id="alice"))["results"]
    assert found["expires_at"] == "2026-11-16T04:30:00.000000Z"
    assert found["occurred_at"] == "2025-06-01T00:00:00.000000Z"


@pytest.mark.req("X-37")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"metadata": {"a": math.nan}}, "metadata.a is nan"),
        ({"metadata": {"a": {"b": [math.inf]}}}, "metadata.a.b is inf"),
        ({"metadata": {"a": {1, 2}}}, "metadata is not JSON"),
        ({"data": {"a": math.nan}}, "data is not JSON"),
        ({"trust": 7}, "trust must be from 0 to 1, not 7"),
        ({"trust": math.nan}, "trust must be"),
        ({"trust": True}, "trust"),
        ({"salience": -0.5}, "salience must be"),
        ({"version": 0}, "version must be from 1"),
        ({"version": 1 << 70}, "version must be from 1"),
        ({"tokens": -1}, "tokens must be"),
        ({"occurred_at": "bogus"}, "occurred_at is not a date"),
        ({"created_at": ""}, "created_at is empty"),
        ({"origin": "nobody"}, "origin"),
        ({"source": "rumour"}, "source"),
    ],
)
async def test_what_cannot_be_is_refused_by_its_line(
    face: Face, opens: Opens, tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    lines = await exported(face)
    copied = second(opens, tmp_path)

    with pytest.raises(InvalidInput) as caught:
        await copied.load(edited(lines, **changes))

    assert caught.value.message.startswith("line 2: ")
    assert named in caught.value.message
    assert await copied.listed() == []


@pytest.mark.req("X-37")
async def test_links_events_and_what_waits_are_looked_at_too(face: Face, opens: Opens, tmp_path: Path) -> None:
    lines = await exported(face)
    copied = second(opens, tmp_path)
    links = [{**link, "origin": "stolen"} for link in lines[1]["links"]]

    for wrong, line in (
        (edited(lines, links=links), 2),
        (edited(lines, links=[{**lines[1]["links"][0], "use_count": -1}]), 2),
        (edited(lines, "event", event="DREAM"), 3),
        (edited(lines, "event", created_at="then"), 3),
    ):
        with pytest.raises(InvalidInput, match=f"^line {line}: "):
            await copied.load(wrong)


@pytest.mark.req("X-37", "C-2")
async def test_an_edited_text_is_known_by_what_it_says_now(face: Face, opens: Opens, tmp_path: Path) -> None:
    copied = second(opens, tmp_path)

    await copied.load(edited(await exported(face), text="User lives in Rome"))

    (found,) = (await copied.get_all(user_id="alice"))["results"]
    assert found["hash"] == hashlib.md5(b"User lives in Rome", usedforsecurity=False).hexdigest()
    (again,) = (await copied.store("User lives in Rome", user_id="alice"))["results"]
    (old,) = (await copied.store("User lives in Oslo", user_id="alice"))["results"]
    assert (again["event"], old["event"]) == ("NONE", "ADD")


@pytest.mark.req("X-37", "C-2")
async def test_an_edited_turn_is_the_one_that_was_said_so(face: Face, opens: Opens, tmp_path: Path) -> None:
    await face.add("What a day!", user_id="alice")
    copied = second(opens, tmp_path)

    await copied.load(edited(await face.export(everybody=True), text="What a night!"))
    await copied.add("What a night!", user_id="alice")

    assert await copied.listed(layers=["turn"]) == ["What a night!"]


@pytest.mark.req("X-37", "C-55")
async def test_times_in_what_waits_are_read_as_well(opens: Opens, tmp_path: Path) -> None:
    def broken(_: list[str]) -> Any:
        raise ConnectionError("no route to host")

    face = opens(embedder=broken)
    await face.store("the code is 4711", user_id="alice", expires_at="2027-01-01")
    await face.add("I live in Rome.", user_id="alice", expires_at="2027-01-01")
    lines = await face.export(everybody=True)
    copied = second(opens, tmp_path)
    waiting = [line for line in lines if line["type"] == "signal"]
    for line in waiting:
        line["data"]["expires_at"] = "2027-01-01T02:00:00+02:00"

    await copied.load(lines)
    await copied.sessions.flush(everybody=True)

    expiry = {one["expires_at"] for one in (await copied.get_all(user_id="alice"))["results"]}
    assert (len(waiting), expiry) == (2, {"2027-01-01T00:00:00.000000Z"})
    waiting[0]["data"]["expires_at"] = "never"
    with pytest.raises(InvalidInput, match="expires_at is not a date"):
        await second(opens, tmp_path / "third").load(lines)


@pytest.mark.req("X-37", "C-55")
async def test_what_waits_comes_back_byte_for_byte(opens: Opens, tmp_path: Path) -> None:
    def broken(_: list[str]) -> Any:
        raise ConnectionError("no route to host")

    face = opens(embedder=broken, llm=broken)
    await face.store("the code is 4711", user_id="alice", key="code", metadata={"a": [1, 2.5, None]})
    await face.add(["I live in Rome.", "I have two cats."], user_id="alice", expires_at="2027-01-01", prompt="cats")
    lines = await face.export(everybody=True)
    copied = second(opens, tmp_path)

    await copied.load(lines)

    assert str(await copied.export(everybody=True)) == str(lines)


@ON_DISK
@pytest.mark.req("X-37")
async def test_a_store_whose_deleted_words_were_swept_takes_its_own_export_again(face: Face, opens: Opens) -> None:
    gone = await face.remember("User lives in Oslo")
    await face.delete(gone)
    with opens.sql() as store:
        store.execute("UPDATE memories SET text = '', hash = '', tokens = 0 WHERE id = ?", (gone,))
        store.commit()
    lines = await face.export(everybody=True)

    await face.load(lines)

    assert await face.export(everybody=True) == lines
