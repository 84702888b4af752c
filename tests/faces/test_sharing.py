"""Several hold one memory: what one of them does, the others do not notice."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import Conflict, NotFoundError, ScopeError
from memstone.errors import InvalidInput
from tests.faces.harness import ON_DISK, Face, Opens
from tests.faces.infer_steps import told

OSLO = "User lives in Oslo."


async def shared(face: Face, text: str = "The office is in Lisbon", **with_: Any) -> str:
    """A memory of alice that bob (or whoever is named) holds as well."""
    memory_id = await face.remember(text)
    answer = await face.sharing.share(memory_id, **(with_ or {"user_id": "bob"}))
    assert (answer["event"], answer["id"]) == ("LINK", memory_id)
    return memory_id


@pytest.mark.req("P-3", "X-10")
async def test_several_users_hold_one_memory_and_find_it_in_every_way(face: Face) -> None:
    memory_id = await shared(face)

    for user in ("alice", "bob"):
        assert await face.listed(user_id=user) == ["The office is in Lisbon"]
        for strategy in ("text", "vector", "hybrid", "exact", "recent"):
            found = await face.search("office in Lisbon", user_id=user, strategy=strategy)
            assert [(one["id"], one["user_id"]) for one in found["results"]] == [(memory_id, user)], strategy
    assert await face.listed(user_id="carol") == []
    assert (await face.stats())["memories"] == 1
    assert [event["event"] for event in await face.history(memory_id)] == ["ADD", "LINK"]


@pytest.mark.req("P-3")
async def test_sharing_twice_changes_nothing(face: Face) -> None:
    memory_id = await shared(face)
    again = await face.sharing.share(memory_id, user_id="bob")
    assert (again["event"], again["reason"]) == ("NONE", "already shared")

    own = await face.remember("The office is in Lisbon", user_id="carol")
    known = await face.sharing.share(memory_id, user_id="carol")
    assert (known["event"], known["id"]) == ("NONE", own)
    assert await face.listed(user_id="carol") == ["The office is in Lisbon"]


@pytest.mark.req("P-3")
async def test_what_is_shared_is_not_learned_again(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    await face.sharing.share(fact["id"], user_id="bob")
    assert await told(face, "I live in Oslo", opens, user_id="bob") == [("NONE", OSLO)]
    assert await face.listed(user_id="alice") == await face.listed(user_id="bob") == [OSLO]


@pytest.mark.req("P-3")
@pytest.mark.parametrize("given", [{"agent_id": "guide"}, {"run_id": "r1"}, {"user_id": "*"}])
async def test_an_agent_a_run_or_everybody_may_hold_it(face: Face, given: dict[str, str]) -> None:
    await shared(face, **given)
    assert await face.listed(**given) == ["The office is in Lisbon"]
    assert await face.found("Lisbon", strategy="text", **given) == ["The office is in Lisbon"]


async def test_what_cannot_be_shared_is_said(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo")
    with pytest.raises(NotFoundError):
        await face.sharing.share("00000000-0000-4000-8000-000000000000", user_id="bob")
    with pytest.raises(ScopeError):
        await face.sharing.share(memory_id)
    with pytest.raises(InvalidInput):
        await face.sharing.share("  ", user_id="bob")
    with pytest.raises(NotFoundError):
        await face.sharing.unshare(memory_id, user_id="bob")
    with pytest.raises(NotFoundError):
        await face.sharing.replace(memory_id, "I live in Rome", user_id="bob")
    with pytest.raises(ScopeError):
        await face.sharing.replace(memory_id, "I live in Rome")
    assert [event["event"] for event in await face.history(memory_id)] == ["ADD"]


@pytest.mark.req("P-16", "P-4", "D-16", "X-10")
async def test_a_replacement_for_one_user_leaves_the_others_alone(face: Face, opens: Opens) -> None:
    old_id = await shared(face)
    opens.clock.advance(days=1)
    changed = await face.sharing.replace(old_id, "The office is in Porto", user_id="alice", reason="we moved")

    assert (changed["event"], changed["old_id"]) == ("REPLACE", old_id)
    assert changed["id"] != old_id
    assert await face.listed(user_id="alice") == ["The office is in Porto"]
    assert await face.listed(user_id="bob") == ["The office is in Lisbon"]
    for strategy in ("text", "vector"):
        assert await face.found("office", user_id="alice", strategy=strategy) == ["The office is in Porto"]
        assert await face.found("office", user_id="bob", strategy=strategy) == ["The office is in Lisbon"]

    (audit,) = (await face.review.replacements(user_id="alice"))["results"]
    assert (audit["event"], audit["old_id"], audit["new_id"]) == ("REPLACE", old_id, changed["id"])
    assert (audit["old_memory"], audit["new_memory"]) == ("The office is in Lisbon", "The office is in Porto")
    assert (audit["reason"], audit["user_id"]) == ("we moved", "alice")
    assert (await face.review.replacements(user_id="bob"))["results"] == []


@pytest.mark.req("X-10")
async def test_who_holds_it_alone_gets_the_next_version(face: Face) -> None:
    memory_id = await face.remember("The office is in Lisbon")
    changed = await face.sharing.replace(memory_id, "The office is in Porto", user_id="alice", reason="we moved")
    assert (changed["id"], changed["event"], changed["version"]) == (memory_id, "UPDATE", 2)
    (audit,) = (await face.review.replacements(user_id="alice"))["results"]
    assert (audit["old_id"], audit["new_id"], audit["reason"]) == (memory_id, memory_id, "we moved")


@pytest.mark.req("X-10")
async def test_a_split_memory_keeps_its_past_and_can_be_deleted_with_it(face: Face, opens: Opens) -> None:
    memory_id = await face.remember("The office is in Rome")
    opens.clock.advance(days=1)
    await face.update(memory_id, "The office is in Lisbon")
    await face.sharing.share(memory_id, user_id="bob")
    opens.clock.advance(days=1)
    changed = await face.sharing.replace(memory_id, "The office is in Porto", user_id="alice")

    for day, text in (("01T12", "Rome"), ("02T12", "Lisbon"), ("03T12", "Porto")):
        assert await face.listed(as_of=f"2026-01-{day}:00:00Z") == [f"The office is in {text}"]
    assert await face.listed(user_id="bob", as_of="2026-01-03T12:00:00Z") == ["The office is in Lisbon"]

    await face.delete(changed["id"])
    for day in ("01T12", "02T12", "03T12"):
        assert await face.listed(as_of=f"2026-01-{day}:00:00Z") == []
    assert await face.listed(user_id="bob") == ["The office is in Lisbon"]


@pytest.mark.req("P-16", "X-10")
async def test_what_is_learned_from_one_user_changes_nothing_for_another(face: Face, opens: Opens) -> None:
    await told(face, "I live in Oslo", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    await face.sharing.share(fact["id"], user_id="bob")

    opens.clock.advance(minutes=1)
    (result,) = (await face.add("I moved to Bergen", user_id="alice"))["results"]
    assert (result["event"], result["old_id"], result["old_memory"]) == ("REPLACE", fact["id"], OSLO)
    assert await face.listed(user_id="alice") == ["User moved to Bergen."]
    assert await face.listed(user_id="bob") == [OSLO]
    (audit,) = (await face.review.replacements(user_id="alice"))["results"]
    assert (audit["old_id"], audit["new_id"], audit["reason"]) == (fact["id"], result["id"], result["reason"])
    assert audit["reason"]

    # And the other way round: bob is alone with the old one now, so it is simply his next version.
    (other,) = (await face.add("I moved to Rome", user_id="bob"))["results"]
    assert (other["event"], other["id"]) == ("UPDATE", fact["id"])
    assert await face.listed(user_id="alice") == ["User moved to Bergen."]


@pytest.mark.req("P-16")
@pytest.mark.parametrize("words", ["I don't like tea any more", "Please forget that I like tea"])
async def test_what_one_user_takes_back_another_keeps(face: Face, opens: Opens, words: str) -> None:
    await told(face, "I like tea", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    await face.sharing.share(fact["id"], user_id="bob")
    await told(face, words, opens)
    assert "User likes tea." not in await face.listed(user_id="alice")
    assert await face.listed(user_id="bob") == ["User likes tea."]
    assert (await face.search("tea", user_id="bob", strategy="text"))["results"][0]["id"] == fact["id"]
    assert fact["id"] in [one["old_id"] for one in (await face.review.replacements(user_id="alice"))["results"]]


@pytest.mark.req("P-16")
async def test_a_key_that_several_hold_is_changed_for_one(face: Face) -> None:
    memory_id = await face.remember("light", key="theme")
    await face.sharing.share(memory_id, user_id="bob")
    (result,) = (await face.store("dark", user_id="alice", key="theme"))["results"]
    assert (result["event"], result["old_id"]) == ("REPLACE", memory_id)
    assert await face.listed(user_id="alice") == ["dark"]
    assert await face.listed(user_id="bob") == ["light"]
    (again,) = (await face.store("dark", user_id="bob", key="theme"))["results"]
    assert (again["event"], again["id"]) == ("UPDATE", memory_id)


@pytest.mark.req("P-16", "X-30")
async def test_taking_it_away_from_the_last_one_deletes_it(face: Face) -> None:
    memory_id = await shared(face)
    gone = await face.sharing.unshare(memory_id, user_id="alice", reason="left the company")
    assert (gone["event"], gone["reason"]) == ("UNLINK", "left the company")
    assert await face.listed(user_id="alice") == []
    assert await face.listed(user_id="bob") == ["The office is in Lisbon"]
    (audit,) = (await face.review.replacements(user_id="alice"))["results"]
    assert (audit["old_id"], audit["new_id"], audit["reason"]) == (memory_id, None, "left the company")

    last = await face.sharing.unshare(memory_id, user_id="bob")
    assert last["event"] == "DELETE"
    assert await face.get(memory_id) is None
    assert [event["event"] for event in await face.history(memory_id)] == ["ADD", "LINK", "UNLINK", "DELETE"]


async def test_an_update_without_a_scope_is_for_everybody(face: Face) -> None:
    memory_id = await shared(face)
    await face.update(memory_id, "The office is in Porto")
    assert await face.listed(user_id="alice") == await face.listed(user_id="bob") == ["The office is in Porto"]

    await face.remember("The office is in Rome", user_id="bob")
    with pytest.raises(Conflict):
        await face.update(memory_id, "The office is in Rome")


@pytest.mark.req("P-3", "P-16")
async def test_names_go_where_the_memory_goes(face: Face, opens: Opens) -> None:
    await told(face, "My sister Ingrid lives in Bergen", opens)
    (fact,) = (await face.get_all(user_id="alice"))["results"]
    first = (await face.graph.relations(user_id="alice"))["results"]
    assert first
    await face.sharing.share(fact["id"], user_id="bob")
    for user in ("alice", "bob"):
        assert [one["name"] for one in (await face.graph.entities(user_id=user))["results"]].count("Ingrid") == 1
        assert len((await face.graph.relations(user_id=user))["results"]) == len(first)
    await face.sharing.unshare(fact["id"], user_id="bob")
    assert (await face.graph.entities(user_id="bob"))["results"] == []
    assert "Ingrid" in [one["name"] for one in (await face.graph.entities(user_id="alice"))["results"]]


@pytest.mark.req("X-35", "S-6")
async def test_uses_are_counted_for_whom_it_was_shown(opens: Opens) -> None:
    face = opens()
    memory_id = await shared(face)
    for query in ("Where is the office?", "In which city is our office?"):
        pack = await face.context(query, user_id="alice", gate="always")
        assert "Lisbon" in pack.text
    await face.search("office", user_id="alice")
    (line,) = [one for one in await face.export(everybody=True) if one["type"] == "memory" and one["id"] == memory_id]
    counted = {link["user_id"]: (link["use_count"], link["last_used_at"]) for link in line["links"]}
    assert counted == {"alice": (2, "2026-01-01T00:00:00.000000Z"), "bob": (0, None)}
    assert (await face.admin.metrics(user_id="alice"))["counts"]["injected"] == 2
    assert (await face.admin.metrics(user_id="bob"))["counts"]["injected"] == 0
    assert (await face.admin.metrics(everybody=True))["counts"]["injected"] == 2


@pytest.mark.req("X-35", "D-18")
async def test_what_one_uses_stays_fresh_for_them_only(opens: Opens) -> None:
    face = opens({"recall": {"decay_days": 30.0}})
    await shared(face)
    opens.clock.advance(days=30)
    await face.context("Where is the office?", user_id="alice", gate="always")
    own, other = [
        (await face.search("office", user_id=user, explain=True))["results"][0]["score_parts"]["decay"]
        for user in ("alice", "bob")
    ]
    assert own == 1.0
    assert other == pytest.approx(0.3679, abs=1e-3)


@ON_DISK
@pytest.mark.req("P-2", "P-3", "P-4", "D-16")
async def test_the_views_show_vectors_who_holds_them_and_what_replaced_them(face: Face, opens: Opens) -> None:
    old_id = await shared(face)
    new_id = (await face.sharing.replace(old_id, "The office is in Porto", user_id="alice", reason="we moved"))["id"]
    await face.sharing.unshare(old_id, user_id="bob", reason="manual_deletion")

    rows = opens.rows('SELECT id, length("values"), metadata FROM shared_vectors')
    assert [(row[0], row[1] > 0) for row in rows] == [(new_id, True)]
    assert (
        rows[0][2] == '{"content":"The office is in Porto","type":"memory","created_at":"2026-01-01T00:00:00.000000Z"}'
    )
    assert opens.rows("SELECT user_id, vector_id FROM users_vectors") == [("alice", new_id)]
    assert opens.rows("SELECT user_id, old_vector_id, new_vector_id, reason FROM memory_updates") == [
        ("alice", old_id, new_id, "we moved"),
        ("bob", old_id, None, "manual_deletion"),
    ]


@pytest.mark.req("P-16")
async def test_a_split_is_taken_back_by_undo(face: Face) -> None:
    memory_id = await shared(face)
    await face.sharing.replace(memory_id, "The office is in Porto", user_id="alice")
    (audit,) = (await face.review.replacements(user_id="alice"))["results"]
    await face.undo(audit["id"])
    assert await face.listed(user_id="alice") == await face.listed(user_id="bob") == ["The office is in Lisbon"]
    (found,) = (await face.search("office", user_id="alice", strategy="vector"))["results"]
    assert found["id"] == memory_id
