from __future__ import annotations

import logging
from typing import Any

import pytest

from memstone.errors import InvalidInput, StorageError
from memstone.testing.llm import ScriptedLlm
from tests.faces.harness import ON_DISK, Face, Opens

STANDING: dict[str, Any] = {"cache_seconds": 0, "gate": "always", "false_injection": 0}


async def shown(face: Face, name: str, **scope: Any) -> tuple[Any, str]:
    """The value of a setting, and where it comes from."""
    answer = await face.settings.get(**scope)
    return answer["settings"][name], answer["sources"][name]


@pytest.mark.req("O-64")
async def test_the_agent_s_value_holds_then_the_user_s_then_the_tenant_s(opens: Opens) -> None:
    face = opens({"context": {"limit": 50}})
    assert await shown(face, "context.budget") == (1_400, "default")
    assert await shown(face, "context.gate") == ("profile", "default")
    assert await shown(face, "context.limit") == (50, "configuration")

    await face.settings.set({"context.budget": 700, "context.limit": 40})
    await face.settings.set({"context.budget": 600}, user_id="alice")
    await face.settings.set({"context.budget": 500}, agent_id="bot")

    assert await shown(face, "context.budget") == (700, "tenant")
    assert await shown(face, "context.budget", user_id="bob") == (700, "tenant")
    assert await shown(face, "context.budget", user_id="alice") == (600, "user")
    assert await shown(face, "context.budget", agent_id="bot") == (500, "agent")
    assert await shown(face, "context.budget", user_id="alice", agent_id="bot") == (500, "agent")
    assert await shown(face, "context.limit", user_id="alice", agent_id="bot") == (40, "tenant")

    assert await face.settings.unset(["context.budget"], agent_id="bot") == {"scope": "agent", "unset": 1}
    assert await shown(face, "context.budget", user_id="alice", agent_id="bot") == (600, "user")
    assert await face.settings.unset(user_id="alice") == {"scope": "user", "unset": 1}
    assert await face.settings.unset() == {"scope": "tenant", "unset": 2}
    assert await shown(face, "context.budget", user_id="alice", agent_id="bot") == (1_400, "default")
    assert await face.settings.unset(["context.budget"]) == {"scope": "tenant", "unset": 0}


@pytest.mark.req("O-64", "O-66", "O-68")
async def test_what_is_set_holds_at_once(opens: Opens) -> None:
    face = opens({"context": STANDING})
    for n in range(8):
        await face.remember(f"tea number {n} is on the shelf")
    assert len((await face.context("tea", user_id="alice")).citations) > 1
    await face.settings.set({"context.limit": 1}, user_id="alice")
    assert len((await face.context("tea", user_id="alice")).citations) == 1
    await face.settings.set({"memoryMaxTokens": 0}, user_id="alice")
    pack = await face.context("tea", user_id="alice")
    assert (pack.text, pack.gate.reason) == ("", "the budget is 0")
    await face.settings.unset(user_id="alice")
    assert len((await face.context("tea", user_id="alice")).citations) > 1
    assert len(await face.found("tea", user_id="alice")) == 8


@pytest.mark.req("O-68", "O-55", "O-67", "X-43")
async def test_a_gateway_s_words_change_what_is_found(opens: Opens) -> None:
    face = opens({"preset": "gateway", "context": STANDING, "write": {"mode": "inline"}})
    await face.remember("The spare key is under the mat")
    opens.clock.advance(days=20)
    await face.remember("The weather was fine today")

    await face.settings.set({"memoryStrategy": "recent", "context.limit": 1})
    assert "weather" in (await face.context("Where is the spare key?", user_id="alice")).text
    await face.settings.set({"memoryStrategy": "hybrid"})
    assert "mat" in (await face.context("Where is the spare key?", user_id="alice")).text
    await face.settings.set({"memoryRetentionDays": 10})
    assert "mat" in (await face.context("Where is the spare key?", user_id="alice")).text, "it was just used"
    opens.clock.advance(days=20)
    assert "mat" not in (await face.context("Where is the spare key?", user_id="alice")).text

    answer = await face.settings.get(names="gateway")
    assert answer["settings"] == {
        "memoryEnabled": True,
        "memoryMaxTokens": 2_000,
        "memoryRetentionDays": 10,
        "memoryStrategy": "hybrid",
        "skillsEnabled": False,
        "autoSummarize": False,
        "persistAcrossModels": False,
    }
    assert (answer["sources"]["memoryRetentionDays"], answer["sources"]["memoryMaxTokens"]) == ("tenant", "preset")
    assert answer["effective"]["enabled"]


@pytest.mark.req("O-70", "O-69")
async def test_other_products_values_are_brought_into_form_when_they_are_stored(face: Face) -> None:
    set_ = await face.settings.set({"memoryMaxTokens": 99_999.7, "memoryStrategy": "psychic", "skillsEnabled": True})
    assert set_ == {
        "scope": "tenant",
        "set": {"context.budget": 16_000, "context.strategy": "hybrid", "policy.skills": True},
    }
    companion = await face.settings.set({"salienceFloor": 7, "episodeRetentionDays": -1}, user_id="alice")
    assert companion["set"] == {"upkeep.salience_floor": 1.0, "upkeep.retain_days": {}}
    answer = await face.settings.get(user_id="alice", names="companion")
    assert (answer["settings"]["salienceFloor"], answer["settings"]["episodeRetentionDays"]) == (1.0, 0)


