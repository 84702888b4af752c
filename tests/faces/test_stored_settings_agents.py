from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import Forbidden, InvalidInput, NotFoundError, ScopeError, TooLarge
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import ON_DISK, Face, Opens

STANDING: dict[str, Any] = {"cache_seconds": 0, "gate": "always", "false_injection": 0}
OFF = {"disableMemory": False, "searchMemoryEnabled": False}


@pytest.mark.req("S-67")
async def test_an_agent_is_a_row_that_can_be_changed(opens: Opens) -> None:
    face = opens()
    made = await face.agents.save("bot", name="Bot", model="small", system_prompt="Be kind.")
    assert made == {
        "id": "bot",
        "name": "Bot",
        "model": "small",
        "system_prompt": "Be kind.",
        "settings": OFF,
        "paused": False,
        "memory_entry_count": 0,
        "memory_counts": {"identity": 0, "fact": 0, "episode": 0, "turn": 0},
        "created_at": "2026-01-01T00:00:00.000000Z",
        "updated_at": "2026-01-01T00:00:00.000000Z",
    }
    opens.clock.advance(hours=1)
    changed = await face.agents.save("bot", name="Robot", model="", settings={"searchMemoryEnabled": True})
    assert (changed["name"], changed["model"], changed["system_prompt"]) == ("Robot", None, "Be kind.")
    assert changed["settings"] == {**OFF, "searchMemoryEnabled": True, "policy.search_tool": True}
    assert (changed["created_at"], changed["updated_at"]) == (made["created_at"], "2026-01-01T01:00:00.000000Z")
    assert await face.agents.get("bot") == changed
    assert await face.agents.get("nobody") is None

    again = await face.agents.save("bot", settings={"context.budget": 300})
    assert again["settings"] == {**OFF, "context.budget": 300}
    assert (await face.agents.save("bot"))["settings"] == {**OFF, "context.budget": 300}
    assert (await face.settings.get(agent_id="bot"))["settings"]["context.budget"] == 300


@pytest.mark.req("S-67")
async def test_an_agent_that_is_named_for_the_first_time_is_registered(opens: Opens) -> None:
    face = opens()
    await face.add("I live in Oslo", user_id="alice", agent_id="first")
    await face.ingest(["hello there"], user_id="alice", agent_id="second")
    await face.store_many([{"messages": "tea", "user_id": "alice", "agent_id": 3}])
    await face.found("tea", user_id="alice", agent_id="only-asked")
    listed = await face.agents.list()
    counts = {one["id"]: one["memory_entry_count"] for one in listed["agents"]}
    assert counts == {"3": 1, "first": 1, "second": 0}
    assert listed["total"] == 3
    assert [one["id"] for one in (await face.agents.list(limit=1, offset=1))["agents"]] == ["first"]
    await face.agents.save("first", name="First")
    await face.add("I live in Bergen", user_id="alice", agent_id="first")
    assert (await face.agents.get("first"))["name"] == "First"


@pytest.mark.req("S-67")
async def test_nobody_is_registered_by_a_call_that_fails_or_stores_nothing(opens: Opens) -> None:
    face = opens()
    with pytest.raises(InvalidInput):
        await face.add("", user_id="alice", agent_id="bot")
    await face.settings.pause(user_id="alice")
    await face.add("I live in Oslo", user_id="alice", agent_id="bot")
    assert (await face.agents.list())["agents"] == []


@ON_DISK
@pytest.mark.req("S-67")
async def test_deleting_an_agent_removes_all_it_had(opens: Opens) -> None:
    face = opens({"context": STANDING, "write": {"mode": "manual"}})
    who = {"user_id": "alice", "agent_id": "bot"}
    await face.remember("tea is on the shelf", **who)
    await face.remember("mine alone", user_id="alice")
    await face.add("I live in Oslo", **who)
    await face.context("tea", **who)
    await face.settings.set({"context.budget": 300}, agent_id="bot")
    assert opens.rows("SELECT count(*) FROM signals") == [(1,)]

    answer = await face.agents.delete("bot")

    assert answer == {"id": "bot", "deleted": 2}
    assert await face.agents.get("bot") is None
    assert await face.listed(user_id="alice") == ["mine alone"]
    assert await face.get_all(agent_id="bot") == {"results": []}
    assert opens.rows("SELECT count(*) FROM signals") == [(0,)]
    assert opens.rows("SELECT count(*) FROM receipts WHERE agent_id = 'bot'") == [(0,)]
    assert opens.rows("SELECT count(*) FROM settings WHERE scope_key = 'agent:bot'") == [(0,)]
    stored_text = "SELECT count(*) FROM vectors v JOIN links l ON l.memory_seq = v.memory_seq WHERE l.agent_id = 'bot'"
    assert opens.rows(stored_text) == [(0,)]
    assert (await face.settings.get(agent_id="bot"))["settings"]["context.budget"] == 1_400
    with pytest.raises(NotFoundError, match="no agent bot"):
        await face.agents.delete("bot")
    await face.remember("back again", **who)
    assert (await face.agents.get("bot"))["memory_entry_count"] == 1


