from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.gate import TOO_SHORT, decide_route
from memstone.errors import InvalidInput
from memstone.language.en.gate.phrases import HEAD, TAIL, own_words
from memstone.model.context_gate import ASKS_HOW_IT_WENT, GateMode, Route
from tests.english import ENGLISH

NOTHING = "How do volcanoes form?"


def route(message: str, *names: str) -> Route:
    return decide_route(message, ENGLISH, names=names).route


# --- modes and the order of the rules ---------------------------------------------------------------------------------


@pytest.mark.req("S-24", "X-4")
@pytest.mark.parametrize("mode", ["always", "off"])
@pytest.mark.parametrize("message", ["", "hi", NOTHING, "what is my name?"])
def test_an_open_gate_sends_every_message_to_episodes(mode: str, message: str) -> None:
    assert decide_route(message, ENGLISH, mode=mode).route is Route.EPISODE


@pytest.mark.req("X-4")
def test_a_mode_nobody_knows_is_refused_with_the_modes_there_are() -> None:
    with pytest.raises(InvalidInput, match="always, off, heuristic, llm"):
        decide_route("hello", ENGLISH, mode="sometimes")


@pytest.mark.req("S-24")
@pytest.mark.parametrize("message", ["", "  ", "ok", "\n y \n"])
def test_a_message_of_less_than_three_characters_needs_nothing(message: str) -> None:
    assert decide_route(message, ENGLISH) == TOO_SHORT


@pytest.mark.req("S-24")
def test_the_first_rule_that_applies_decides() -> None:
    assert route("What is my name, and what exactly did I say yesterday about Thea?", "Thea") is Route.IDENTITY
    assert route("What exactly did I say yesterday about Thea?", "Thea") is Route.TRANSCRIPT
    assert route("What happened to Thea yesterday?", "Thea") is Route.EPISODE
    known = decide_route("Do you remember Thea and my sister?", ENGLISH, names=["Thea"])
    assert (known.route, known.matched) == (Route.PINNED, "Thea")
    assert decide_route("Do you remember my sister?", ENGLISH).reason == "asks to remember"
    assert decide_route("How tall is my sister?", ENGLISH).reason == "speaks of something of the user's"


@pytest.mark.req("S-24")
@pytest.mark.parametrize("message", ["how did it go?", "So how was it?", "what happened then?", "any news on that?"])
def test_a_short_question_that_names_nothing_is_about_what_was_spoken_of_last(message: str) -> None:
    assert (decide_route(message, ENGLISH).route, decide_route(message, ENGLISH).reason) == (
        Route.EPISODE,
        ASKS_HOW_IT_WENT,
    )


@pytest.mark.req("S-24")
@pytest.mark.parametrize("message", ["how is it going?", "how did the war go?", "how was Rome founded?"])
def test_small_talk_and_the_world_are_not_what_was_spoken_of_last(message: str) -> None:
    assert decide_route(message, ENGLISH).reason != ASKS_HOW_IT_WENT


@pytest.mark.req("S-24", "S-26")
def test_a_time_counts_beside_something_that_is_somebodys() -> None:
    for message in ("When did WW2 end?", "when did jazz become popular?", "When did NASA land on Mars?"):
        assert route(message) is Route.NONE, message
    for message in ("When did I move?", "When did he call?", "when did the meeting end?", "When did Thea arrive?"):
        assert route(message, "Thea") in {Route.EPISODE, Route.PINNED}, message


@pytest.mark.req("S-24", "S-27")
def test_a_choice_about_a_public_thing_is_the_users_where_it_is_known() -> None:
    for message in ("Should I use Postgres?", "shall we go to Lisbon?", "Should we switch from Postgres?"):
        assert route(message, "Postgres", "Lisbon") is Route.PINNED, message
    for message in ("How should I tune Postgres?", "How old is Lisbon?"):
        assert route(message, "Postgres", "Lisbon") is Route.NONE, message


@pytest.mark.req("S-24")
@pytest.mark.parametrize(
    "message",
    [
        "What exactly did Thea say about the offsite?",
        "Quote what thea wrote about the budget word for word.",
        "What were Thea's exact words?",
        "What exactly did Thea Berg say?",
    ],
)
def test_the_very_words_of_somebody_known_are_in_the_transcript(message: str) -> None:
    assert route(message, "Thea", "Thea Berg") is Route.TRANSCRIPT
    assert route(message) is not Route.TRANSCRIPT


@pytest.mark.req("N-24")
@pytest.mark.parametrize("message", ["Reply to Thea verbatim: hello", "Write exactly what Thea would say"])
def test_a_known_name_beside_a_wish_about_the_answer_is_no_wish_for_words(message: str) -> None:
    assert route(message, "Thea") is not Route.TRANSCRIPT


