"""Which part of a message is the speaker's own prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.language.en.own_prose import is_english, own_sentences


def texts(message: str) -> list[str]:
    return [sentence.text for sentence in own_sentences(message)]


def test_a_sentence_with_code_in_it_stays_beside_the_output_of_a_program() -> None:
    text = "I have `Pool::new(10)` here. My box has two cores."
    assert texts(f"{text}\nsrc/routes.rs:41:35 unsatisfied\nthread 'main' Pool::new failed") == [
        "I have `Pool::new(10)` here.",
        "My box has two cores.",
    ]


@pytest.mark.req("R-32")
@pytest.mark.parametrize(
    "message",
    [
        "```\nI live in Oslo.\n```",
        "diff --git a/bio b/bio\n-I live in Tulsa.\n+I live in Omaha.",
        "---\nMy husband and I stayed here in May.\n---",
        "Translate this into Italian: 'I live in Paris'",
        "Write a diary entry: I am a keeper and my wife is a ghost",
        "You are a travel agent who lives in Cancun.",
        "<note>I live in Oslo.</note>",
        "Summarise this email:\n\nHi all, I am moving to Denver in June.",
    ],
)
def test_code_quotes_and_pasted_text_are_not_the_speakers_own(message: str) -> None:
    assert not any(" live" in text or " am " in text or "husband" in text for text in texts(message))


def test_somebody_elses_words_in_quotes_are_left_out_and_titles_stay() -> None:
    assert texts('He wrote "I quit my job and moved" today.') == ["He wrote", "today."]
    assert texts('I just read "The Name of the Wind" again.') == ['I just read "The Name of the Wind" again.']


def test_sentences_end_after_short_words_and_not_after_titles() -> None:
    assert texts("No, I haven't. I have been busy.") == ["No, I haven't.", "I have been busy."]
    assert texts("I saw Dr. Lind today. She was kind.") == ["I saw Dr. Lind today.", "She was kind."]
    assert texts('We danced "Freedom." It was fun.') == ['We danced "Freedom."', "It was fun."]


@pytest.mark.parametrize(
    "said", ["fyi im left handed", "Stopped eating meat.", "I live in Las Vegas", "my name is De la Cruz"]
)
def test_english_is_known_by_its_small_words(said: str) -> None:
    assert is_english(said)


@pytest.mark.parametrize(
    "said",
    [
        "Je suis allergique aux noix.",
        "Ich arbeite in Kassel und bin Lehrerin",
        "私は東京に住んでいます。",
        "Vivo en Sevilla con mi hermano.",
        "123",
        "",
    ],
)
def test_other_languages_are_left_alone(said: str) -> None:
    assert not is_english(said)


@given(st.text(max_size=200))
def test_every_sentence_stands_where_it_says(message: str) -> None:
    for sentence in own_sentences(message):
        assert message[sentence.start : sentence.end] == sentence.text