@pytest.mark.req("S-67", "X-4")
async def test_who_the_user_is_stays_known_when_the_agent_is_gone_that_learned_it(opens: Opens) -> None:
    face = opens({"preset": "companion", "write": {"mode": "manual"}, "embedder": {"provider": "hash"}})
    who = {"user_id": "alice", "agent_id": "bot"}
    text = "My name is Alice and I work as a nurse. Always answer in metric units. The bulbs are in the cellar drawer."
    await face.add([{"role": "user", "content": text}], **who, run_id="r1")
    await face.sessions.end(**who)
    await face.store("The cellar key is blue", **who)
    await face.admin.consolidate(everybody=True)
    before = await face.agents.delete("bot", dry_run=True)
    assert "nurse" in (await face.context("ok", user_id="alice", agent_id="other")).text

    assert before == {**await face.agents.delete("bot"), "dry_run": True}
    await face.admin.consolidate(everybody=True)

    identity = await face.identity.get(user_id="alice")
    assert [one for one in ("Alice", "nurse") if one not in str(identity["narrative"])] == []
    assert "metric units" in (await face.identity.instructions(user_id="alice"))["text"]
    answer = (await face.context("Who am I?", user_id="alice", agent_id="other")).text
    assert "nurse" in answer
    assert not any("key" in one for one in await face.listed(user_id="alice"))
    assert await face.get_all(agent_id="bot") == {"results": []}
    assert (await face.sessions.episodes(user_id="alice"))["results"] == []


@pytest.mark.req("S-67")
@pytest.mark.parametrize("off", [True, False])
@pytest.mark.parametrize("searches", [True, False])
async def test_the_two_switches_of_an_agent_are_independent(opens: Opens, *, off: bool, searches: bool) -> None:
    face = opens({"context": STANDING})
    who = {"user_id": "alice", "agent_id": "bot"}
    await face.remember("tea is on the shelf", **who)
    await face.agents.save("bot", settings={"disableMemory": off, "searchMemoryEnabled": searches})

    assert (await face.add("I live in Oslo", **who))["status"] == ("disabled" if off else "ok")
    assert bool((await face.context("tea", **who)).text) is not off
    assert (await face.settings.get(agent_id="bot", names="agent"))["settings"] == {
        "disableMemory": off,
        "searchMemoryEnabled": searches,
    }
    assert (await face.settings.get(agent_id="bot"))["settings"]["policy.search_tool"] is searches
    assert "tea is on the shelf" in await face.found("tea", **who)
    assert (await face.add("I live in Bergen", user_id="alice", agent_id="other"))["status"] == "ok"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"agent_id": " "}, ScopeError),
        ({"agent_id": None}, ScopeError),
        ({"agent_id": "bot", "settings": {"colour": "red"}}, InvalidInput),
        ({"agent_id": "bot", "settings": {"upkeep.log_days": 3}}, InvalidInput),
        ({"agent_id": "bot", "name": "x" * 300}, TooLarge),
        ({"agent_id": "bot", "system_prompt": 7}, InvalidInput),
    ],
)
async def test_what_is_wrong_makes_no_agent(opens: Opens, call: dict[str, Any], error: type[Exception]) -> None:
    face = opens()
    with pytest.raises(error):
        await face.agents.save(**call)
    assert (await face.agents.list())["total"] == 0