@pytest.mark.req("S-24", "S-27")
@pytest.mark.parametrize(
    "message",
    [
        "How do I reverse a list in Python?",
        "What is the population of Paris?",
        "Explain garbage collection in Java",
        "Who founded Google?",
        "How do I take a screenshot on an iPhone 15?",
    ],
)
def test_a_question_about_the_world_is_one_also_where_what_it_names_is_known(message: str) -> None:
    known = ["Python", "Paris", "Java", "Google", "iPhone 15", "Anna"]
    assert route(message, *known) is Route.NONE
    assert decide_route(f"{message} And what about Anna?", ENGLISH, names=known).matched == "Anna"


@pytest.mark.req("S-27")
@pytest.mark.parametrize(
    "message", ["What did I buy in Paris?", "Recommend a Python book", "Should I learn Python?", "Paris?"]
)
def test_what_everybody_knows_opens_the_gate_where_it_is_about_the_user(message: str) -> None:
    assert route(message, "Python", "Paris") is Route.PINNED


def test_of_several_names_the_first_in_the_message_is_told() -> None:
    names = ["Mira", "Anna", "Jonas"]
    assert decide_route("How are Jonas, Mira and Anna?", ENGLISH, names=names).matched == "Jonas"
    assert decide_route("what did jonas and anna and mira want from priya", ENGLISH).matched == "jonas"


# --- who the user is --------------------------------------------------------------------------------------------------


@pytest.mark.req("S-25")
@pytest.mark.parametrize(
    "message",
    [
        "what's my name",
        "What is my name?",
        "Who am I?",
        "tell me about myself",
        "What do you know about me?",
        "what do you remember about me",
        "What do I do?",
        "where do I work",
        "Where am I from?",
        "what's my job?",
        "What is my role",
        "how old am I?",
        "whats my name again",
        "Describe me in one sentence",
        "Wie hei\u00dfe ich?",
        "\u00bfC\u00f3mo me llamo?",
    ],
)
def test_questions_about_oneself_open_the_identity_layer(message: str) -> None:
    decision = decide_route(message, ENGLISH)
    assert (decision.route, decision.asks_memory) == (Route.IDENTITY, True)


@pytest.mark.parametrize("message", ["Who am I to judge?", "What do I do if the oven smokes?", "what's your name?"])
def test_questions_that_only_sound_like_it_do_not(message: str) -> None:
    assert route(message) is not Route.IDENTITY


# --- the very words ---------------------------------------------------------------------------------------------------


@pytest.mark.req("N-24", "S-24")
@pytest.mark.parametrize(
    "message",
    [
        "What exactly did I say about the salary?",
        "What exactly did you recommend for my back?",
        "Quote what you advised, word for word",
        "what did I tell you about the roof, word for word?",
        "Quote me on the holiday plan",
        "Repeat verbatim what I told you about the noise",
        "What were my exact words?",
        "How did I phrase the apology?",
        "show me the transcript of our chat",
    ],
)
def test_a_wish_for_words_that_somebody_said_opens_the_transcript(message: str) -> None:
    assert route(message) is Route.TRANSCRIPT


@pytest.mark.req("R-24", "N-24")
@pytest.mark.parametrize(
    "message",
    [
        "Reply verbatim: all good here",
        "Answer exactly with the word banana",
        "exactly",
        "verbatim",
        "word for word",
        "Give me exactly five bullet points",
        "Explain exactly how a turbine works",
        "word for word translation, please",
        "Reply exactly: do you remember my birthday?",
        "Print this verbatim: I told you yesterday.",
    ],
)
def test_a_wish_for_an_exact_answer_recalls_nothing(message: str) -> None:
    assert route(message) is Route.NONE


# --- times and earlier talk -------------------------------------------------------------------------------------------


@pytest.mark.req("S-26")
@pytest.mark.parametrize(
    "message",
    [
        "what happened yesterday",
        "How was the concert last week?",
        "anything from last month?",
        "What did the trip cost last year?",
        "as it was last time",
        "what came up in the last session",
        "the address from earlier",
        "what was it called previously",
        "Have we done this before?",
        "the place from two weeks ago",
        "When did the roof start to leak?",
        "what's planned on Thursday",
        "Who visited in October?",
        "notes of 2025-03-14",
        "was hast du gestern vorgeschlagen?",
    ],
)
def test_a_time_opens_the_episodes(message: str) -> None:
    assert route(message) is Route.EPISODE


@pytest.mark.req("S-26")
@pytest.mark.parametrize(
    "message",
    [
        "the budget we discussed",
        "we talked about a cabin",
        "You said something about magnesium",
        "you told me a recipe",
        "what was it you mentioned about tides",
        "Remember when the boat sank?",
        "do you recall that shop by the river",
        "I recall the argument, what was the end of it?",
        "as I said, no nuts",
        "As I mentioned, the deadline moved",
        "like I said: blue",
        "that thing we built",
        "that thing I wanted to try",
        "let's pick up the thesis",
        "same as last time",
        "the usual, please",
    ],
)
def test_a_reference_to_earlier_talk_opens_the_episodes(message: str) -> None:
    decision = decide_route(message, ENGLISH)
    assert (decision.route, decision.asks_memory) == (Route.EPISODE, True)