@pytest.mark.parametrize(
    ("values", "scope", "complaint"),
    [
        ({"context.budgt": 1}, {}, "unknown setting"),
        ({"context.budget": -1}, {}, "invalid value for context.budget: -1"),
        ({"context.budget": 5, "context.gate": "perhaps"}, {}, "context.gate"),
        ({"store.url": "memory:"}, {}, "unknown setting"),
        ({"upkeep.interval_hours": 3}, {"user_id": "alice"}, "set for everybody"),
        ({"quota.tenant_turns": 3}, {"agent_id": "bot"}, "set for everybody"),
        ({"extract.strategies": ["facts"]}, {}, "no language model"),
        ({"context.budget": 5}, {"user_id": "alice", "agent_id": "bot"}, "belong to a user or an agent"),
        ({"embeddingModel": "x"}, {}, "configuration"),
        ("context.budget", {}, "mapping"),
    ],
)
async def test_what_cannot_be_is_refused_and_nothing_is_stored(
    opens: Opens, values: Any, scope: dict[str, str], complaint: str
) -> None:
    face = opens()
    with pytest.raises(InvalidInput, match=complaint):
        await face.settings.set(values, **scope)
    assert await face.settings.unset(**({} if len(scope) > 1 else scope)) == {
        "scope": {"user_id": "user", "agent_id": "agent"}[next(iter(scope))] if len(scope) == 1 else "tenant",
        "unset": 0,
    }


@ON_DISK
@pytest.mark.req("O-64")
async def test_another_process_notices_within_a_second(opens: Opens) -> None:
    one, other = opens({"context": STANDING}), opens({"context": STANDING})
    await one.remember("tea is on the shelf")
    assert (await other.context("tea", user_id="alice")).text
    await one.settings.set({"policy.shows": False}, user_id="alice")
    assert not (await one.context("tea", user_id="alice")).text
    opens.clock.advance(seconds=1)
    assert not (await other.context("tea", user_id="alice")).text
    await other.settings.unset(user_id="alice")
    assert (await other.context("tea", user_id="alice")).text
    opens.clock.advance(seconds=1)
    assert (await one.context("tea", user_id="alice")).text


@ON_DISK
@pytest.mark.req("R-19", "S-52")
async def test_reading_writes_nothing(opens: Opens) -> None:
    face = opens()
    await face.settings.get(user_id="alice")
    await face.settings.get(names="gateway")
    await face.remember("tea")
    await face.found("tea")
    assert opens.rows("SELECT count(*) FROM settings") == [(0,)]
    await face.settings.set({"context.budget": 5})
    await face.settings.get()
    assert opens.rows("SELECT key, value FROM settings WHERE key <> ''") == [("context.budget", "5")]


@ON_DISK
@pytest.mark.req("O-64")
async def test_what_cannot_be_read_in_the_table_is_left_out(opens: Opens, caplog: pytest.LogCaptureFixture) -> None:
    face = opens()
    await face.settings.set({"context.budget": 5, "context.limit": 7}, user_id="alice")
    with opens.sql() as database:
        database.execute("UPDATE settings SET value = '\"lots\"' WHERE key = 'context.budget'")
        database.execute("INSERT INTO settings VALUES ('default', 'user:alice', 'future.thing', '1', '')")
        database.execute("INSERT INTO settings VALUES ('default', 'user:alice', 'policy.enabled', '{', '')")
    with caplog.at_level(logging.WARNING, "memstone"):
        answer = await face.settings.get(user_id="alice")
    assert (answer["settings"]["context.budget"], answer["settings"]["context.limit"]) == (1_400, 7)
    assert answer["sources"]["context.budget"] == "default"
    assert "context.budget, future.thing" in caplog.text


