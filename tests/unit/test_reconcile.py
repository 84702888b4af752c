from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstone.core.changes.reconcile import Action, Decision, Known, decide
from memstone.core.changes.statement import understand

NEAR, FAR = 0.55, 0.1

Case = tuple[str, str, str]


def settle(new: str, *known: str, cosine: float = NEAR) -> Decision:
    """What becomes of a text beside memories that are all equally near."""
    return decide(understand(new), [Known(understand(text), cosine) for text in known])


RULES: dict[str, tuple[list[Case], list[Case]]] = {
    # rule: (new, memory, part of the reason) for what it decides, then (new, memory, what happens) for what it does not
    "slot": (
        [
            ("User lives in Paris", "User lives in Rome", "lives_in"),
            ("I became a nurse", "User works as a waitress", "job"),
            ("she said YES!! I have a fiancée", "User is dating Leonie", "marital"),
            ("defended my thesis today", "User is a PhD candidate", "studying"),
            ("I was laid off", "User works at Zalando", "employer"),
            ("My brother got divorced", "User's brother is married to Lena", "marital"),
        ],
        [
            ("My brother lives in Paris", "User lives in Rome", "add"),
            ("User lives in Rome", "User lives in Rome, near the river", "ignore"),
            ("I applied for a job at IKEA", "User works at H&M", "add"),
            ("I have a rental Opel until Friday", "User drives a Mazda 3", "add"),
        ],
    ),
    "number": (
        [
            ("rent is going up to 1150", "User pays 1050 euros rent", "money"),
            ("we can stretch to 900 for the laptop", "User's budget for a new laptop is 700 dollars", "money"),
            ("doc doubled it, I'm on 1000 mg", "User takes 500 mg of metformin", "mg"),
        ],
        [
            ("my sister pays 700 for her room", "User pays 900 dollars rent", "add"),
            ("spent 80 on clothes today", "User spends 100 euros a month on clothes", "add"),
            ("User has 2 cats", "User has two cats", "ignore"),
        ],
    ),
    "date": (
        [
            ("piano lesson moved to Monday", "User has piano lessons on Wednesdays", "another date"),
            ("the launch slipped to 3 May", "User's product launch is on 12 April", "another date"),
            ("it's the 12th of May and not the 21st, my birthday", "User's birthday is on 21 May", "another date"),
        ],
        [("dentist on Tuesday", "User has yoga on Mondays", "add")],
    ),
    "class": (
        [
            ("downgraded to the basic plan on Hulu", "User has the premium plan on Hulu", "plan"),
            ("just got my C1 certificate in German", "User's German is at B1 level", "level"),
            ("I switched to the day shift", "User works night shifts", "shift"),
        ],
        [("User wants short answers", "User likes long walks", "add")],
    ),
    "done": (
        [("Ran the Vienna marathon yesterday!!", "User plans to run the Vienna marathon", "plan")],
        [("User plans to visit Scotland", "User plans to visit Japan", "add")],
    ),
    "switched": (
        [
            ("Switched from Slack to Teams", "User's company uses Slack", "replaced"),
            ("the startup got a new name, Loopwise became Fernly", "User's startup is called Loopwise", "replaced"),
        ],
        [("Besides Lightroom I've begun using Darktable", "User edits photos in Lightroom", "add")],
    ),
    "role": (
        [("Firefox is my browser now", "User uses Chrome as browser", "browser")],
        [("my new colleague is called Hassan", "User's colleague is called Marta", "add")],
    ),
    "opposite": (
        [
            ("cancelled Netflix", "User subscribes to Netflix", "over"),
            ("User dislikes horror movies", "User enjoys horror movies", "opposite"),
            ("turns out I enjoy running after all", "User hates running", "opposite"),
            ("no more home office", "User works from home", "opposite"),
        ],
        [
            ("My neighbour's old dog died", "User's neighbour is Mr Brandt", "add"),
            ("my roommate gave up surfing", "User surfs every weekend", "add"),
            ("Can't stand cilantro", "User loves Mexican food", "add"),
        ],
    ),
    "renewed": (
        [("Project Falcon is now Project Osprey", "User works on Project Falcon", "another name")],
        [("we also have Prime now", "User subscribes to Netflix", "add")],
    ),
}
DECIDED = [(rule, *case) for rule, (decided, _) in RULES.items() for case in decided]
LEFT = [(rule, *case) for rule, (_, left) in RULES.items() for case in left]


@pytest.mark.req("P-15", "P-17")
@pytest.mark.parametrize(("rule", "new", "memory", "reason"), DECIDED)
def test_a_rule_revises_what_changed(rule: str, new: str, memory: str, reason: str) -> None:
    decision = settle(new, memory)
    assert (decision.action, decision.target) == (Action.REVISE, 0), rule
    assert reason in decision.reason


