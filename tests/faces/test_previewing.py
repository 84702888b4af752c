"""What consoles ask of a memory: pages with figures, tries, status, backends."""

from __future__ import annotations

import pytest

from memstone.core.prompt.inject import inject
from memstone.core.settings.backends import BACKENDS
from memstone.engine import backends, status
from memstone.engine.access.admission import resolve_owner
from memstone.engine.memory_page import PageRequest, memory_page
from memstone.errors import Forbidden, InvalidInput
from memstone.model.context import ContextPack
from tests.faces.harness import Face, Opens
from tests.faces.infer_steps import LOCAL


@pytest.mark.req("O-76", "O-13")
async def test_a_page_counts_all_that_match_once_however_many_links_there_are(face: Face) -> None:
    first = (await face.store("Likes green tea", user_id="alice", key="tea"))["results"][0]["id"]
    await face.store("Lives in Oslo", user_id="bob", key="city", kind="semantic")
    await face.sharing.share(first, user_id="bob")
    page = await face.run(memory_page, PageRequest({}, limit=1, everybody=True))
    assert (page["total"], page["pages"], page["page"], len(page["results"])) == (2, 2, 1, 1)
    assert page["stats"]["by_kind"] == {"factual": 1, "semantic": 1}
    assert page["stats"]["tokens"] == (await face.run(memory_page, PageRequest({"user_id": "bob"})))["stats"]["tokens"]
    assert (await face.run(memory_page, PageRequest({}, q="nothing like it", everybody=True)))["stats"] == {
        "total": 0,
        "by_kind": {},
        "tokens": 0,
        "hit_rate": None,
        "cache": page["stats"]["cache"],
    }
    for wrong in ({"page": 0}, {"offset": -1}, {"limit": 0}, {"kind": "secret"}):
        with pytest.raises(InvalidInput):
            await face.run(memory_page, PageRequest({}, **wrong, everybody=True))


@pytest.mark.req("N-10")
async def test_a_preview_leaves_no_trace(face: Face) -> None:
    await face.store("Likes green tea", user_id="alice")
    before = await face.stats()
    found = await face.profile.preview_search("green tea", user_id="alice")
    assert [one["memory"] for one in found["items"]] == ["Likes green tea"]
    assert (await face.stats())["events"] == before["events"]
    assert (await face.profile.facts(user_id="alice"))["results"][0]["use_count"] == 0
    with pytest.raises(InvalidInput):
        await face.profile.preview_search("tea", user_id="alice", max_tokens=20_000)


@pytest.mark.req("O-80", "R-33")
async def test_a_try_leaves_nothing_behind_even_for_one_who_reaches_one_user(face: Face) -> None:
    await face.store("Likes green tea", user_id="alice")
    before = await face.stats()
    assert (await face.run(status.verify_memory))["working"] is True
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    assert (await bound.run(status.verify_memory))["working"] is True
    after = await face.stats()
    assert {name: before[name] for name in ("memories", "events", "fulltext", "vectors")} == {
        name: after[name] for name in ("memories", "events", "fulltext", "vectors")
    }
    assert (await face.run(memory_page, PageRequest({}, everybody=True)))["total"] == 1


async def test_the_vectors_are_made_anew_in_place(face: Face) -> None:
    await face.store("Likes green tea", user_id="alice")
    assert await face.admin.pending_vectors() == 0
    assert (await face.admin.refresh_vectors())["refreshed"] == 1
    assert (await face.profile.preview_search("green tea", user_id="alice"))["items"][0]["vec_score"] > 0


@pytest.mark.req("O-76")
async def test_turns_that_say_the_same_have_vectors_too(face: Face) -> None:
    for at, answer in enumerate(["Sure.", "No problem."] * 3):
        talk = [{"role": "user", "content": "Good morning!"}, {"role": "assistant", "content": answer}]
        await face.ingest(talk, user_id="alice", run_id=f"talk-{at}")

    assert len(await face.listed(layers=["turn"])) > 0
    assert await face.admin.pending_vectors() == 0


async def test_an_owner_is_a_user_or_the_pool_of_a_key(face: Face) -> None:
    pool, bound = await face.admin.keys.create(), await face.admin.keys.create(user_id="alice")
    assert await face.run(resolve_owner, pool["id"], "") == f"key:{pool['id']}"
    assert await face.run(resolve_owner, f"key:{pool['id']}", "") == f"key:{pool['id']}"
    assert await face.run(resolve_owner, bound["id"], "") == "alice"
    assert await face.run(resolve_owner, "bob", "x") == "bob"
    assert await face.run(resolve_owner, None, "x") == "key:x"
    alice = Face(face.memory.acting_for("default", user_id="alice"))
    assert await alice.run(resolve_owner, bound["id"], bound["id"]) == "alice"
    assert await alice.run(resolve_owner, "alice", bound["id"]) == "alice"
    for other in ("bob", pool["id"]):
        with pytest.raises(Forbidden):
            await alice.run(resolve_owner, other, bound["id"])
    elsewhere = Face(face.memory.acting_for("acme"))
    assert await elsewhere.run(resolve_owner, pool["id"], "") == pool["id"]  # a key of another tenant is no key here