@pytest.mark.req("S-67")
async def test_whoever_reaches_one_user_registers_agents_and_changes_none(opens: Opens) -> None:
    face = opens()
    own = Face(face.memory.acting_for("default", user_id="alice"))
    await own.add("I live in Oslo", agent_id="bot")
    assert (await face.agents.get("bot"))["memory_entry_count"] == 1
    for call in (
        own.agents.list(),
        own.agents.get("bot"),
        own.agents.save("bot", name="Mine"),
        own.agents.delete("bot"),
    ):
        with pytest.raises(Forbidden):
            await call
    with pytest.raises(InvalidInput):
        await own.settings.set({"policy.enabled": False}, agent_id="bot")
    assert (await own.settings.set({"context.budget": 5}))["scope"] == "user"
    assert (await face.settings.get())["settings"]["context.budget"] == 1_400
    await own.settings.pause(run_id="r1")
    assert (await face.add("I live in Oslo", user_id="bob", run_id="r1"))["status"] == "ok"
    assert (await own.add("I live in Bergen", run_id="r1"))["status"] == "paused"
    bot = Face(face.memory.acting_for("default", agent_id="bot"))
    assert (await bot.agents.get("bot"))["id"] == "bot"
    with pytest.raises(Forbidden):
        await bot.agents.get("other")


@pytest.mark.req("N-51")
async def test_facts_are_found_by_their_category(face: Face) -> None:
    await face.add("I work at the harbour as a welder", user_id="alice")
    await face.add("I love green tea", user_id="alice")
    await face.store("Oslo is lovely", user_id="alice", metadata={"category": "travel"})
    every = {one["memory"]: one.get("category") for one in (await face.get_all(user_id="alice"))["results"]}
    work = [text for text, category in every.items() if category == "work"]
    assert work

    assert sorted(await face.listed(filters={"memory.category": "work"})) == sorted(work)
    assert await face.listed(filters={"category": "travel"}) == ["Oslo is lovely"]
    both = await face.listed(filters={"OR": [{"memory.category": "work"}, {"category": "travel"}]})
    assert sorted(both) == sorted([*work, "Oslo is lovely"])
    assert not set(await face.listed(filters={"memory.category": {"ne": "work"}})) & set(work)
    assert await face.listed(filters={"memory.category": {"exists": False}}) == ["Oslo is lovely"]
    assert await face.listed(filters={"category": {"ne": "work"}}, limit=100) == await face.listed(limit=100)
    assert await face.listed(filters={"NOT": {"memory.category": {"in": ["work", "preference"]}}}) == ["Oslo is lovely"]
    assert await face.listed(filters={"metadata.category": "work"}) == []
    assert await face.found("harbour", filters={"memory.category": "work"}) == work


@pytest.mark.req("N-51")
async def test_categories_can_be_one_s_own(opens: Opens) -> None:
    face = opens({"extract": {"categories": {"ships": "boats, harbours, sailing", "kitchen": "cooking, tea, meals"}}})
    await face.add("I love green tea", user_id="alice")
    await face.add("I work at the harbour as a welder", user_id="alice")
    await face.add("My sister is called Ida", user_id="alice")
    assert await face.listed(filters={"memory.category": "kitchen"}) == ["User loves green tea."]
    assert len(await face.listed(filters={"memory.category": "ships"})) == 1
    assert len(await face.listed(filters={"NOT": {"memory.category": {"in": ["kitchen", "ships"]}}})) == 1
    await face.settings.set({"extract.categories": ["tea"]}, user_id="bob")
    await face.add("I love green tea", user_id="bob")
    assert (await face.get_all(user_id="bob"))["results"][0]["category"] == "tea"


@pytest.mark.req("N-51")
async def test_a_model_chooses_from_one_s_own_categories(opens: Opens) -> None:
    fact = {"text": "User lives in Oslo.", "turn": 1, "quote": "I live in Oslo", "category": "Places"}
    llm = ScriptedLlm(lambda _: {"facts": [fact]})
    face = opens({"extract": {"categories": {"places": "where people are"}}}, llm=llm)
    await face.add("I live in Oslo", user_id="alice")
    assert await face.listed(filters={"memory.category": "places"}) == ["User lives in Oslo."]
    assert "places (where people are)" in llm.prompts[0].messages[0]["content"]
    schema: Any = llm.prompts[0].schema
    assert schema["properties"]["operations"]["items"]["properties"]["category"]["enum"] == ["places", "other"]