@pytest.mark.req("P-15", "P-17")
@pytest.mark.parametrize(("rule", "new", "memory", "action"), LEFT)
def test_a_rule_leaves_alone_what_is_something_else(rule: str, new: str, memory: str, action: str) -> None:
    assert settle(new, memory).action == action, rule


@pytest.mark.req("P-15", "P-17")
@pytest.mark.parametrize(
    ("new", "memory"),
    [
        ("yeah I'm in Toulouse", "User lives in Toulouse"),
        ("No job at the moment, as you're aware", "User is currently out of work"),
        ("I'm an early bird, up at five like always", "User gets up at 5 am every day"),
        ("asthma, as I said", "User has asthma"),
        ("I'm type 1, yeah, diabetic", "User has type 1 diabetes"),
        ("I do pay for ChatGPT Plus, yes", "User has a paid ChatGPT Plus subscription"),
        ("Only my brother and my parents.", "My parents are around and I have a brother."),
    ],
)
def test_what_is_known_in_other_words_is_ignored(new: str, memory: str) -> None:
    assert settle(new, memory).action is Action.IGNORE


@pytest.mark.req("X-11")
def test_the_cheap_steps_come_first_and_stance_counts_at_every_step() -> None:
    assert settle("user likes  TEA.", "User likes tea", cosine=0.0).reason == "the same words are known"
    assert settle("User likes tea, really", "User likes tea", cosine=0.0).action is Action.IGNORE
    assert settle("User's days begin with jogging", "User jogs early", cosine=0.95).action is Action.IGNORE
    assert settle("User does not like tea", "User likes tea", cosine=0.95).action is Action.REVISE


@pytest.mark.req("R-3")
def test_not_liking_is_no_liking() -> None:
    assert settle("User does not like Python", "User likes Python").action is Action.REVISE
    assert settle("User likes Python", "User does not like Python").action is Action.REVISE


def test_the_memory_that_shares_the_name_is_meant() -> None:
    decision = settle(
        "Upgraded Spotify from the solo plan to Family so the kids stop stealing my queue",
        "User has two kids",
        "User has a Spotify individual plan",
        "User has a YouTube Premium account",
    )
    assert (decision.action, decision.target) == (Action.REVISE, 1)


def test_a_name_links_a_memory_however_many_are_nearer() -> None:
    near = [f"User likes number {index} of the list" for index in range(20)]
    known = [*(Known(understand(text), 0.6) for text in near), Known(understand("User works at Bosch"), 0.35)]
    decision = decide(understand("Don't miss Bosch one bit"), known)
    assert (decision.action, decision.target) == (Action.REVISE, 20)


@pytest.mark.req("X-14")
def test_an_old_value_only_ends_where_the_new_one_is_known_already() -> None:
    decision = settle("I am married", "I am engaged to Kofi", "I am married, and happy")
    assert (decision.action, decision.target) == (Action.RETRACT, 0)
    assert "engaged" in decision.reason


@pytest.mark.parametrize(
    ("new", "memory", "firm"),
    [
        ("cancelled Netflix", "User subscribes to Netflix", True),
        ("User quit smoking", "User likes smoking", True),
        ("User hates horror movies", "User likes horror movies", False),
    ],
)
def test_what_ends_or_names_is_firm(new: str, memory: str, *, firm: bool) -> None:
    assert settle(new, memory).firm is firm


def test_what_one_says_of_others_is_compared_with_what_is_known_of_them() -> None:
    decision = settle("I'm tired. My sister moved to Lyon.", "User lives in Rome", "User's sister lives in Nice")
    assert (decision.action, decision.target) == (Action.REVISE, 1)


def test_nothing_known_is_news() -> None:
    assert settle("User likes tea") == Decision(Action.ADD, None, "nothing known says this or its opposite")
    assert settle("User likes tea", "User lives in Rome", cosine=FAR).action is Action.ADD


WORDS = (
    "I my brother User not moved to Rome from Paris works at Acme two cats instead of now hates tea , . 30 Monday"
).split()
TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))


@given(TEXTS, st.lists(st.tuples(TEXTS, st.floats(-1, 1)), max_size=6))
def test_any_texts_are_decided_alike_every_time(new: str, memories: list[tuple[str, float]]) -> None:
    known = [Known(understand(text), cosine) for text, cosine in memories]
    decision = decide(understand(new), known)
    assert decision == decide(understand(new), known)
    assert decision.reason
    assert (decision.target is None) == (decision.action is Action.ADD)
    assert decision.target is None or 0 <= decision.target < len(known)


@given(TEXTS)
@example("User chose Teams over Slack")
@example("User moved from Paris to Rome")
@example("")
def test_a_statement_is_known_to_itself(text: str) -> None:
    assert settle(text, text, cosine=1.0).action is Action.IGNORE