@ON_DISK
@pytest.mark.req("O-64")
async def test_when_settings_cannot_be_loaded_the_configured_ones_hold(
    opens: Opens, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    face = opens()
    await face.remember("tea")
    await face.settings.set({"policy.enabled": False}, user_id="bob")

    async def broken(*_: object) -> str:
        raise StorageError("the disk is on fire")

    monkeypatch.setattr("memstone.adapters.sql.access.PreferencesTable.version", broken)
    with caplog.at_level(logging.WARNING, "memstone"):
        assert await face.found("tea") == ["tea"]
    assert "the stored settings cannot be read, using the configuration instead: storage" in caplog.text


@pytest.mark.req("N-48")
async def test_days_are_those_of_the_user_s_time_zone(opens: Opens) -> None:
    face = opens({"context": STANDING})
    await face.settings.set({"timezone": "Pacific/Auckland"}, user_id="alice")
    for user in ("alice", "bob"):
        await face.add("I visited Anna yesterday", user_id=user, occurred_at="2026-03-10T20:00:00Z")
    of_alice, of_bob = await face.listed(user_id="alice"), await face.listed(user_id="bob")
    assert "2026-03-10" in of_alice[0] or "10 March 2026" in of_alice[0]  # it is the 11th over there
    assert "2026-03-09" in of_bob[0] or "9 March 2026" in of_bob[0]

    opens.clock.advance(hours=20)  # 2026-01-01, 20:00 in UTC
    assert "2026-01-02" in (await face.context("Anna", user_id="alice")).text
    assert "2026-01-01" in (await face.context("Anna", user_id="bob")).text
    with pytest.raises(InvalidInput, match=r"extract\.timezone"):
        await face.settings.set({"timezone": "Moon/Base"}, user_id="alice")


@pytest.mark.req("N-48")
async def test_a_model_is_told_the_user_s_language(opens: Opens) -> None:
    llm = ScriptedLlm(lambda _: '{"facts": []}')
    face = opens({"extract": {"instructions": "Be brief."}}, llm=llm)
    await face.settings.set({"language": "nb"}, user_id="alice")
    await face.add("Jeg bor i Oslo", user_id="alice")
    await face.add("I live in Oslo", user_id="bob")
    asked = [prompt.messages[0]["content"] for prompt in llm.prompts]
    assert "Be brief." in asked[0]
    assert "Be brief." in asked[-1]
    assert "language is nb" in asked[0]
    assert "language is" not in asked[-1]


@pytest.mark.req("D-8")
async def test_learning_and_showing_have_switches_of_their_own(opens: Opens) -> None:
    face = opens({"context": STANDING})
    await face.settings.set({"policy.learns": False}, user_id="alice")
    await face.settings.set({"policy.shows": False}, user_id="bob")
    await face.remember("Alice lives in Oslo", user_id="alice")

    assert (await face.add("I live in Bergen", user_id="alice"))["status"] == "disabled"
    assert "Oslo" in (await face.context("Where does Alice live?", user_id="alice")).text

    assert (await face.add("I live in Bergen", user_id="bob"))["results"]
    hidden = await face.context("Where do I live?", user_id="bob")
    assert (hidden.text, hidden.gate.reason) == ("", "showing memory is switched off")
    assert await face.found("live", user_id="bob")


@pytest.mark.req("X-2", "O-65", "S-41", "O-56")
async def test_memory_is_on_unless_it_is_switched_off(opens: Opens) -> None:
    face = opens({"context": STANDING})
    assert (await face.settings.get())["settings"]["policy.enabled"] is True
    await face.remember("tea is on the shelf")
    pack = await face.context("tea", user_id="alice")
    assert pack.text
    assert pack.tokens > 0

    await face.settings.set({"memoryEnabled": False})
    answer = await face.add("I live in Oslo", user_id="alice")
    assert (answer["results"], answer["status"]) == ([], "disabled")
    assert (await face.store("word for word", user_id="alice"))["status"] == "disabled"
    assert (await face.ingest(["hello there"], user_id="alice"))["status"] == "disabled"
    assert (await face.context("tea", user_id="alice")).gate.reason == "memory is switched off"
    assert await face.found("tea") == ["tea is on the shelf"]


async def test_bare_lists_stay_bare_when_nothing_is_stored(opens: Opens) -> None:
    face = opens({"version": "v1.0", "policy": {"enabled": False}})
    assert await face.add("I live in Oslo", user_id="alice") == []


async def test_who_is_named_in_filters_has_their_own_settings(opens: Opens) -> None:
    face = opens()
    await face.settings.set({"policy.enabled": False}, user_id="alice")
    assert (await face.add("I live in Oslo", filters={"user_id": "alice"}))["status"] == "disabled"
    assert (await face.add("I live in Oslo", filters={"user_id": "bob"}))["status"] == "ok"


async def test_every_item_of_a_batch_has_the_settings_of_whom_it_names(opens: Opens) -> None:
    face = opens()
    await face.settings.set({"policy.enabled": False}, user_id="alice")
    items = [{"messages": f"{user} likes tea", "user_id": user} for user in ("alice", "bob")]
    answer = await face.store_many(items)
    assert [one["status"] for one in answer["results"]] == ["disabled", "ok"]


@pytest.mark.req("D-5")
async def test_vectors_outlive_a_change_of_the_model_when_that_is_wanted(opens: Opens) -> None:
    if opens.path is None:
        return
    small, large = ({"embedder": {"provider": "hash", "config": {"dim": dim}}} for dim in (64, 128))
    face = opens(small)
    await face.remember("tea is on the shelf")
    await face.settings.set({"persistAcrossModels": True})
    moved = opens(large)
    assert (await moved.admin.reindex())["dropped"] == 0
    await moved.remember("the cake is in the oven")
    back = await opens(small).admin.reindex()
    assert (back["indexed"], back["dropped"]) == (1, 0)
    await face.settings.set({"persistAcrossModels": False})
    assert (await opens(large).admin.reindex())["dropped"] == 2
