from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from memstone import AsyncMemory, Memory
from memstone.errors import Conflict, InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens

Line = dict[str, Any]


async def lived_in(face: Face, opens: Opens) -> None:
    """A store with versions, keys, scopes, expiry and a deletion."""
    one = await face.remember("one", metadata={"a": {"b": [1, 2.5, None, True]}}, key="k")
    two = await face.remember("two \u6771\u4eac", user_id="alice", agent_id="guide", run_id="r1")
    opens.clock.advance(days=1)
    await face.update(one, "one, changed", expires_at="2027-01-01")
    await face.remember("theirs", user_id="bob", kind="procedural", occurred_at="2020-01-01")
    await face.delete(two)


def second(opens: Opens, folder: Path) -> Opens:
    """Another, empty store of the same kind."""
    other = Opens(opens.kind, folder / "second.db" if opens.path else None)
    other._open = opens._open  # closed together
    return other


@pytest.mark.req("X-37", "C-56")
async def test_an_export_put_back_and_exported_again_is_the_same(face: Face, opens: Opens, tmp_path: Path) -> None:
    await lived_in(face, opens)
    lines = await face.export(everybody=True)

    copied = second(opens, tmp_path)()
    counts = await copied.load(json.loads(json.dumps(lines)))

    assert await copied.export(everybody=True) == lines
    assert [line["type"] for line in lines] == ["header"] + ["memory"] * 4 + ["event"] * 5 + ["suppressed"]
    assert counts == {"memories": 4, "events": 5, "deletions": 1, "waiting": 0, "already_there": 0}
    for scope in ({"user_id": "alice"}, {"user_id": "bob"}, {"agent_id": "guide"}):
        assert await copied.get_all(**scope) == await face.get_all(**scope)
        assert await copied.search("one theirs", **scope) == await face.search("one theirs", **scope)
    assert await copied.listed(as_of="2026-01-01T12:00:00Z") == await face.listed(as_of="2026-01-01T12:00:00Z")
    own, other = await face.stats(), await copied.stats()
    assert {name: own[name] for name in ("memories", "events", "fulltext", "vectors", "indexes")} == {
        name: other[name] for name in ("memories", "events", "fulltext", "vectors", "indexes")
    }


async def test_one_persons_export_holds_everything_of_theirs_and_nothing_else(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    await lived_in(face, opens)
    lines = await face.export(user_id="bob")

    assert [line["type"] for line in lines] == ["header", "memory", "event"]
    assert {line["user_id"] for line in lines if line["type"] == "event"} == {"bob"}
    copied = second(opens, tmp_path)()
    await copied.load(lines)
    assert await copied.export(everybody=True) == await copied.export(user_id="bob") == lines
    assert await copied.listed() == []


async def test_restoring_twice_changes_nothing(face: Face, opens: Opens) -> None:
    await lived_in(face, opens)
    lines = await face.export(everybody=True)

    counts = await face.load(lines)

    assert counts == {"memories": 0, "events": 0, "deletions": 0, "waiting": 0, "already_there": 10}
    assert await face.export(everybody=True) == lines


async def test_an_interrupted_restore_is_run_again(face: Face, opens: Opens, tmp_path: Path) -> None:
    await face.store_many([{"messages": f"fact {n}", "user_id": "alice"} for n in range(700)])
    lines = await face.export(everybody=True)
    copied = second(opens, tmp_path)()

    def torn() -> Any:
        yield from lines[:900]
        raise OSError("the pipe broke")

    with pytest.raises(OSError, match="pipe"):
        await copied.load(torn())
    assert await copied.listed(limit=1000) != []
    await copied.load(lines)
    assert await copied.export(everybody=True) == lines
    assert (await copied.stats())["vectors"] == 700


async def test_what_is_restored_is_known_again(face: Face, opens: Opens, tmp_path: Path) -> None:
    await lived_in(face, opens)
    copied = second(opens, tmp_path)()
    await copied.load(await face.export(everybody=True))

    (event,) = (await copied.store("THEIRS.", user_id="bob"))["results"]
    assert event["event"] == "NONE"
    (event,) = (await copied.store("one, again", user_id="alice", key="k"))["results"]
    assert (event["event"], event["old_memory"]) == ("UPDATE", "one, changed")


async def test_a_later_backup_brings_an_earlier_copy_up_to_date(face: Face, opens: Opens, tmp_path: Path) -> None:
    memory_id = await face.remember("first")
    early = await face.export(everybody=True)
    opens.clock.advance(days=1)
    await face.update(memory_id, "second")
    late = await face.export(everybody=True)
    copied = second(opens, tmp_path)()
    await copied.load(early)

    await copied.load(late)

    assert await copied.listed() == ["second"]
    assert await copied.found("first", strategy="text") == []
    assert [event["event"] for event in await copied.history(memory_id)] == ["ADD", "UPDATE"]
    await copied.load(early)
    assert await copied.listed() == ["second"], "an earlier backup takes nothing away"


async def test_what_contradicts_the_store_is_refused(face: Face, opens: Opens, tmp_path: Path) -> None:
    await face.remember("I live in Oslo")
    lines = await face.export(everybody=True)
    other = second(opens, tmp_path)()
    await other.remember("I live in Oslo")

    with pytest.raises(Conflict) as caught:
        await other.load(lines)
    assert caught.value.hint
    changed = copy.deepcopy(lines)
    changed[1]["text"] = "I live in Rome"
    with pytest.raises(Conflict, match="a different text"):
        await face.load(changed)
    assert await other.listed() == await face.listed() == ["I live in Oslo"]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [{}],
        [["header"]],
        ["header"],
        [{"format": "memstone-export", "version": 99}],
        [{"type": "header", "format": "somebody-elses", "version": 1}],
    ],
)
async def test_what_is_no_export_is_refused(face: Face, wrong: list[Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        await face.load(wrong)
    assert caught.value.hint


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line.pop("text"),
        lambda line: line.pop("type"),
        lambda line: line.update(type="picture"),
        lambda line: line.update(links=None),
        lambda line: line.update(links=[{"user_id": "x"}]),
        lambda line: line.update(links=[]),
        lambda line: line.update(kind="fact"),
        lambda line: line.update(text=7),
        lambda line: line.update(metadata=[1]),
    ],
)
async def test_a_damaged_line_is_refused_and_nothing_of_its_page_is_kept(
    face: Face, opens: Opens, tmp_path: Path, damage: Any
) -> None:
    await face.remember("one")
    await face.remember("two")
    lines = await face.export(everybody=True)
    damage(lines[2])
    other = second(opens, tmp_path)()

    with pytest.raises(InvalidInput):
        await other.load(lines)
    assert await other.listed() == []