@pytest.mark.req("O-72", "N-6")
async def test_backends_are_checked_stored_and_no_settings_of_anybody(face: Face) -> None:
    assert (await face.run(backends.get_backends))["settings"] == {
        **{name: default for name, (_, default) in BACKENDS.items()},
        "qdrantApiKey": "",
    }
    before = await face.settings.get()
    await face.run(backends.set_backends, {"qdrantHost": "q.example.com", "qdrantApiKey": "0123456789abcdef"})
    assert (await face.settings.get())["settings"] == before["settings"]
    assert (await face.run(backends.get_backends))["settings"]["qdrantApiKey"] == "***cdef"
    for wrong in (
        {"surprise": 1},
        {"qdrantPort": 0},
        {"qdrantEmbeddingModel": "model"},
        {"qdrantApiKey": 7},
        {"qdrantApiKey": "line\nbreak"},
        {"qdrantCollection": "a/b"},
        {"fallbackBackends": ["a", "a"]},
        {"backendConfigs": {"x": "y"}},
    ):
        with pytest.raises(InvalidInput):
            await face.run(backends.set_backends, {"qdrantHost": "changed.example.com", **wrong})
    assert (await face.run(backends.get_backends))["settings"]["qdrantHost"] == "q.example.com"
    bound = Face(face.memory.acting_for("default", user_id="alice"))
    with pytest.raises(Forbidden):
        await bound.run(backends.get_backends)
    with pytest.raises(Forbidden):
        await bound.run(backends.set_backends, {"qdrantHost": "x"})


@pytest.mark.req("O-56", "O-43")
async def test_who_is_given_no_tokens_is_shown_nothing_whoever_asks(face: Face) -> None:
    await face.remember("I like tea")
    assert (await face.profile.preview_search("tea", user_id="alice"))["totals"]["shown"] == 1
    await face.settings.set({"context.budget": 0}, user_id="alice")
    for most in (2_000, 16_000):
        seen = await face.profile.preview_search("tea", user_id="alice", max_tokens=most)
        assert (seen["items"], seen["totals"]["shown"], seen["totals"]["max_tokens"]) == ([], 0, 0)
    assert (await face.context("tea", user_id="alice")).text == ""


def _lines(block: str) -> list[str]:
    return [line for line in block.splitlines() if line and "memstone-memory" not in line]  # fences are of one block


def _injected(query: str, pack: ContextPack, position: str) -> list[str]:
    """The lines that a chat with one message gets from memory."""
    sent = inject([{"role": "user", "content": query}], pack, position)
    return [line for line in _lines("\n".join(one["content"] for one in sent)) if line != query]


@pytest.mark.req("N-10", "O-52")
@pytest.mark.parametrize("budget", [1, 40, 300, None])
@pytest.mark.parametrize("gate", ["profile", "always", "heuristic", "never"])
@pytest.mark.parametrize("position", ["split", "system_first"])
async def test_a_preview_shows_what_a_chat_is_given_to_the_line(
    opens: Opens, gate: str, budget: int | None, position: str
) -> None:
    face = opens({"context": {"gate": gate}, "inject": {"position": position}})
    for text in ("I am allergic to nuts.", "My sister Ida lives in Bergen.", "I work as a baker, mostly at night."):
        await face.add(text, user_id="alice")
        opens.clock.advance(days=1)
    for query in ("Where does my sister live?", "What should I cook tonight?", "what is 2+2?"):
        seen = await face.profile.preview_search(query, user_id="alice", max_tokens=budget)
        pack = await face.context(query, user_id="alice", budget=budget)
        answer = await face.profile.preview(query, user_id="alice", budget=budget)
        items = _injected(query, pack, position)
        assert (_lines(seen["block"]), _lines(answer["text"])) == (items, items)
        visible = {one["id"] for one in (await face.receipt(pack.receipt_id))["chosen"]} if pack.receipt_id else set()
        assert {one["id"] for one in seen["items"] if one["injected"]} <= visible


@pytest.mark.req("O-52")
async def test_a_preview_stops_at_the_first_that_does_not_fit_but_shows_one(face: Face) -> None:
    for text in ("tea " * 60 + "is what I drink", "tea"):
        await face.store(text, user_id="alice")
    ranked = await face.profile.preview_search("tea is what I drink", user_id="alice", max_tokens=16_000)
    assert len(ranked["items"]) == 2
    seen = await face.profile.preview_search("tea is what I drink", user_id="alice", max_tokens=1)
    assert [one["id"] for one in seen["items"]] == [ranked["items"][0]["id"]]


@pytest.mark.req("O-76")
async def test_what_has_nothing_to_do_with_a_rare_word_is_not_found_for_it(opens: Opens) -> None:
    face = opens(LOCAL)
    for text in ("I like boats", "x", "My glove is made of leather", "ok thanks"):
        await face.add(text, user_id="alice")
    for known in (False, True):
        if known:
            await face.add("I teach falconry in Wales", user_id="alice")
        found = (await face.search("falconry", user_id="alice"))["results"]
        assert [one["memory"] for one in found if one["score"] > 0.5 and "falconry" not in one["memory"]] == []
        tried = await face.profile.preview_search("falconry", user_id="alice")
        assert ["falconry" in one["memory"] for one in tried["items"]] == [True] * len(tried["items"])
        assert bool(tried["items"]) is known


@pytest.mark.req("N-10")
@pytest.mark.parametrize(
    ("setting", "value"), [("policy.shows", False), ("context.budget", 0), ("context.gate", "never")]
)
async def test_a_console_shows_nothing_where_the_user_wants_nothing_shown(
    face: Face, setting: str, value: object
) -> None:
    await face.remember("I like tea")
    assert "tea" in (await face.profile.preview("What do I like?", user_id="alice"))["text"]
    await face.settings.set({setting: value}, user_id="alice")
    answer = await face.profile.preview("What do I like?", user_id="alice")
    assert (answer["text"], answer["chosen"], answer["gate"]["route"]) == ("", [], "none")
