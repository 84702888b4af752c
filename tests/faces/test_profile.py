"""What a model is always shown of a person, and what it is shown of their own words, through both faces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import pytest

from memstone.errors import InvalidInput, NotFoundError, ScopeError
from tests.faces.fragile import Fragile
from tests.faces.harness import ON_DISK, Face, Opens, ids, texts
from tests.faces.profile_steps import BEES, IDLE, JAZZ, NEAR, STORY, block, fact_of, tell

# --- what it answers --------------------------------------------------------------------------------------------------


@pytest.mark.req("X-4")
async def test_a_profile_holds_what_is_known_most_important_first(face: Face, opens: Opens) -> None:
    await tell(face, opens, *STORY)
    await face.identity.add_override("Answer in French.", user_id="alice")

    known = await face.profile.get(user_id="alice")

    assert [one["memory"] for one in known["instructions"]] == ["Answer in French."]
    assert [one["about"] for one in known["facts"]] == ["identity", "health", "family", "home", "preference"]
    assert "hazelnuts" in known["facts"][1]["memory"]
    assert (known["turns"], known["left_out"], known["complete"]) == ([], [], True)
    assert 0 < known["tokens"] <= known["profile_tokens"] == 1_000
    assert {one["id"] for one in known["facts"]} == set(ids(await face.get_all(user_id="alice")))


@pytest.mark.req("X-4")
async def test_a_block_holds_the_profile_whatever_is_asked(face: Face, opens: Opens) -> None:
    await tell(face, opens, *STORY)
    await face.identity.add_override("Answer in French.", user_id="alice")
    known = await face.profile.get(user_id="alice")

    for query in (IDLE, "Hello!", "2+2", "```\nprint(1)\n```", "What should I cook for Ada?"):
        pack = await face.context(query, user_id="alice")
        lines = [f"- {one['memory']}" for one in (*known["instructions"], *known["facts"])]
        assert [line for line in pack.stable.splitlines() if line.startswith("- ")] == lines
        assert all(line in pack.text for line in lines)


async def test_a_profile_may_be_smaller_and_names_what_is_left_out(face: Face, opens: Opens) -> None:
    await tell(face, opens, *STORY)

    few = await face.profile.get(user_id="alice", tokens=20)

    assert [one["about"] for one in few["facts"]] == ["identity", "health", "home"]
    assert {one["reason"] for one in few["left_out"]} == {"over the tokens of the profile"}
    assert (few["complete"], few["profile_tokens"], few["tokens"] <= 20) == (False, 20, True)
    assert (await face.profile.get(user_id="alice", tokens=0))["facts"] == []
    for wrong in (-1, 16_001, True, "many"):
        with pytest.raises(InvalidInput):
            await face.profile.get(user_id="alice", tokens=wrong)
    with pytest.raises((InvalidInput, ScopeError)):
        await face.profile.get(user_id="")


async def test_a_profile_is_as_large_as_the_settings_of_its_user_say(face: Face, opens: Opens) -> None:
    await tell(face, opens, *STORY, user_id="alice")
    await face.settings.set({"context.profile_tokens": 15}, user_id="alice")
    known = await face.profile.get(user_id="alice")
    assert (known["profile_tokens"], known["complete"]) == (15, False)
    assert {one["memory"] for one in known["facts"]} < {
        one["memory"] for one in (await face.profile.get(user_id="alice", tokens=900))["facts"]
    }


async def test_a_profile_is_there_when_the_embedder_is_not(opens: Opens) -> None:
    broken = Fragile()
    face = opens({"embedder": {"provider": "callable"}}, embedder=broken)
    await tell(face, opens, *STORY)
    broken.down = True

    pack = await face.context("Where do I live in Oslo?", user_id="alice")

    assert "User is allergic to hazelnuts." in pack.stable
    assert pack.degraded
    assert (await face.profile.get(user_id="alice"))["facts"]


async def test_who_is_shown_in_the_profile_is_not_used(face: Face, opens: Opens) -> None:
    await tell(face, opens, "I love jazz.")
    for query in (IDLE, "Do I love jazz?"):
        await face.context(query, user_id="alice")
    assert await face.listed(filters={"memory.use_count": {"gt": 0}}) == []


async def test_a_receipt_tells_what_the_profile_shows_apart_from_what_is_used(face: Face, opens: Opens) -> None:
    await tell(face, opens, "I love jazz.", "I live in Oslo.", BEES)
    pack = await face.context("Do I love jazz?", user_id="alice")
    assert {one.date for one in pack.citations} == {"2026-01-01"}
    receipt = await face.receipt(pack.receipt_id)
    chosen = {one["id"] for one in receipt["chosen"]}
    assert len(chosen) == 3
    assert not any(one["counts"] for one in receipt["chosen"])
    assert chosen.isdisjoint(one["id"] for one in receipt["dropped"])
    assert receipt["considered"] == len(receipt["chosen"]) + len(receipt["dropped"])
    seen = await face.profile.preview("Do I love jazz?", user_id="alice")
    assert (set(seen["chosen"]), seen["text"].count("jazz")) == (chosen, 1)
    assert chosen.isdisjoint(one["id"] for one in seen["dropped"])


@pytest.mark.req("X-4")
@pytest.mark.parametrize("query", ["Thanks!", "Do I love jazz?"])
async def test_what_tells_nothing_to_remember_is_named_with_a_reason(face: Face, opens: Opens, query: str) -> None:
    await tell(face, opens, "I love jazz.", "haha nice one, good night!")
    (idle,) = ids(await face.get_all(user_id="alice", layers=["turn"], filters={"memory.memory": {"contains": "haha"}}))
    assert "haha" not in await block(face, query)
    known = await face.profile.get(user_id="alice")
    assert (known["left_out"], known["complete"]) == ([{"id": idle, "reason": "tells nothing to remember"}], True)
    receipt = await face.receipt((await face.context(query, user_id="alice")).receipt_id)
    seen = await face.profile.preview(query, user_id="alice")
    for dropped in (receipt["dropped"], seen["dropped"]):
        assert [one["id"] for one in dropped].count(idle) == 1
        assert query != "Thanks!" or {"id": idle, "reason": "tells nothing to remember"} in dropped


async def test_a_receipt_names_what_finds_no_room_in_the_profile(face: Face, opens: Opens) -> None:
    await tell(face, opens, *STORY)
    await face.settings.set({"context.profile_tokens": 20}, user_id="alice")
    left_out = (await face.profile.get(user_id="alice"))["left_out"]
    receipt = await face.receipt((await face.context("Thanks!", user_id="alice")).receipt_id)
    assert [one["reason"] for one in left_out] == ["over the tokens of the profile"] * 2
    assert all(one in receipt["dropped"] for one in left_out)


@pytest.mark.req("O-26", "O-45")
async def test_a_block_of_one_session_holds_nothing_of_another(face: Face, opens: Opens) -> None:
    for run, text in (("r1", "The cello stands in the hall"), ("r2", "The drum stands in the attic")):
        await face.remember(text, user_id="alice", run_id=run)
    await tell(face, opens, BEES, run_id="r2")
    asked = {"user_id": "alice", "run_id": "r1"}
    for query in (IDLE, "Where are the cello and the drum?", BEES):
        text = (await face.context(query, scope="session", **asked)).text
        assert ("cello" in text, "drum" in text, "Bees" in text) == (True, False, False)
        assert "drum" in (await face.context(query, **asked)).text, "the profile is the user's"


@pytest.mark.req("R-4")
async def test_what_an_agent_knows_of_everybody_is_nobodys_profile(face: Face, opens: Opens) -> None:
    for user, music in (("alice", "jazz"), ("bob", "soul")):
        await tell(face, opens, f"I love {music}.", user_id=user, agent_id="bot")
    pack = await face.context(IDLE, agent_id="bot")
    assert (pack.text, pack.stable) == ("", "")
    with pytest.raises(ScopeError, match="belongs to a user"):
        await face.profile.get(agent_id="bot")


# --- what a person decides --------------------------------------------------------------------------------------------


async def test_what_is_pinned_comes_first_and_what_is_hidden_not_at_all(face: Face, opens: Opens) -> None:
    await tell(face, opens, *STORY)
    jazz, nuts = await fact_of(face, "jazz"), await fact_of(face, "hazelnuts")

    pinned = await face.profile.set_visibility(jazz, "pinned")
    hidden = await face.profile.set_visibility(nuts, "hidden")

    assert pinned == {"id": jazz, "event": "UPDATE", "visibility": "pinned", "version": 2}
    assert (hidden["visibility"], (await face.profile.set_visibility(nuts, "hidden"))["event"]) == ("hidden", "NONE")
    known = await face.profile.get(user_id="alice")
    assert (known["facts"][0]["id"], known["facts"][0]["about"]) == (jazz, "pinned")
    assert known["left_out"] == [{"id": nuts, "reason": "hidden by the user"}]
    assert "hazelnuts" not in await block(face)
    assert "hazelnuts" in await block(face, "I'm allergic to hazelnuts", gate="always"), "when a message calls for it"

    await face.profile.set_visibility(nuts, "default")
    assert "hazelnuts" in await block(face)
    past = await face.history(nuts)
    assert [one["reason"] for one in past if one["event"] == "UPDATE"] == ["visibility: hidden", "visibility: default"]


@pytest.mark.req("X-42")
@pytest.mark.parametrize("gate", ["profile", "always", "heuristic"])
async def test_what_is_private_is_shown_to_no_model_and_found_by_its_owner(face: Face, opens: Opens, gate: str) -> None:
    await tell(face, opens, "I have diabetes. Zebras sleep standing up.")
    assert "zebras" in str(await face.profile.get(user_id="alice")).lower(), "or this shows nothing"
    fact = await fact_of(face, "diabetes")
    await face.profile.set_visibility(fact, "private")

    for query in (
        IDLE,
        "I have diabetes",
        "Who am I?",
        "What exactly did I say about diabetes?",
        "Do zebras sleep standing up?",
    ):
        text = await block(face, query, gate=gate)
        assert "diabetes" not in text, query
        assert "ebras sleep standing" not in text, query
    known = await face.profile.get(user_id="alice")
    assert (known["facts"], known["turns"]) == ([], [])
    assert known["left_out"] == [{"id": fact, "reason": "marked private"}]
    assert texts(await face.search("diabetes", user_id="alice")) == ["User has diabetes."]
    assert (await face.get(fact))["visibility"] == "private"

    await face.profile.set_visibility(fact, "default")
    assert "diabetes" in await block(face, gate="always", query="I have diabetes")
    assert "visibility" not in await face.get(fact)


async def test_what_cannot_be_decided_is_an_error(face: Face) -> None:
    memory_id = await face.remember("I live in Oslo")
    with pytest.raises(InvalidInput, match="secret") as caught:
        await face.profile.set_visibility(memory_id, "secret")
    assert caught.value.hint == "one of default, pinned, hidden, private"
    with pytest.raises(NotFoundError):
        await face.profile.set_visibility("nobody", "pinned")
    assert (await face.get(memory_id))["version"] == 1


# --- the user's own words ---------------------------------------------------------------------------------------------


@pytest.mark.req("X-42", "S-31")
async def test_own_words_enter_the_next_day_and_nothing_changes_in_between(face: Face, opens: Opens) -> None:
    await tell(face, opens, "I love jazz.")
    first = (await face.context(IDLE, user_id="alice")).stable

    for hour, text in enumerate(("The plumber rings twice.", BEES, "I see. Thanks!")):
        await face.add(text, user_id="alice", run_id=f"r{hour}")
        opens.clock.advance(hours=5)
        assert (await face.context(text, user_id="alice")).stable == first
        assert (await face.profile.get(user_id="alice"))["turns"] == []

    opens.clock.advance(hours=10)
    tomorrow = await face.context(IDLE, user_id="alice")
    assert "The user's own words:\n" in tomorrow.stable
    assert f"- [2026-01-02] {BEES}\n" in tomorrow.stable
    assert BEES in [one["memory"] for one in (await face.profile.get(user_id="alice"))["turns"]]


LONG: Final = (
    "Das war vielleicht ein Tag bei uns oben. Erst sind die Hühner ausgerissen, dann stand der Keller unter Wasser, "
    "und die Pumpe war weg. Bis zum Mittag haben wir Eimer geschleppt, danach gab es Suppe für alle, die mit "
    "angefasst hatten.{} Und abends meinte der Arzt, dass mein Ausschlag vom Lidocain kommt."
)
"""No fact is made of it, and what matters stands at its end."""


@pytest.mark.req("X-42", "X-4")
async def test_own_words_stand_there_whole_or_not_at_all_and_are_then_recalled(face: Face, opens: Opens) -> None:
    await tell(face, opens, LONG.format(""), LONG.format(" Nass war es." * 9))

    known = await face.profile.get(user_id="alice")

    assert [one["memory"] for one in known["turns"]] == [LONG.format("")]
    assert [one["reason"] for one in known["left_out"]] == ["too long for the profile"]
    assert known["complete"] is False
    for query in ("Wovon kommt mein Ausschlag?", "Was meinte mein Arzt abends?"):
        pack = await face.context(query, user_id="alice")
        assert [section.name for section in pack.sections] == ["turns", "recall"], query
        assert all(section.lines[0].endswith("vom Lidocain kommt.") for section in pack.sections), query


async def test_own_words_that_find_no_room_are_named(face: Face, opens: Opens) -> None:
    await tell(face, opens, BEES, "The plumber rings twice.", "My name is Ida.")
    for tokens in (0, 8, 18):
        few = await face.profile.get(user_id="alice", tokens=tokens)
        visible = {one["id"] for one in (*few["facts"], *few["turns"])}
        left = {one["id"]: one["reason"] for one in few["left_out"]}
        assert (len(visible) + len(left), few["complete"]) == (3, False), tokens
        assert set(left.values()) == {"over the tokens of the profile"}
        assert visible.isdisjoint(left)


@pytest.mark.req("X-42")
async def test_a_day_begins_where_the_user_lives(opens: Opens) -> None:
    face = opens({"extract": {"timezone": "Pacific/Auckland"}})
    await face.add(BEES, user_id="alice")
    opens.clock.advance(hours=10)
    assert (await face.profile.get(user_id="alice"))["turns"] == []
    opens.clock.advance(hours=1, minutes=1)  # midnight in Auckland
    assert [one["date"] for one in (await face.profile.get(user_id="alice"))["turns"]] == ["2026-01-01"]


async def test_of_what_was_said_only_what_the_user_says_themselves_is_told(face: Face, opens: Opens) -> None:
    texts = [
        {"role": "user", "content": BEES},
        {"role": "assistant", "content": "Your porch needs a lamp."},
        {"role": "user", "content": "What is the capital of Peru?"},
        {"role": "user", "content": "My mail said:\n> Our prize for you is my yacht.\n> Call us now."},
        {"role": "user", "name": "Ben", "content": "My porch is larger."},
    ]
    await face.ingest(texts, user_id="alice", run_id="r1")
    opens.clock.advance(days=1)
    assert [one["memory"] for one in (await face.profile.get(user_id="alice"))["turns"]] == [texts[0]["content"]]


async def _delete(face: Face, opens: Opens, fact: str) -> None:
    await face.delete(fact)


async def _forget(face: Face, opens: Opens, fact: str) -> None:
    gone = await face.add("Forget that I love jazz.", user_id="alice")
    assert [one["event"] for one in gone["results"]] == ["DELETE"]
    opens.clock.advance(days=1)


async def _edit(face: Face, opens: Opens, fact: str) -> None:
    await face.update(fact, "User loves the blues.")


async def _supersede(face: Face, opens: Opens, fact: str) -> None:
    changed = await face.add("I don't love jazz any more.", user_id="alice")
    assert [one["event"] for one in changed["results"]] == ["UPDATE"], changed
    opens.clock.advance(days=1)


async def _expire(face: Face, opens: Opens, fact: str) -> None:
    await face.update(fact, expires_at=opens.clock.now() + timedelta(hours=1))
    await block(face)
    opens.clock.advance(hours=2)


async def _quarantine(face: Face, opens: Opens, fact: str) -> None:
    await face.review.quarantine(fact)


async def _disable(face: Face, opens: Opens, fact: str) -> None:
    await face.review.disable(fact)


async def _make_private(face: Face, opens: Opens, fact: str) -> None:
    await face.profile.set_visibility(fact, "private")


ENDS: Final[dict[str, Callable[[Face, Opens, str], Awaitable[None]]]] = {
    "deleted": _delete,
    "forgotten": _forget,
    "edited": _edit,
    "superseded": _supersede,
    "expired": _expire,
    "quarantined": _quarantine,
    "disabled": _disable,
    "private": _make_private,
}


@pytest.mark.req("X-42")
@pytest.mark.parametrize("days", [0, 1])
async def test_what_a_fact_says_is_not_said_again_in_the_words_it_comes_from(
    face: Face, opens: Opens, days: int
) -> None:
    await face.add(JAZZ, user_id="alice")
    opens.clock.advance(days=days)  # then its words stand in the profile, before that they are recalled

    text = await block(face, NEAR)

    assert "User loves jazz." in text
    assert "I love jazz" not in text
    assert "\u2026 The weather forecast mumbles about drizzle over the fjord." in text
    assert JAZZ in await block(face, "What exactly did I say about jazz?"), "the very words are whole"


@pytest.mark.req("X-42")
@pytest.mark.parametrize("end", ENDS)
async def test_a_turn_of_which_something_no_longer_holds_is_not_shown(face: Face, opens: Opens, end: str) -> None:
    await tell(face, opens, JAZZ, "I keep bees.")
    before = await face.profile.get(user_id="alice")
    assert [one["memory"] for one in before["turns"]] == [JAZZ]
    assert "drizzle" in await block(face, NEAR)
    assert JAZZ in await face.found("drizzle")

    await ENDS[end](face, opens, await fact_of(face, "jazz"))

    assert [one for one in (await face.profile.get(user_id="alice"))["turns"] if "jazz" in one["memory"]] == []
    for gate in ("profile", "always"):
        for query in (IDLE, NEAR):
            text = await block(face, query, gate=gate)
            assert "drizzle" not in text
            assert "I love jazz" not in text
    for query in ("drizzle", "jazz", NEAR):
        found = (await face.search(query, user_id="alice"))["results"]
        assert [one["memory"] for one in found if one["layer"] == "turn" and "jazz" in one["memory"]] == []
        remaining = [one["memory"] for one in found if one["memory"] == "User loves jazz."]
        assert end == "private" or remaining == []


@pytest.mark.req("X-42")
async def test_a_turn_of_what_became_part_of_another_memory_goes_with_it(opens: Opens) -> None:
    face = opens({"upkeep": {"merge_facts": 0.5}, "reconcile": {"within": ["user_id", "run_id"]}})
    await tell(face, opens, JAZZ, run_id="r1")
    await tell(face, opens, "I love jazz. Zebras sleep standing up.", run_id="r2")
    assert (await face.admin.consolidate(everybody=True))["merged"] == 1
    (left,) = (await face.get_all(user_id="alice"))["results"]
    assert len((await face.profile.get(user_id="alice"))["turns"]) == 2
    assert "Zebras" in await block(face)

    await face.delete(left["id"])

    assert (await face.profile.get(user_id="alice"))["turns"] == []
    assert await face.found("jazz drizzle zebras") == []
    assert "Zebras" not in await block(face, "Do zebras sleep standing up?")


@pytest.mark.req("X-42")
async def test_what_was_repeated_goes_with_the_fact_that_it_repeats(face: Face, opens: Opens) -> None:
    repeated = ("As I said, I live in Oslo.", "I live in Oslo, remember?")
    await tell(face, opens, "I live in Oslo.")
    await tell(face, opens, *repeated)
    assert [one["memory"] for one in (await face.get_all(user_id="alice"))["results"]] == ["User lives in Oslo."]
    assert await face.found("Oslo") != []

    await tell(face, opens, "I moved to Rome.")

    assert (await face.profile.get(user_id="alice"))["turns"] == []
    for query in (IDLE, "Where do I live? In Oslo?", "I live in Oslo"):
        assert "Oslo" not in await block(face, query)
        assert [text for text in await face.found(query) if "Oslo" in text] == []
    await tell(face, opens, "I moved back to Oslo, I live in Oslo.")
    assert "Oslo" in await block(face), "it was said since"


@pytest.mark.req("X-42")
async def test_a_turn_whose_fact_is_hidden_may_be_recalled_and_is_not_in_the_profile(face: Face, opens: Opens) -> None:
    await tell(face, opens, JAZZ)
    await face.profile.set_visibility(await fact_of(face, "jazz"), "hidden")
    pack = await face.context(NEAR, user_id="alice")
    assert (await face.profile.get(user_id="alice"))["turns"] == []
    assert "drizzle" not in pack.stable
    assert "drizzle" in pack.volatile


@pytest.mark.req("X-42")
async def test_a_look_at_the_past_shows_what_was_said_then(face: Face, opens: Opens) -> None:
    await tell(face, opens, JAZZ)
    then = opens.clock.now()
    await face.update(await fact_of(face, "jazz"), "User loves the blues.")
    opens.clock.advance(days=1)
    assert JAZZ in texts(await face.search("drizzle", user_id="alice", as_of=then))
    assert JAZZ in await block(face, NEAR, as_of=then)
    assert JAZZ not in await block(face, NEAR)


@pytest.mark.req("X-42", "R-4")
async def test_whoever_works_in_a_project_is_not_shown_what_ended_there(face: Face, opens: Opens) -> None:
    await tell(face, opens, JAZZ, project_id="band")
    asked = {"user_id": "bob", "project_id": "band"}
    assert JAZZ in texts(await face.search("drizzle", **asked))
    await face.update(await fact_of(face, "jazz"), "User loves the blues.")
    assert texts(await face.search("drizzle jazz", **asked)) == ["User loves the blues."]
    assert "drizzle" not in (await face.context(NEAR, **asked)).text


@pytest.mark.req("R-4", "X-42")
async def test_nothing_of_anybody_else_is_in_a_profile(face: Face, opens: Opens) -> None:
    await tell(face, opens, *STORY, JAZZ)
    await tell(face, opens, "I keep snakes. Zebras sleep standing up.", user_id="bob")
    await tell(face, opens, "I keep goats. Zebras sleep standing up.", user_id="alice", agent_id="farm")

    bob = await face.profile.get(user_id="bob")
    assert [one["memory"] for one in bob["facts"]] == ["User keeps snakes."]
    assert [one["memory"] for one in bob["turns"]] == ["I keep snakes. Zebras sleep standing up."]
    assert "jazz" not in await block(face, NEAR, user_id="bob")
    assert (await face.profile.get(user_id="carol"))["facts"] == []
    farm = await face.profile.get(user_id="alice", agent_id="farm")
    assert [one["memory"] for one in farm["facts"]] == ["User keeps goats."]
    bound = Face(face.memory.acting_for("default", user_id="bob"))
    assert await bound.profile.get(user_id="bob") == bob
    other = Face(face.memory.acting_for("elsewhere"))
    assert (await other.profile.get(user_id="alice"))["facts"] == []


@ON_DISK
async def test_what_is_masked_later_is_masked_in_the_profile(opens: Opens) -> None:
    face, strict = opens(), opens({"extract": {"redact": {"email": "mask"}}})
    await tell(face, opens, "My email is ida@example.com.", "I love jazz.")
    assert "ida@example.com" in await block(face)

    report = await strict.admin.redact(dry_run=False)

    assert report["found"] > 0
    for one in (face, strict):
        assert "ida@example.com" not in str(await one.profile.get(user_id="alice"))
        assert "ida@example.com" not in await block(one)


@pytest.mark.req("X-42")
async def test_words_that_were_forgotten_are_not_told_on_by_the_wish_to_forget_them(face: Face, opens: Opens) -> None:
    await tell(face, opens, "I love tea.")
    await tell(face, opens, "Forget that I love tea.")
    assert "tea" not in await block(face, "Do I love tea?")
    assert await face.found("tea") == []
    assert (await face.profile.get(user_id="alice"))["turns"] == []


# --- what stays visible -----------------------------------------------------------------------------------------------


@pytest.mark.req("X-43")
async def test_what_is_said_again_is_visible_again(opens: Opens) -> None:
    face = opens({"recall": {"visible_days": 30}})
    await tell(face, opens, "I love jazz.")
    opens.clock.advance(days=40)
    assert await face.found("jazz") == []

    again = await face.add("I love jazz.", user_id="alice")

    assert [one["event"] for one in again["results"]] == ["NONE"]
    assert "User loves jazz." in await face.found("jazz")
    opens.clock.advance(days=40)
    assert await face.found("jazz") == []


@pytest.mark.req("X-43")
async def test_what_is_used_or_changed_stays_visible(opens: Opens) -> None:
    face = opens({"recall": {"visible_days": 30}, "context": {"gate": "always", "false_injection": 0, "limit": 1}})
    for text in ("The cello stands in the hall", "The drum stands in the attic", "The flute lies in a box"):
        await face.remember(text)
    opens.clock.advance(days=20)
    assert "cello" in await block(face, "cello hall")
    await face.update(await fact_of(face, "drum"), "The drum stands in the cellar")
    opens.clock.advance(days=20)
    found = await face.found("cello drum flute")
    assert sorted(found) == ["The cello stands in the hall", "The drum stands in the cellar"]


@pytest.mark.req("X-43", "O-45")
async def test_who_somebody_is_and_what_is_in_the_profile_never_fades(opens: Opens) -> None:
    face = opens({"recall": {"visible_days": 30}})
    await tell(face, opens, *STORY)
    await face.identity.add_override("Answer in French.", user_id="alice")
    opens.clock.advance(days=400)

    full_text = await block(face)

    for text in ("Answer in French.", "User is allergic to hazelnuts.", "User loves jazz."):
        assert text in full_text
    assert await face.found("hazelnuts", layers=["fact"]) == []
    assert len(await face.found("French", layers=["identity"])) == 1
