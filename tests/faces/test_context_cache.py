"""The same question within seconds, and a store that cannot keep a receipt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from memstone.errors import StorageReadOnly
from memstone.ports.ledger import Ledger
from tests.faces.context_steps import keep, lines, parts_of, shown
from tests.faces.harness import ON_DISK, Face, Opens

LONG = "a question that goes on " * 8


@pytest.mark.req("S-33")
async def test_a_block_is_kept_for_ten_seconds(face: Face, opens: Opens) -> None:
    await face.remember("I live in Lisbon")
    first = await shown(face, "Where do I live?")
    opens.clock.advance(seconds=9)
    assert await shown(face, "Where do I live?") is first
    opens.clock.advance(seconds=1)
    assert (await shown(face, "Where do I live?")).receipt_id != first.receipt_id


@pytest.mark.req("S-33", "R-17")
async def test_the_whole_question_counts_and_everything_else_that_was_asked(face: Face, opens: Opens) -> None:
    await face.remember("I live in Lisbon")
    parts = await parts_of(face)
    packs = [
        await shown(face, LONG),
        await shown(face, f"{LONG}!"),
        await shown(face, LONG, budget=799),
        await shown(face, LONG, gate="heuristic"),
        await shown(face, LONG, route="pinned"),
        await shown(face, LONG, user_id="bob"),
        await shown(face, LONG, user_id="alice", run_id="monday"),
        await shown(await parts_of(face, limit=99), LONG),
        await shown(replace(parts, policy=replace(parts.policy, graph_llm=True)), LONG),
    ]
    assert len({pack.receipt_id for pack in packs}) == len(packs)


@pytest.mark.req("S-33")
async def test_a_write_is_seen_at_once(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("I live in Lisbon")
    assert len(lines(await shown(face, "Where do I live?"))) == 1
    await face.remember("I live near the river")
    assert len(lines(await shown(face, "Where do I live?"))) == 2
    await face.update(memory_id, text="I live in Porto")
    assert any("Porto" in line for line in lines(await shown(face, "Where do I live?")))
    await face.delete(memory_id)
    assert len(lines(await shown(face, "Where do I live?"))) == 1
    await keep(face, "Answer in French.")
    assert "French" in (await shown(face, "Where do I live?")).stable


@ON_DISK
@pytest.mark.req("S-33")
async def test_a_write_of_somebody_else_is_seen_at_once(face: Face, opens: Opens) -> None:
    other = opens()
    memory_id = await face.remember("I live in Lisbon")
    assert lines(await shown(face, "Where do I live?"))
    await other.delete(memory_id)
    assert (await shown(face, "Where do I live?")).empty


@pytest.mark.req("S-33")
async def test_a_write_for_everybody_is_seen_at_once(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("The office is in Lisbon", user_id="*")
    assert lines(await shown(face, "Where is the office?")) == ["- [2026-01-01] The office is in Lisbon"]
    await face.delete(memory_id)
    assert (await shown(face, "Where is the office?")).empty


@pytest.mark.req("S-33", "O-45")
async def test_what_expires_is_not_shown_from_the_cache(face: Face, opens: Opens) -> None:
    await face.remember("I live in Lisbon", expires_at=opens.clock.now() + timedelta(seconds=3))
    assert lines(await shown(face, "Where do I live?"))
    opens.clock.advance(seconds=3)
    assert (await shown(face, "Where do I live?")).empty


async def test_a_new_day_is_a_new_block(face: Face, opens: Opens) -> None:
    await face.remember("I live in Lisbon")
    opens.clock.advance(hours=23, minutes=59, seconds=59)
    assert "2026-01-01 (Thursday)" in (await shown(face, "Where do I live?")).text
    opens.clock.advance(seconds=1)
    assert "2026-01-02 (Friday)" in (await shown(face, "Where do I live?")).text


async def test_without_a_user_nothing_is_kept(face: Face, opens: Opens) -> None:
    await face.remember("The office is in Lisbon", agent_id="helper")
    first = await shown(face, "Where is the office?", agent_id="helper")
    assert lines(first)
    assert (await shown(face, "Where is the office?", agent_id="helper")).receipt_id != first.receipt_id


@dataclass
class ReadOnly:
    """A ledger that may be read."""

    real: Ledger

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    async def write(self, _: Any) -> Any:
        """Refuse."""
        raise StorageReadOnly("the store may not be written")

    note = write


async def test_a_store_that_cannot_be_written_still_answers(face: Face, opens: Opens) -> None:
    await face.remember("I live in Lisbon")
    runtime = await parts_of(face)
    pack = await shown(replace(runtime, ledger=ReadOnly(runtime.ledger)), "Where do I live?")
    assert "Lisbon" in pack.text
    assert pack.receipt_id == ""
    assert [one["step"] for one in pack.degraded] == ["receipt"]