async def test_without_its_model_a_restore_still_brings_everything_back(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    await face.remember("I live in Oslo")

    def down(texts: list[str]) -> Any:
        raise OSError("no route to host")

    other = second(opens, tmp_path)(embedder=down)
    await other.load(await face.export(everybody=True))
    answer = await other.search("Oslo", user_id="alice")
    assert answer["results"][0]["memory"] == "I live in Oslo"
    assert answer["degraded"]


@ON_DISK
async def test_an_export_of_one_face_is_read_by_the_other(face: Face, opens: Opens, tmp_path: Path) -> None:
    await lived_in(face, opens)
    lines = await face.export(everybody=True)
    if opens.kind == "memory":
        return  # the other way round is this test under the other face: a blocking memory can always be opened
    with Memory({"store": {"url": f"sqlite:///{tmp_path / 'third.db'}"}, "embedder": {"provider": "hash"}}) as m:
        m.load(lines)
        assert list(m.export(everybody=True)) == lines


# --- what is not a memory, and has to come along ----------------------------------------------------------------------

_CHAT = [{"role": "user", "content": "I like jazz. I live in Oslo. My sister Ada works at Nordlys."}]


@pytest.mark.req("X-37", "X-30")
async def test_what_was_deleted_before_an_export_does_not_come_back_in_the_copy(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    added = (await face.add(_CHAT, user_id="alice"))["results"]
    opens.clock.advance(minutes=1)
    await face.delete(next(one["id"] for one in added if "jazz" in one["memory"]))
    opens.clock.advance(minutes=1)
    copied = second(opens, tmp_path)()

    counts = await copied.load(await face.export(everybody=True))

    assert counts["deletions"] == 1
    thanks = {"role": "user", "content": "Thanks."}
    for one in (face, copied):
        await one.add([*_CHAT, thanks], user_id="alice")
        assert "jazz" not in str(await one.listed())


async def test_a_copy_knows_whom_and_what_memories_speak_of(face: Face, opens: Opens, tmp_path: Path) -> None:
    added = (await face.add([*_CHAT, "I met Hans in Bergen."], user_id="alice"))["results"]
    await face.delete(next(one["id"] for one in added if "Hans" in one["memory"]))
    copied = second(opens, tmp_path)()
    await copied.load(await face.export(everybody=True))

    def named(answer: Line) -> list[tuple[str, str]]:
        return sorted((one["name"], one["type"]) for one in answer["results"])

    assert ("Ada", "person") in named(await copied.graph.entities(user_id="alice"))
    assert named(await copied.graph.entities(user_id="alice")) == named(await face.graph.entities(user_id="alice"))
    stated = [
        [
            (one["source"], one["relation"], one["target"])
            for one in (await each.graph.relations(user_id="alice"))["results"]
        ]
        for each in (face, copied)
    ]
    assert sorted(map(str, stated[0])) == sorted(map(str, stated[1]))
    assert stated[0]


async def test_what_waits_to_become_memory_becomes_memory_in_the_copy(opens: Opens, tmp_path: Path) -> None:
    later = {"write": {"mode": "manual"}}
    face, copied = opens(later), second(opens, tmp_path)(later)
    await face.add("I live in Rome.", user_id="alice", run_id="r")
    lines = await face.export(everybody=True)

    assert (await copied.load(lines))["waiting"] == 1
    assert (await copied.load(lines))["waiting"] == 0
    assert await copied.export(everybody=True) == lines
    await copied.sessions.flush(everybody=True)

    assert await copied.listed() == ["User lives in Rome."]


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line.update(status="odd"),
        lambda line: line.pop("data"),
        lambda line: line["data"].pop("messages"),
        lambda line: line["data"].update(messages=["I live in Rome."]),
    ],
)
async def test_a_damaged_signal_is_refused(opens: Opens, tmp_path: Path, damage: Any) -> None:
    face = opens({"write": {"mode": "manual"}})
    await face.add("I live in Rome.", user_id="alice", run_id="r")
    lines = await face.export(everybody=True)
    damage(next(line for line in lines if line["type"] == "signal"))
    with pytest.raises(InvalidInput, match="damaged"):
        await second(opens, tmp_path)().load(lines)


