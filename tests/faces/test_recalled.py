"""What is found and recalled for a message: facts and the user's own words, each once, and no question."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

from tests.faces.harness import Face, Opens
from tests.faces.infer_steps import LOCAL
from tests.faces.profile_steps import IDLE, block, fact_of, tell


@pytest.mark.req("X-42", "X-37")
async def test_a_search_finds_facts_and_turns_and_lists_hold_facts(face: Face, opens: Opens) -> None:
    await tell(face, opens, "I love jazz.", "The tram to the harbour was late again this morning.")

    found = (await face.search("harbour tram jazz", user_id="alice"))["results"]

    assert {one["memory"]: one["layer"] for one in found} == {
        "User loves jazz.": "fact",
        "The tram to the harbour was late again this morning.": "turn",
    }
    assert {one["layer"] for one in (await face.get_all(user_id="alice"))["results"]} == {"fact"}
    recent = await face.search("", user_id="alice", strategy="recent")
    assert {one["layer"] for one in recent["results"]} == {"fact"}
    await face.settings.set({"recall.layers": ["turn"]}, user_id="alice")
    assert {one["layer"] for one in (await face.search("harbour", user_id="alice"))["results"]} == {"turn"}


@pytest.mark.req("X-42")
@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Meine Schwester züchtet Bienen in Bergen.", "Wer züchtet Bienen?"),
        ("Ma sœur élève des abeilles à Lyon.", "Qui élève des abeilles ?"),
        ("Моя сестра держит пчёл в Туле.", "Кто держит пчёл?"),
        ("私の妹は京都で蜂を飼っています。", "蜂を飼っているのは誰?"),
    ],
)
async def test_what_no_fact_holds_is_found_in_its_own_words_in_any_language(
    opens: Opens, said: str, asked: str
) -> None:
    face = opens(LOCAL)
    await tell(face, opens, said, "The tram was late.", "The harbour crane is blue.")

    best = (await face.search(asked, user_id="alice"))["results"][0]

    assert (best["layer"], best["memory"]) == ("turn", said)
    assert said in await block(face, asked)
    assert said in [one["memory"] for one in (await face.profile.get(user_id="alice"))["turns"]]


ELSEWHERE: Final = {
    "es": (
        "Mi prima Carmen cría ovejas en Soria.",
        "Soy zurdo y toco el violín.",
        "La moto está en el taller hasta el viernes.",
        "El contrato del piso acaba en otoño.",
        "Hemos adoptado una gata que se llama Nube.",
        "Hoy hizo mucho viento.",
    ),
    "ja": (
        "従姉妹のさくらは長野で羊を飼っています。",
        "私は左利きで、バイオリンを弾きます。",
        "バイクは金曜日まで修理工場にあります。",
        "アパートの契約は秋に終わります。",
        "「雲」という名前の猫を引き取りました。",
        "昨日は風が強かったです。",
    ),
}
"""What people say of themselves in languages that do not say who does something."""


@pytest.mark.req("X-42")
@pytest.mark.parametrize(
    ("language", "asked", "at"),
    [
        ("es", "¿Dónde está la moto?", 2),
        ("es", "¿Cuándo acaba el contrato?", 3),
        ("es", "¿Cómo se llama la gata?", 4),
        ("es", "¿Qué instrumento toco?", 1),
        ("ja", "バイクはどこにありますか?", 2),
        ("ja", "契約はいつ終わりますか?", 3),
        ("ja", "猫の名前は何ですか?", 4),
        ("ja", "羊を飼っているのは誰ですか?", 0),
    ],
)
async def test_what_answers_is_recalled_on_its_day_in_any_language(
    opens: Opens, language: str, asked: str, at: int
) -> None:
    face, texts = opens(LOCAL), ELSEWHERE[language]
    for one in texts:
        await face.add(one, user_id="alice")

    assert texts[at] in await block(face, asked)


@pytest.mark.req("X-42")
@pytest.mark.parametrize(
    ("language", "asked"),
    [
        ("es", "¿Cuánto es doce por nueve?"),
        ("es", "¿Quién pintó la Gioconda?"),
        ("es", "Muchas gracias, hasta luego"),
        ("ja", "富士山の高さはどのくらいですか?"),
        ("ja", "おはようございます"),
    ],
)
async def test_what_asks_for_nothing_personal_recalls_nothing_in_any_language(
    opens: Opens, language: str, asked: str
) -> None:
    face = opens(LOCAL)
    for one in ELSEWHERE[language]:
        await face.add(one, user_id="alice")

    assert (await face.context(asked, user_id="alice")).volatile == ""


@pytest.mark.req("X-42")
async def test_without_an_embedder_words_bring_what_answers_in_another_language(opens: Opens) -> None:
    face = opens({"embedder": {"provider": "none"}})
    for one in ELSEWHERE["es"]:
        await face.add(one, user_id="alice")

    assert ELSEWHERE["es"][3] in await block(face, "¿Cuándo se me acaba el contrato?")


@pytest.mark.req("X-42")
async def test_nothing_is_lost_when_a_turn_and_its_facts_are_shown_once(face: Face, opens: Opens) -> None:
    cities = ("Oslo", "Rome", "Lima", "Bonn", "Cork")
    await tell(face, opens, *(f"I have a friend in {city}." for city in cities))
    for limit in range(1, 6):
        found = (await face.search("friend", user_id="alice", limit=limit))["results"]
        assert len(found) == limit
        scores = [one["score"] for one in found]
        assert scores == sorted(scores, reverse=True)
    every = (await face.search("friend", user_id="alice"))["results"]
    assert [one["layer"] for one in every] == ["fact"] * len(cities)
    assert all(one["source"] for one in every)


@pytest.mark.req("X-42")
async def test_a_question_that_was_asked_before_is_not_told_again(face: Face, opens: Opens) -> None:
    await face.add(["When does the plumber ring?", "The plumber rings on Thursdays at nine."], user_id="alice")
    visible = await face.context("When does the plumber ring?", user_id="alice")
    assert "Thursdays" in visible.text
    assert "When does" not in visible.text
    receipt = await face.receipt(visible.receipt_id)
    assert "the message itself, sent earlier" in {one["reason"] for one in receipt["dropped"]}


ASKED: Final = (
    "Where do I keep my cello?",
    "What is my cello worth?",
    "Can I play the cello?",
    "Who tuned my cello last?",
)


@pytest.mark.req("X-42")
async def test_what_only_asked_is_no_memory(face: Face, opens: Opens) -> None:
    tells = "Can I leave the cello for a whole night right beside my pacemaker charger on the old shelf?"
    await tell(face, opens, *ASKED, "Wo steht mein Cello?", tells)
    await face.remember("The cello stands in the hall", user_id="alice")

    known = await face.profile.get(user_id="alice")
    assert [one["memory"] for one in known["turns"]] == [tells]
    await face.profile.set_visibility(known["turns"][0]["id"], "private")
    visible = await face.context("Where do I keep the cello?", user_id="alice")
    assert [line for section in visible.sections for line in section.lines] == ["- The cello stands in the hall"]
    receipt = await face.receipt(visible.receipt_id)
    assert "only asks" in {one["reason"] for one in receipt["dropped"]}


@pytest.mark.req("X-42", "X-37")
async def test_what_only_asked_stands_behind_what_answers_in_a_search(opens: Opens) -> None:
    face = opens(LOCAL)
    await tell(face, opens, *ASKED, "The cello stands in the hall of the town house.")

    found = (await face.search("Where do I keep my cello?", user_id="alice"))["results"]

    assert "hall" in found[0]["memory"]
    assert found[0]["score"] > 0.5 > found[1]["score"]
    asked = await face.search("Where do I keep my cello?", user_id="alice", layers=["turn"])
    assert asked["results"][0]["memory"] == ASKED[0], "unless turns are what is looked for"


@pytest.mark.req("X-42")
async def test_what_says_no_more_than_a_fact_is_not_told_beside_it(face: Face, opens: Opens) -> None:
    await face.add("I live in Oslo.", user_id="alice")
    await face.add("As I said, I live in Oslo.", user_id="alice")
    assert (await block(face, "Where do I live? In Oslo?")).count("Oslo") == 1
    opens.clock.advance(days=1)
    assert (await block(face)).count("Oslo") == 1


AGAIN: Final = "I have diabetes. Zebras sleep standing up."


@pytest.mark.req("X-42")
@pytest.mark.parametrize("first", ["private", "said again"])
@pytest.mark.parametrize("gate", ["profile", "always", "heuristic"])
async def test_what_is_private_stays_so_when_it_is_said_again(opens: Opens, first: str, gate: str) -> None:
    face = opens(LOCAL)
    await tell(face, opens, "I have diabetes.")
    fact = await fact_of(face, "diabetes")
    if first == "private":
        await face.profile.set_visibility(fact, "private")
    again = await face.add(AGAIN, user_id="alice")
    assert [(one["event"], one["id"]) for one in again["results"]] == [("NONE", fact)], "or this shows nothing"
    await face.profile.set_visibility(fact, "private")
    for _ in range(2):
        for query in (IDLE, "How do zebras sleep?", "What exactly did I say about zebras?"):
            assert "Zebras" not in await block(face, query, gate=gate), query
        assert (await face.profile.get(user_id="alice"))["turns"] == []
        opens.clock.advance(days=1)

    await face.profile.set_visibility(fact, "default")
    assert "Zebras" in await block(face, "How do zebras sleep?")
    await face.update(fact, "User is healthy.")
    assert "Zebras" not in await block(face, "How do zebras sleep?"), "it has changed since"


@pytest.mark.req("X-42")
@pytest.mark.parametrize(
    ("said", "event"),
    [
        ("I have type 1 diabetes.", "ADD"),
        ("I no longer have diabetes.", "UPDATE"),
    ],
)
async def test_what_says_more_of_something_private_or_changes_it_is_private(
    opens: Opens, said: str, event: str
) -> None:
    face = opens(LOCAL)
    await tell(face, opens, "I have diabetes.", "I keep bees.")
    await face.profile.set_visibility(await fact_of(face, "diabetes"), "private")

    again = await face.add(said, user_id="alice")

    assert [one["event"] for one in again["results"]] == [event]
    opens.clock.advance(days=1)
    for query in (IDLE, "Do I have diabetes?", "What exactly did I say about diabetes?"):
        assert "diabetes" not in await block(face, query, gate="always"), query
        text = await block(face, query)
        assert ("diabetes" in text, "User keeps bees." in text) == (False, True), query


@pytest.mark.req("X-42")
async def test_what_was_said_on_a_day_is_recalled_for_a_question_that_names_nothing_else(opens: Opens) -> None:
    face = opens(LOCAL | {"context": {"profile_tokens": 0}})
    await face.add("The dentist drilled two holes.", user_id="alice", occurred_at="2025-03-14T10:00:00Z")
    await face.add("A new bicycle came by mail.", user_id="alice", occurred_at="2025-04-14T10:00:00Z")
    for asked in ("What happened on 14 March 2025?", "what happened on 2025-03-14?"):
        visible = (await face.context(asked, user_id="alice")).volatile
        assert "dentist" in visible
        assert "bicycle" not in visible


@pytest.mark.req("X-42", "S-26")
@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("Was haben wir im März besprochen?", "march"),
        ("Was war am 14. März?", "march"),
        ("Qu'avons-nous dit en mars ?", "march"),
        ("¿Qué pasó el 14 de marzo?", "march"),
        ("Cosa ho detto il 14 marzo?", "march"),
        ("O que aconteceu em março?", "march"),
        ("Wat hebben we in maart besproken?", "march"),
        ("3月14日に何がありましたか?", "march"),
        ("三月发生了什么?", "march"),
        ("Was war im Februar 2026?", ""),
        ("¿Qué dije el mes pasado?", "april"),
        ("先月は何がありましたか?", "april"),
    ],
)
async def test_a_time_in_another_language_brings_what_belongs_to_it(opens: Opens, asked: str, there: str) -> None:
    face = opens(LOCAL | {"context": {"profile_tokens": 0}})
    texts = {"march": "Der Zahnarzt hat zwei Löcher gebohrt.", "april": "Ein neues Fahrrad kam mit der Post."}
    await face.add(texts["march"], user_id="alice", occurred_at="2026-03-14T10:00:00Z")
    await face.add(texts["april"], user_id="alice", occurred_at="2026-04-20T10:00:00Z")
    opens.clock.set(datetime(2026, 5, 7, 12, tzinfo=UTC))

    visible = (await face.context(asked, user_id="alice")).volatile

    assert {name for name, text in texts.items() if text in visible} == ({there} if there else set())


@pytest.mark.req("S-26")
@pytest.mark.parametrize(
    "asked",
    [
        "Was soll ich im Juni mit dem Zahnarzt besprechen?",  # what is to come
        "Wann ist am Montag der Zahnarzt?",  # the last or the next one
        "Что сказал Zahnarzt в феврале?",  # not understood
        "Hat der Zahnarzt im Februar gebohrt?",  # nothing was said then, and perhaps the next one is meant
    ],
)
async def test_a_time_that_is_not_surely_understood_filters_nothing_away(opens: Opens, asked: str) -> None:
    face = opens(LOCAL | {"context": {"profile_tokens": 0}})
    await face.add("Der Zahnarzt hat zwei Löcher gebohrt.", user_id="alice", occurred_at="2026-03-14T10:00:00Z")
    opens.clock.set(datetime(2026, 5, 7, 12, tzinfo=UTC))

    assert "Löcher" in (await face.context(asked, user_id="alice")).volatile


@pytest.mark.parametrize("gate", ["profile", "heuristic"])
async def test_a_sum_recalls_nothing_where_its_numbers_were_said(opens: Opens, gate: str) -> None:
    face = opens(LOCAL | {"context": {"profile_tokens": 0}})
    await face.add("Ich habe 17 Enten und 23 Hühner.", user_id="alice")
    for message in ("17 * 23 = ?", "17", "\U0001f642"):
        assert (await face.context(message, user_id="alice", gate=gate)).volatile == "", message


async def test_a_greeting_recalls_nothing_even_where_its_words_were_said(opens: Opens) -> None:
    face = opens(LOCAL | {"context": {"profile_tokens": 0}})
    await face.add("Subject: hi\n\nThe meeting with Bob is moved to noon.", user_id="alice")
    for message in ("hi", "hello there!", "thanks"):
        assert (await face.context(message, user_id="alice")).volatile == ""


_LIFE: Final = (
    "I live in a flat above the bakery in Ghent.",
    "My daughter Noor plays the cello in the school orchestra.",
    "I am allergic to shellfish.",
    "I work as a surveyor for the water board.",
    "Our dog Biscuit is afraid of thunder.",
    "My brother Sam is getting married in June.",
    "I drive an old green Volvo.",
    "I have been learning Portuguese since last winter.",
)
_ANSWERED: Final = (
    "What instrument does my daughter play?",
    "What am I allergic to?",
    "Who is afraid of thunder?",
    "What car do I drive?",
    "Which language am I learning?",
    "shellfish",
)
_UNRELATED: Final = (
    "How do I sort a list in Rust?",
    "what is the capital of Mongolia",
    "Explain photosynthesis",
    "convert 3 miles to km",
    "who won the world cup in 1998",
    "what does GDP stand for",
)


@pytest.mark.req("C-58.4", "X-42")
async def test_one_half_lies_between_what_answers_and_what_is_unrelated(opens: Opens) -> None:
    face = opens(LOCAL)
    await tell(face, opens, *_LIFE)

    async def best(query: str) -> float:
        return float((await face.search(query, user_id="alice"))["results"][0]["score"])

    assert [query for query in _ANSWERED if await best(query) <= 0.5] == []
    assert [query for query in _UNRELATED if await best(query) >= 0.5] == []
