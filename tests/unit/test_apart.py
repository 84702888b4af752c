"""What sounds alike and is about another one: individuals, people, and what stands in the same place."""

from __future__ import annotations

import pytest

from memstone.core.changes.apart import brings_news, individuals, is_closer, names_another, other_people, puts_another
from memstone.core.changes.reconcile import Action, Decision, Known, decide
from memstone.core.changes.statement import understand


def settled(new: str, *known: str, cosine: float = 0.8) -> Decision:
    return decide(understand(new), [Known(understand(text), cosine) for text in known])


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("text", "sort", "names"),
    [
        ("User's sister Ada lives in Oslo.", "sister", {"ada"}),
        ("My little brother Tom is 9", "brother", {"tom"}),
        ("User has a dog named Rex.", "dog", {"rex"}),
        ("Project Falcon is due on Friday.", "project", {"falcon"}),
        ("User's daughters Mia and Lea are twins.", "daughter", {"mia", "lea"}),
        ("The server Athena runs Debian.", "server", {"athena"}),
    ],
)
def test_individuals_are_known_by_their_sort(text: str, sort: str, names: set[str]) -> None:
    assert individuals(text)[sort] == names


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    "text",
    [
        "User lives in Oslo.",
        "User's new Tesla is red.",
        "User's exam is on Monday.",
        "User visited Rome.",
        "my trip to Bonn",
    ],
)
def test_a_name_that_is_no_name_of_a_sort_is_no_individual(text: str) -> None:
    assert not individuals(text)


OTHERS = [
    ("User's sister Eva lives in Bergen.", "User's sister Ada lives in Oslo."),
    ("User's son Max is 8.", "User's son Leo is 5."),
    ("User has a dog named Bob.", "User has a dog called Rex."),
    ("User's colleague Dan works in marketing.", "User's colleague Priya works in sales."),
    ("Project Hawk is due in June.", "Project Falcon is due in May."),
    ("User's cat Luna weighs 5 kg.", "User's cat Milo weighs 4 kg."),
    ("User's flatmate Jo moved to Bonn.", "User's flatmate Kim lives in Cologne."),
    ("User's aunt Rita is 70.", "User's aunt May is 64."),
]
THE_SAME_ONE = [
    ("User's sister Ada lives in Bergen.", "User's sister Ada lives in Oslo."),
    ("User's sister moved to Bergen.", "User's sister Ada lives in Oslo."),
    ("User's son Leo is 6.", "User's son Leo is 5."),
    ("User's cat Luna weighs 5 kg.", "User's cat Luna weighs 4 kg."),
    ("User's brother Tom works at Lidl.", "User's brother works at Aldi."),
    ("User's favorite colour is red.", "User's favourite colour is green now."),
    ("Project Falcon is due in June.", "Project Falcon is due in May."),
]


@pytest.mark.req("P-17")
@pytest.mark.parametrize(("new", "memory"), OTHERS)
def test_another_individual_of_a_sort_changes_nothing(new: str, memory: str) -> None:
    assert names_another(understand(new), understand(memory))
    assert settled(new, memory).action is Action.ADD


@pytest.mark.req("P-17")
@pytest.mark.parametrize(("new", "memory"), THE_SAME_ONE)
def test_what_changes_for_the_same_individual_is_revised(new: str, memory: str) -> None:
    assert settled(new, memory).action is Action.REVISE


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User has a sister.", "User has a brother."),
        ("User's aunt lives in Rome.", "User's uncle lives in Rome."),
        ("User's mother plays chess.", "User's father plays chess."),
        ("User visits their nephew on Sundays.", "User visits their niece on Sundays."),
        ("User has a grandson.", "User has a granddaughter."),
    ],
)
def test_other_people_are_not_the_same(new: str, memory: str) -> None:
    assert other_people(understand(new), understand(memory))
    assert settled(new, memory).action is Action.ADD


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User's mum plays chess.", "User's mother plays chess."),
        ("User has a son.", "User has a child."),
        ("User's dad is a baker.", "User's father is a baker."),
        ("User has a sister and two brothers.", "User has two brothers and one sister."),
        ("User's kids like swimming.", "User's children like swimming."),
    ],
)
def test_the_same_people_by_another_word_are_the_same(new: str, memory: str) -> None:
    assert not other_people(understand(new), understand(memory))


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User likes dogs.", "User likes cats."),
        ("User teaches physics.", "User teaches maths."),
        ("User's favourite actor is Adele.", "User's favourite singer is Adele."),
        ("User loves rock music.", "User likes jazz music."),
        ("User plays the violin in an orchestra.", "User plays the cello in an orchestra."),
        ("User is allergic to pollen.", "User is allergic to shellfish."),
        ("User collects stamps.", "User collects coins."),
        ("User likes to swim.", "User likes to paint."),
    ],
)
def test_another_word_in_the_same_place_is_news_however_near(new: str, memory: str) -> None:
    assert puts_another(understand(new), understand(memory))
    assert settled(new, memory, cosine=0.9).action is Action.ADD


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User loves cats.", "User likes cats."),
        ("User really likes jazz.", "User likes jazz."),
        ("User watches movies.", "User watches films."),
        ("User's dad was a conductor on the railroad.", "User's father was a train conductor."),
        ("User wants to be called Captain.", "User wants to be addressed as Captain."),
        ("User is employed at Lidl.", "User works at Lidl."),
    ],
)
def test_the_same_told_with_another_verb_or_order_is_no_news(new: str, memory: str) -> None:
    assert not puts_another(understand(new), understand(memory))


@pytest.mark.req("C-58.16", "P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User likes green tea.", "User likes tea."),
        ("User drinks decaf coffee every morning.", "User drinks coffee every morning."),
        ("User listens to baroque music.", "User listens to music."),
        ("User teaches quantum physics.", "User teaches physics."),
    ],
)
def test_what_is_described_more_closely_refines_what_is_known(new: str, memory: str) -> None:
    decision = settled(new, memory)
    assert (decision.action, decision.target) == (Action.REVISE, 0)


@pytest.mark.req("C-58.16", "P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("User likes tea.", "User likes green tea."),
        ("User also likes green tea.", "User likes tea."),
        ("User does not like green tea.", "User likes tea."),
        ("User has a summer house.", "User has a house."),
        ("User wants to drink green tea.", "User drinks tea."),
    ],
)
def test_less_or_something_beside_is_no_refinement(new: str, memory: str) -> None:
    assert not is_closer(understand(new), understand(memory)) or settled(new, memory).action is not Action.REVISE


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("new", "memory", "news"),
    [
        ("User's flight is on 5 June.", "User's flight is on 3 June.", True),
        ("User's rent is 950 euros.", "User's rent is 900 euros.", True),
        ("User's favourite colour is red.", "User's favourite colour is blue.", True),
        ("User works with Priya.", "User works with somebody from India.", True),
        ("User moved to Paris.", "User is going to move to Paris.", True),
        ("User's other daughter is 7.", "User has two kids.", True),
        ("User's rent is 900 euros.", "User pays 900 euros rent.", False),
        ("User lives on the river Elbe.", "User's flat is beside the Elbe river.", False),
        ("User has a couple of cats.", "User has two cats.", False),
        ("User starts work at 7:00.", "User starts work at 7.", False),
        ("User lives on the fourth floor.", "User lives 4 floors up.", False),
        ("As I said, my flight is on 5 June.", "User's flight is on 3 June.", False),
    ],
)
def test_what_a_memory_has_not_is_news(new: str, memory: str, news: bool) -> None:  # noqa: FBT001 - a table
    assert brings_news(understand(new), understand(memory)) is news
