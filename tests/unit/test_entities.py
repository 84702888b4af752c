"""The names in a text and how they are related, by rules alone."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.en.entities import (
    MAX_ASKED,
    entities_from_spotted,
    find_names,
    normalize_name,
    query_entities,
    query_forms,
)
from memstone.language.en.relations import found_in, query_roles
from memstone.model.memory import MAX_FOUND, EntityFound, EntityType

NAMED = [
    # what was masked
    ("Anna's key is [redacted:api_key], said Anna.", "Anna:person"),
    # people
    ("My sister Anna called.", "Anna:person"),
    ("Yesterday Felix and I cooked soup.", "Felix:person"),
    ("Dr. Okafor changed my prescription.", "Dr. Okafor:person"),
    ("I had lunch with Mrs. Lindqvist.", "Mrs. Lindqvist:person"),
    ("Hey Priya, are you free?", "Priya:person"),
    ("Thanks Tomasz! That helped.", "Tomasz:person"),
    ("Zuzanna told me about the offer.", "Zuzanna:person"),
    ("Our neighbour Bartholomew grows roses.", "Bartholomew:person"),
    ("I married Svetlana in the spring.", "Svetlana:person"),
    ("Grandma sent Oliver and Emma a parcel.", "Oliver:person Emma:person"),
    ("The novel is by Ursula K. Le Guin.", "Ursula K. Le Guin:person"),
    ("Jean-Luc O'Brien fixed the roof.", "Jean-Luc O'Brien:person"),
    ("Her name is Xiomara.", "Xiomara:person"),
    ("My boss is Ragnhild.", "Ragnhild:person"),
    ("Mateusz\u2019s birthday is soon.", "Mateusz:person"),
    ("We met Aunt Cordelia there.", "Aunt Cordelia:person"),
    ("I spoke with Élodie about it, and Élodie agreed.", "Élodie:concept"),
    ("Łukasz said no.", "Łukasz:person"),
    # organisations
    ("I work at Contoso.", "Contoso:organization"),
    ("She is an engineer at Fabrikam.", "Fabrikam:organization"),
    ("The bill came from Nordlicht GmbH.", "Nordlicht GmbH:organization"),
    ("He studies at the University of Ghent.", "University of Ghent:organization"),
    ("Acme Inc sent a letter.", "Acme Inc:organization"),
    ("They transferred it to Deutsche Bank.", "Deutsche Bank:organization"),
    ("I just joined Initech as a tester.", "Initech:organization"),
    ("Google bought the building.", "Google:organization"),
    ("He volunteers for NASA.", "NASA:organization"),
    ("My job at Umbrella is boring.", "Umbrella:organization"),
    ("Open an account at Wells Fargo & Company.", "Wells Fargo & Company:organization"),
    # places
    ("I live in Tromsø.", "Tromsø:location"),
    ("We moved to New Plymouth.", "New Plymouth:location"),
    ("The trip to Patagonia was long.", "Patagonia:location"),
    ("Berlin is cold.", "Berlin:location"),
    ("She was born in Łódź.", "Łódź:location"),
    ("He hiked around Lake Bled.", "Lake Bled:location"),
    ("The shop is on Baker Street.", "Baker Street:location"),
    ("I am from Kerala.", "Kerala:location"),
    ("They flew to Rio de Janeiro.", "Rio de Janeiro:location"),
    ("We camped near St. Moritz.", "St. Moritz:concept"),
    ("i moved from lisbon to porto", "lisbon:location porto:location"),
    ("He is in Ulm today.", "Ulm:location"),
    ("i live in new york now", "new york:location"),
    ("I do not drive.", ""),
    # products and technology
    ("I use Python 3.12 at night.", "Python 3.12:technology"),
    ("We deploy with Docker and Kubernetes.", "Docker:technology Kubernetes:technology"),
    ("My new iPhone 15 broke.", "iPhone 15:product"),
    ("I bought a Brompton.", "Brompton:product"),
    ("The backend is written in Elixir.", "Elixir:technology"),
    ("i run postgres on linux", "postgres:technology linux:technology"),
    ("My Kindle is full.", "Kindle:product"),
    ("He codes in C++ and c# only.", "C++:technology c#:technology"),
    ("We moved to Node.js last year.", "Node.js:technology"),
    # events
    ("We met at the Edinburgh Festival.", "Edinburgh Festival:event"),
    ("She runs the Boston Marathon.", "Boston Marathon:event"),
    ("I fly home for Christmas.", "Christmas:event"),
    # quoted
    ('I am reading "The Left Hand of Darkness".', "The Left Hand of Darkness:concept"),
    ("We sang “Auld Lang Syne” twice.", "Auld Lang Syne:concept"),
    ("The boat is called 'Sea Urchin'.", "Sea Urchin:concept"),
    ('Our band is named "quiet tuesday".', "quiet tuesday:concept"),
    ('She said "I will come later".', ""),
    ('He shouted "Stop!" and ran.', ""),
    # identifiers
    ("Ticket OPS-1431 is open.", "OPS-1431:concept"),
    ("Call parse_config from utils.py first.", "parse_config:technology utils.py:technology"),
    ("The bug is in v2.4.1 only.", "v2.4.1:technology"),
    ("Set maxRetries to three.", "maxRetries:technology"),
    ("Write to ida.berg@example.org today.", "ida.berg@example.org:person"),
    ("Follow @quietbaker for more.", "@quietbaker:person"),
    ("See https://Example.com/Some/Page for it.", ""),
    ("She tried gpt-4o on it.", "gpt-4o:technology"),
    # compounds
    ("I lead a grief support group.", "support group:concept"),
    ("The chess clubs of this town are full.", "chess club:concept"),
    ("My peanut allergy got worse.", "peanut allergy:concept"),
    ("It was a good class.", ""),
    ("Her video game collection is huge.", "video game collection:concept"),
    ("The painting class was full.", "painting class:concept"),
    ("We were painting classes of boats.", ""),
    # ordinary words with a capital
    ("Dinner was lovely.", ""),
    ("Yesterday was fine. Tomorrow will be, too.", ""),
    ("I'm tired. I'll sleep.", ""),
    ("On Monday in May we rest.", ""),
    ("Thanks! Great. Wow, OK.", ""),
    ("Swimming helps me relax.", ""),
    ("Mom and Dad are well.", ""),
    ("THIS IS ALL SHOUTED IN ROME", ""),
    ("nothing to see here", ""),
    ("What did You say?", ""),
    ("I LOVE it SO much", ""),
    # sentence starts that are names after all
    ("Biscuit's collar is red.", "Biscuit:concept"),
    ("Quillon was here, and I like Quillon.", "Quillon:concept"),
    ("Machu Picchu is high up.", "Machu Picchu:concept"),
    ("Visiting Rome was nice.", "Rome:location"),
    ("Zuzanna teaches Latin.", "Zuzanna:person Latin:concept"),
    ("Contoso sells lamps.", "Contoso:concept"),
    ("Traffic gets worse.", ""),
    ("Last Friday Hanna left.", "Hanna:concept"),
    ("", ""),
]


def shown(text: str) -> set[str]:
    return {f"{one.name}:{one.type}" for one in entities_from_spotted(find_names(text).names)}


def expected(listed: str) -> set[str]:
    """``name:type name:type``, where a name may have blanks."""
    found, words = set(), []
    for word in listed.split(" "):
        words.append(word)
        if ":" in word:
            found.add(" ".join(words))
            words = []
    return found


@pytest.mark.parametrize(("text", "names"), NAMED)
@pytest.mark.req("N-36")
def test_names_are_found_with_their_type_and_nothing_else_is(text: str, names: str) -> None:
    assert shown(text) == expected(names)


def test_there_are_many_sentences() -> None:
    assert len(NAMED) >= 80


@pytest.mark.req("N-36")
def test_a_name_counts_once_however_often_it_stands_there() -> None:
    text = "Anna met Tom. Tom likes Anna's garden, and anna likes the TOM that Tom is."
    assert [one.norm for one in entities_from_spotted(find_names(text).names)].count("anna") == 1


@pytest.mark.req("N-36")
def test_a_type_that_is_told_in_one_place_holds_for_the_whole_text() -> None:
    assert shown("I like Brix. I work at Brix. Everybody knows Brix.") == {"Brix:organization"}


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("The Matrix", "matrix"),
        ("ANNA", "anna"),
        ("Anna's", "anna"),
        ("Anna\u2019s", "anna"),
        ("  New   York ", "new york"),
        ("my  Sister's", "sister"),
        ("C++", "c++"),
        ("\ufb01sh Bar", "fish bar"),
        ("Stra\u00dfe", "strasse"),
        ("the", "the"),
        ("", ""),
    ],
)
@pytest.mark.req("R-12", "N-36")
def test_the_normal_form_of_a_name(name: str, same: str) -> None:
    assert normalize_name(name) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ann", "Anna"), ("Java", "JavaScript"), ("New York", "New York City"), ("Max", "Max Weber"), ("v1.2", "v1.20")],
)
@pytest.mark.req("R-12")
def test_names_that_share_a_beginning_stay_apart(one: str, other: str) -> None:
    found = entities_from_spotted(find_names(f"We talked about {one} and then about {other}.").names)
    assert normalize_name(one) != normalize_name(other)
    assert {normalize_name(one), normalize_name(other)} <= {entity.norm for entity in found}


@given(st.text())
def test_normal_forms_are_their_own_normal_form(name: str) -> None:
    assert normalize_name(normalize_name(name)) == normalize_name(name)


ODD_TEXT = st.one_of(
    st.text(),
    st.text(alphabet="AB ab.'\"@_-1\n\u2019\u201c\u201d", max_size=200),
    st.lists(st.sampled_from("Anna my sister works at Acme in Rome . ? I use and the Dr. 's \" I'm".split())).map(
        " ".join
    ),
)


@given(ODD_TEXT)
@pytest.mark.req("N-36")
def test_any_text_gives_few_names_that_stand_in_it(text: str) -> None:
    found = found_in(text)
    assert len(found.entities) <= MAX_FOUND + 1
    assert len(query_entities(text)) <= MAX_ASKED
    assert len(query_forms(text)) <= MAX_FOUND
    for one in find_names(text).names:
        assert 0 <= one.start < one.end <= len(text)
        assert one.name.split()[0] in text[one.start : one.end]
    assert len({one.norm for one in found.entities}) == len(found.entities)
    assert all(one.norm and one.type in set(EntityType) for one in found.entities)


@given(ODD_TEXT)
def test_every_end_of_a_relation_is_an_entity_of_the_text(text: str) -> None:
    found = found_in(text)
    known = {one.norm for one in found.entities}
    assert all(one.source in known and one.target in known and one.source != one.target for one in found.relations)
    assert all(one.evidence in text for one in found.relations)


def test_a_very_long_text_gives_its_first_names_only() -> None:
    text = " ".join(
        f"Then {letter}{letter.lower()}{number:03}x came." for letter in string.ascii_uppercase for number in range(400)
    )
    assert len(found_in(text).entities) == MAX_FOUND


RELATED = [
    ("I work at Contoso.", "user works_at contoso"),
    ("I'm working as a tester for Initech.", "user works_at initech"),
    ("I'm a nurse at Fairview.", "user works_at fairview"),
    ("User works at Contoso as a data engineer.", "user works_at contoso"),
    ("User is a data scientist at Netflix.", "user works_at netflix"),
    ("My sister Anna works at Acme GmbH in Berlin.", "anna works_at acme gmbh; anna sister_of user"),
    ("I have a new job at Spotify.", "user works_at spotify"),
    ("I worked at Initech.", "user works_at initech (ended)"),
    ("I left Google in spring.", "user works_at google (ended)"),
    ("I studied physics at Heidelberg University.", "user studies_at heidelberg university (ended)"),
    ("I live in Oslo and work for Google.", "user lives_in oslo; user works_at google"),
    ("User currently lives in Bergen.", "user lives_in bergen"),
    ("I used to live in Rome.", "user lives_in rome (ended)"),
    ("We moved to Lisbon.", "user lives_in lisbon"),
    ("I'm originally from Poland.", "user comes_from poland"),
    ("I'm from Poland.", "user comes_from poland"),
    ("Siemens is headquartered in Munich.", "siemens located_in munich"),
    ("Nordlys is based in Bergen.", "nordlys located_in bergen"),
    ("Anna is based in Bergen.", "anna lives_in bergen"),
    ("Julia was born in Quito.", "julia born_in quito"),
    ("Tom's wife Clara works at Siemens.", "clara wife_of tom; clara works_at siemens"),
    ("User's brother Max lives in Paris.", "max brother_of user; max lives_in paris"),
    ("Anna is my boss.", "anna boss_of user"),
    ("My mom is Ingrid.", "ingrid mother_of user"),
    ("My best friend, Tom, is here.", "tom friend_of user"),
    ("I married Sofia.", "user spouse_of sofia"),
    ("I met Julia yesterday.", "user knows julia"),
    ("My dog Rex is old.", "user owns rex"),
    ("We have a cat named Minka.", "user owns minka"),
    ("I bought a Brompton.", "user owns brompton"),
    ("I use Docker, Python and Linux.", "user uses docker; user uses python; user uses linux"),
    ("We switched to Postgres.", "user uses postgres"),
    ("Do I work at Google?", ""),
    ("I don't use Docker.", ""),
    ("I never worked at Google.", ""),
    ("I wish I lived in Paris.", ""),
    ("If I lived in Paris, I would be happy.", ""),
    ("I want to live in Paris.", ""),
    ("She works at Contoso.", ""),
]


def edges(found: EntityFound) -> set[str]:
    return {f"{one.source} {one.relation} {one.target}{' (ended)' * one.ended}" for one in found.relations}


@pytest.mark.parametrize(("text", "relations"), RELATED)
@pytest.mark.req("N-36")
def test_relations_that_a_text_states(text: str, relations: str) -> None:
    assert edges(found_in(text)) == set(relations.split("; ")) - {""}


@pytest.mark.parametrize(
    ("text", "spoken_of"),
    [
        ("Hey Anna! I am tired.", set()),
        ("Thanks, Anna.", set()),
        ("That is lovely, Anna!", set()),
        ("Anna, are you there?", set()),
        ("Hey Anna! Is Anna's bike yours?", {"anna"}),
        ("Anna, my sister, called.", {"anna", "user"}),
        ("I saw my sister, Anna.", {"anna", "user"}),
        ("We visited Tom, Anna, and Felix.", {"tom", "anna", "felix"}),
        ("Hi from Oslo, Anna!", {"oslo"}),
    ],
)
def test_who_is_only_addressed_is_not_spoken_of(text: str, spoken_of: set[str]) -> None:
    assert {one.norm for one in found_in(text).entities} == spoken_of
    assert "anna" in {one.norm for one in query_entities(text)}


def test_who_says_i_is_the_speaker_and_nobody_when_an_assistant_speaks() -> None:
    assert edges(found_in("I live in Oslo.", "Ida Berg")) == {"ida berg lives_in oslo"}
    assert edges(found_in("I live in Oslo.", "")) == set()


@pytest.mark.req("N-36")
def test_the_user_is_an_entity_only_where_something_is_said_about_him() -> None:
    assert "user" in {one.norm for one in found_in("I live in Oslo.").entities}
    assert "user" not in {one.norm for one in found_in("Oslo is far.").entities}


@pytest.mark.req("N-36")
def test_a_question_in_small_letters_still_reaches_names() -> None:
    forms = query_forms("where does zuzanna nowak work?")
    assert {"zuzanna", "nowak", "zuzanna nowak"} <= forms.keys()
    assert "where" not in forms


def test_part_of_a_name_is_less_sure_than_the_whole() -> None:
    forms = query_forms("Where does Anna Schmidt work?")
    assert forms["anna schmidt"] > forms["anna"]


@pytest.mark.parametrize(
    ("question", "roles"),
    [
        ("Where does my sister work?", [("user", "sister_of")]),
        ("What is Tom's wife called?", [("tom", "wife_of")]),
        ("How is my mum and my old boss?", [("user", "mother_of"), ("user", "boss_of")]),
        ("Where is Anna?", []),
    ],
)
def test_whom_a_question_means_by_what_they_are_to_somebody(question: str, roles: list[tuple[str, str]]) -> None:
    assert query_roles(question) == roles