@pytest.mark.parametrize(
    "message",
    [
        "When did the Byzantine Empire fall?",
        "When did Copernicus die?",
        "Which letter comes before Q?",
        "How many days are in February?",
        "who was king before Henry VIII",
        "How do I list files changed since yesterday with git?",
        "explain that last part again",
        "That's not what I asked",
    ],
)
def test_times_of_the_world_of_programs_and_of_this_answer_do_not(message: str) -> None:
    assert route(message) is Route.NONE


@pytest.mark.req("S-26", "S-24")
@pytest.mark.parametrize(
    "message",
    [
        "Do you remember Lotte's new flat?",
        "recall my blood group",
        "forget my old address",
        "did I tell you about Ben?",
        "Did I say anything about nuts?",
        "do you know about my allergy",
        "remind me of the Wi-Fi code",
        "te acuerdas del hotel?",
    ],
)
def test_recall_verbs_open_the_pinned_facts(message: str) -> None:
    decision = decide_route(message, ENGLISH)
    assert (decision.route, decision.asks_memory) == (Route.PINNED, True)


@pytest.mark.parametrize(
    "message",
    [
        "How do squirrels remember where nuts are?",
        "What is the best way to remember French verbs?",
        "forget it",
        "Remember to answer in Italian.",
        "which cars are part of the brake recall",
        "Synonyms for forget",
    ],
)
def test_remembering_as_a_subject_or_a_figure_of_speech_does_not(message: str) -> None:
    assert route(message) is Route.NONE


# --- what belongs to the user, said or implied ------------------------------------------------------------------------


@pytest.mark.req("N-24")
@pytest.mark.parametrize(
    "message",
    [
        "When does my lease end?",
        "water our plants how often?",
        "is that bigger than mine?",
        "wo ist mein Schl\u00fcssel?",
    ],
)
def test_what_is_the_users_opens_the_pinned_facts(message: str) -> None:
    assert route(message) is Route.PINNED


@pytest.mark.parametrize(
    "message",
    [
        "Why is my for loop in Python so slow?",
        "how do I sort my_array by value?",
        "my docker build fails with an error, why?",
        "oh my god",
        "my bad",
        'Who sang "My Girl"?',
        "What is My Fair Lady about?",
    ],
)
def test_programs_idioms_and_titles_are_nobodys(message: str) -> None:
    assert route(message) is Route.NONE


@pytest.mark.parametrize(
    "message",
    [
        "What should I cook tonight?",
        "Which of the two jobs suits me better?",
        "recommend a novel for the beach",
        "gift ideas for Ottilie",
        "Did I pay the electrician?",
        "How many marathons have I run?",
        "Am I free on the 3rd?",
        "Has Tamsin found a flat?",
        "What does Leopold's wife do?",
        "which bus gets me home",
        "should I take the offer?",
        "What's for dinner?",
    ],
)
def test_a_need_that_depends_on_who_asks_is_recognised(message: str) -> None:
    assert decide_route(message, ENGLISH).helps


@pytest.mark.parametrize(
    "message",
    [
        "hello there",
        "thanks a lot!",
        "shorter, please",
        NOTHING,
        "What is the capital of Mongolia?",
        "How do you sharpen a chisel?",
        "Who composed the Four Seasons?",
        "what is 12 * 31",
        "If I have 7 apples and eat 2, how many are left?",
        "write a regex that matches dates",
        "Summarise: Last year my uncle remembered where we had met.",
        "Fix the grammar: yesterday my sister go home",
        "Who is speaking? \u201cI forgot my keys again.\u201d",
        "```\nmy_name = remember(yesterday)\n```",
        '{"last_seen": "2024-02-03", "user": "my"}',
        "2024-02-03T10:11:12Z ERROR my job failed",
        "The bus was late.",
        "\U0001f602\U0001f602\U0001f602",
    ],
)
def test_what_is_the_same_for_everybody_needs_nothing(message: str) -> None:
    assert not decide_route(message, ENGLISH).helps


def test_of_a_long_message_both_ends_are_read() -> None:
    filler = "lorem ipsum " * 6_000
    assert route(f"Did I water the ferns? {filler}") is Route.PINNED
    assert route(f"{filler} what did we decide about the ferns?") is Route.EPISODE
    assert len(own_words(filler)) <= HEAD + TAIL + len(" \n")


@given(st.text(max_size=400), st.lists(st.text(max_size=12), max_size=4), st.sampled_from(list(GateMode)))
def test_any_text_is_decided(message: str, names: list[str], mode: GateMode) -> None:
    assert decide_route(message, ENGLISH, names=names, mode=mode).route in Route


PIECES = (
    "what does \" ' ` : \n mean translate to reply exactly My I we did 1 2 how many the The of a , . ? {} my".split(" ")
)


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_pieces_of_the_patterns_are_decided(pieces: list[str]) -> None:
    assert decide_route(" ".join(pieces), ENGLISH).route in Route