@pytest.mark.req("P-19")
async def test_one_persons_export_tells_nothing_of_others_who_hold_the_same(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    memory_id = await face.remember("The plan is secret", user_id="alice")
    await face.sharing.share(memory_id, user_id="bob")
    await face.sharing.share(memory_id, user_id="carol")
    opens.clock.advance(minutes=1)
    own = await face.remember("The plan is old", user_id="alice")
    await face.sharing.share(own, user_id="bob")
    await face.sharing.unshare(own, user_id="alice")

    lines = await face.export(user_id="bob")

    assert {line["text"] for line in lines if line["type"] == "memory"} == {"The plan is secret", "The plan is old"}
    assert "carol" not in json.dumps(lines)
    assert "alice" not in json.dumps(lines)
    assert {line["user_id"] for line in lines if line["type"] == "event"} == {"bob"}
    copied = second(opens, tmp_path)()
    await copied.load(lines)
    assert sorted(await copied.listed(user_id="bob")) == ["The plan is old", "The plan is secret"]


async def test_a_deletion_is_kept_though_another_memory_says_the_same(face: Face, opens: Opens, tmp_path: Path) -> None:
    first = await face.remember("I like tea")
    await face.update(first, "I like coffee")
    await face.remember("I like tea")
    await face.delete(first)
    lines = await face.export(everybody=True)
    copied = second(opens, tmp_path)()

    assert (await copied.load(lines))["deletions"] == 2
    assert await copied.export(everybody=True) == lines
    (tmp_path / "elsewhere").mkdir()
    elsewhere = second(opens, tmp_path / "elsewhere")()
    await elsewhere.remember("I like coffee")
    assert (await elsewhere.load([lines[0], *lines[-2:]]))["deletions"] == 1, "the other was said there since"


async def test_what_somebody_gave_up_of_what_others_hold_stays_given_up(
    face: Face, opens: Opens, tmp_path: Path
) -> None:
    memory_id = await face.remember("We meet on Mondays", user_id="alice")
    await face.sharing.share(memory_id, user_id="bob")
    await face.sharing.unshare(memory_id, user_id="bob")

    lines = await face.export(user_id="bob")

    assert [line["type"] for line in lines] == ["header", "suppressed"]
    assert (await second(opens, tmp_path)().load(lines))["deletions"] == 1


async def test_an_export_is_put_back_as_it_comes(face: Face, opens: Opens) -> None:
    for text in ("one", "two"):
        await face.remember(text)
    other = Memory if opens.kind == "memory" else AsyncMemory
    target = Face(other({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}))

    counts = await target.load(face.memory.export(everybody=True))

    assert counts["memories"] == 2
    assert await target.listed() == ["two", "one"]
    with pytest.raises(InvalidInput, match="lines of an export"):
        await target.load(7)
    await target.close()
