from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.changes.listed import what_stays
from memstone.core.changes.renew import kept, renewed
from memstone.core.changes.statement import understand


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        ("User weighs 92 kg.", "down to 89 kg", "User weighs 89 kg."),
        ("User takes 10mg of lisinopril.", "now 20 mg", "User takes 20mg of lisinopril."),
        ("User makes 72k a year.", "78k now", "User makes 78k a year."),
        ("User's rent is $1,850 a month.", "rent is 1,950 now", "User's rent is $1,950 a month."),
        ("User's standup is at 9:15.", "standup moved to 10", "User's standup is at 10."),
        ("User is 67 and retired in 2021.", "it was my birthday, turned 68", "User is 68 and retired in 2021."),
        ("User's email is joe@gmail.com.", "correction: joe@outlook.com", "User's email is joe@outlook.com."),
        ("User's tutor has time on Tuesdays at 7pm.", "it is Fridays now", "User's tutor has time on Fridays at 7pm."),
        ("User rehearses every Thursday.", "we moved to Wednesdays", "User rehearses every Wednesday."),
        ("User's flight is on May 12th.", "no, May 21st", "User's flight is on May 21st."),
        ("User moved from Vim to Helix.", "no wait, I meant Zed, not Helix", "User moved from Vim to Zed."),
        ("User's wedding is on May 9 2026.", "pushed to September 2026", "User's wedding is on September 2026."),
        ("User drives an Audi and has a cat.", "I drive a Kia", "User drives a Kia and has a cat."),
    ],
)
def test_a_value_that_is_told_alone_goes_into_the_sentence_that_is_known(known: str, said: str, now: str) -> None:
    assert renewed(understand(known), understand(said)) == now


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("User weighs 92 kg.", "lost 3 kg"),
        ("User has 3 cats.", "gave away two of the cats"),
        ("User's rent is $1,850 a month.", "it went up by $100"),
        ("User has a farm with 120 cows.", "sold off 20 cows"),
        ("User owes 5 dollars to 2 friends.", "paid back 3 of 4"),
        ("User likes tea.", "I had 2 cups"),
        ("User's goal is 1000 words a day.", "I am at 45000 words now"),
    ],
)
def test_what_counts_something_else_is_no_value_of_it(known: str, said: str) -> None:
    assert not renewed(understand(known), understand(said))


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "User takes metformin 500 mg twice a day and lisinopril 10mg in the morning.",
            "Doctor upped User's metformin to 1000 mg twice daily.",
            "User takes metformin 1000 mg twice a day and lisinopril 10mg in the morning.",
        ),
        ("User has 3 cats and 2 dogs.", "User has 4 cats.", "User has 4 cats and 2 dogs."),
        ("User is 41 and lives in Leeds.", "User turned 42 today.", "User is 42 and lives in Leeds."),
        ("User's flight is at 6am on Monday.", "It has been pushed to 9am.", "User's flight is at 9am on Monday."),
        ("User ran the Boston marathon in 4:10.", "User ran a marathon in 3:55.", ""),
        ("User has 3 cats and 2 dogs.", "User has 4 cats and 1 dog.", ""),
        ("User works as an engineer at Acme.", "User works as a teacher.", ""),
        ("User lives in Rome.", "User lives in Paris with Tom.", ""),
    ],
)
def test_a_fact_that_brings_only_another_value_leaves_the_rest(known: str, said: str, now: str) -> None:
    assert kept(understand(known), understand(said)) == now


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("known", "said", "left"),
    [
        (
            "User is allergic to peanuts and shellfish.",
            "User is not allergic to shellfish.",
            "User is allergic to peanuts.",
        ),
        (
            "User is allergic to peanuts and shellfish.",
            "User is not allergic to peanuts.",
            "User is allergic to shellfish.",
        ),
        ("User plays bass guitar and piano.", "User stopped playing guitar.", "User plays piano."),
        ("User speaks French, German and Polish.", "User no longer speaks German.", "User speaks French and Polish."),
        ("User works at Acme and studies at MIT.", "User quit Acme.", "User studies at MIT."),
        ("User does not eat pork, lamb or beef.", "User eats beef again.", "User does not eat pork or lamb."),
        ("User has 2 dogs, Rex and Fido.", "Rex died.", "User has 1 dog, Fido."),
        ("User has a cat named Mia and a dog named Rex.", "Rex died.", "User has a cat named Mia."),
        ("User likes tea and coffee.", "User hates tea and coffee.", ""),
        ("User likes tea.", "User hates tea.", ""),
        ("User lives in Rome, which is hot, and works at Acme.", "User quit Acme.", ""),
    ],
)
def test_of_several_things_the_others_stay(known: str, said: str, left: str) -> None:
    assert what_stays(understand(known), understand(said)) == left


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_held_against_any(known: str, said: str) -> None:
    old, new = understand(known), understand(said)
    assert isinstance(renewed(old, new) + kept(old, new) + what_stays(old, new), str)
