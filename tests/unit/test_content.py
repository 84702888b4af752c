"""What a text is about, in several languages, and whether it is about anything."""

from __future__ import annotations

import pytest

from memstone.language.text.content import content_words, is_courtesy, is_foreign, share_of_words


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("Wie heißt unser Hund?", {"hund"}),
        ("¿Dónde está el gimnasio?", {"gimnasio"}),
        ("Où est mon parapluie ?", {"parapluie"}),
        ("Где мой зонт?", {"зонт"}),
        ("猫の名前は何ですか?", {"猫", "名前"}),
        ("我在学什么?", {"学"}),
        ("What is it?", set()),
    ],
)
def test_small_words_say_nothing(text: str, about: set[str]) -> None:
    assert {*content_words(text)} == about


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        ("¿Dónde trabaja Marta?", "Trabajo con Marta en el puerto.", 1.0),
        ("Wohin wandern wir?", "Wir wandert im Harz.", 1.0),
        ("Wie heißt unser Hund?", "Wie heißt unsere Katze?", 0.0),
        ("猫の名前は何ですか?", "うちの猫はタマです。", 0.5),
        ("우산은 어디에 있어요?", "우산이 현관에 있어요.", 0.5),
        ("¿Qué?", "¿Qué?", 0.0),
    ],
)
def test_words_of_one_stem_are_shared(question: str, text: str, share: float) -> None:
    assert share_of_words(content_words(question), text) == share


@pytest.mark.parametrize(
    "text", ["Was macht Lena?", "Quale esame non ho passato?", "Hoe heet de hond?", "Quand est-il né ?"]
)
def test_small_words_tell_another_language(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize("text", ["Where is my hat?", "Come on over.", "I met a man from Die.", "no", "ok, super"])
def test_english_that_looks_like_another_language_is_english(text: str) -> None:
    assert not is_foreign(text)


@pytest.mark.parametrize(
    "text", ["Hola, buenos días", "merci beaucoup", "Vielen Dank!", "ありがとうございます", "谢谢", "감사합니다"]
)
def test_greetings_and_thanks_are_courtesies(text: str) -> None:
    assert is_courtesy(text)


@pytest.mark.parametrize("text", ["Danke für den Kuchen", "¿Dónde está?", "ゆきはどこですか", "谢谢你的书", ""])
def test_what_says_more_is_none(text: str) -> None:
    assert not is_courtesy(text)