@pytest.mark.req("N-51")
@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize(
    ("part", "shown", "attached"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://u:p@x.org/a/beach.png?token=secret"}},
            "[image: https://x.org/a/beach.png]",
            {"type": "image", "name": "https://x.org/a/beach.png", "url": "https://x.org/a/beach.png"},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            "[image: data:image/png]",
            {"type": "image", "name": "data:image/png", "media_type": "image/png"},
        ),
        (
            {"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
            "[file: plan.pdf]",
            {"type": "file", "name": "plan.pdf", "media_type": "application/pdf"},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            "[audio: wav]",
            {"type": "audio", "name": "wav"},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
            "[image: image/jpeg]",
            {"type": "image", "name": "image/jpeg", "media_type": "image/jpeg"},
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://x.org/cat.png"}},
            "[image: https://x.org/cat.png]",
            {"type": "image", "name": "https://x.org/cat.png", "url": "https://x.org/cat.png"},
        ),
        (
            {"type": "document", "title": "Lease", "source": {"type": "file", "file_id": "file_7"}},
            "[document: Lease]",
            {"type": "document", "name": "Lease"},
        ),
    ],
)
async def test_pictures_and_files_are_kept_by_name(
    opens: Opens, part: dict[str, Any], shown: str, attached: dict[str, str], *, infer: bool
) -> None:
    face = opens()
    texts = {"role": "user", "content": [{"type": "text", "text": "I love this"}, part]}
    await face.add([texts], user_id="alice", infer=infer)
    (row,) = (await face.get_all(user_id="alice", layers=["turn" if infer else "fact"]))["results"]
    assert row["memory"] == f"I love this\n{shown}"
    assert row["attachments"] == [attached]


@pytest.mark.req("N-51")
async def test_a_name_that_holds_a_secret_is_masked_everywhere(face: Face) -> None:
    part = {"type": "file", "file": {"filename": "card 4111 1111 1111 1111.pdf"}}
    await face.add([{"role": "user", "content": ["I love this", part]}], user_id="alice")
    (row,) = (await face.get_all(user_id="alice", layers=["turn"]))["results"]
    assert " 4111" not in str(row)
    assert row["attachments"] == [{"type": "file", "name": "masked"}]


@pytest.mark.req("N-51")
async def test_attachments_can_be_refused_by_name(opens: Opens) -> None:
    face = opens({"extract": {"attachments": "refuse"}})
    texts = [{"role": "user", "content": [{"type": "file", "file": {"filename": "plan.pdf"}}, "look"]}]
    for verb in (face.add, face.store, face.ingest):
        with pytest.raises(InvalidInput, match=r"messages\[0\] contains file 'plan.pdf'"):
            await verb(texts, user_id="alice")
    assert (await face.stats())["memories"] == 0
    await face.add("words alone", user_id="alice")


@pytest.mark.req("N-51")
async def test_parts_of_the_protocol_are_nobody_s_words(face: Face) -> None:
    texts = [
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "rain"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, "It rains."]},
    ]
    await face.ingest(texts, user_id="alice")
    assert await face.listed(layers=["turn"]) == ["It rains.", "What is the weather?"]


@pytest.mark.req("S-67", "X-4")
@pytest.mark.parametrize("consolidated", [False, True])
async def test_what_outlives_an_agent_does_not_depend_on_the_narrative(opens: Opens, *, consolidated: bool) -> None:
    face = opens({"preset": "companion", "write": {"mode": "manual"}, "embedder": {"provider": "hash"}})
    who = {"user_id": "alice", "agent_id": "bot"}
    stays = "My name is Alice. I live in Oslo. I work as a nurse. I have two sons. I am allergic to nuts."
    goes = "I like green tea. I play chess on Sundays. I go skiing. I want to run a marathon in May."
    await face.add([{"role": "user", "content": f"{stays} {goes} Always answer briefly."}], **who, run_id="r1")
    await face.sessions.end(**who)
    if consolidated:
        await face.admin.consolidate(user_id="alice")
        assert "tea" in str((await face.identity.get(user_id="alice"))["narrative"])
    await face.agents.delete("bot")

    left = " ".join(await face.listed(user_id="alice"))
    assert [word for word in ("Alice", "Oslo", "nurse", "sons", "nuts") if word not in left] == []
    assert [word for word in ("tea", "chess", "skiing", "marathon") if word in left] == []
    assert "briefly" in (await face.identity.instructions(user_id="alice"))["text"]
    answer = (await face.context("Who am I?", user_id="alice", agent_id="other")).text
    assert "nurse" in answer
    assert [word for word in ("tea", "chess", "skiing", "marathon") if word in answer] == []
