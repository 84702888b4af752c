"""What a model writes down that is no fact: placeholders, questions, its own claims, another language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from memstone.core.rules.material import is_english
from memstone.core.rules.plain import is_question

MIN_CHARS: Final = 3
MAX_CHARS: Final = 500

_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f", "\u037e")  # Latin, Chinese, Arabic, Greek
_CLOSING: Final = "\"')\u201d\u2019\u00bb\u300d "
_EMPTY_WORDS: Final = frozenset(
    """n/a na none null nil nothing unknown undefined string text fact facts memory example placeholder todo tbd empty
    true false user content value sentence foo bar test no_facts""".split()
)
_SLOT: Final = (
    "x|name|city|country|place|location|company|job|food|hobby|topic|thing|date|time|number|value|language|user|fact"
)
_TEMPLATE: Final = re.compile(
    r"\b(?:lorem ipsum|foo ?bar|(?:insert|your) \w+ here)\b"
    r"|\b(?:not|never) (?:been )?(?:specified|provided|mentioned|stated)\W*$"
    r"|^(?:there (?:is|are|were) )?no (?:\w+ ){0,2}(?:facts?|information|memories|details)\b"
    rf"|[\[<{{](?:{_SLOT}|insert [^\]>}}]*|your [^\]>}}]*|\.\.\.|\u2026)[\]>}}]"
    r"|^user(?:'s)? (?:\w+ ){1,3}(?:[xyz]|xyz|abc|\.\.\.|\u2026|_+)\W*$",
    re.IGNORECASE,
)
_STOCK_NAMES: Final = re.compile(
    r"\b(?:john (?:doe|smith|q\.? public)|jane (?:doe|smith|roe)|max mustermann|erika mustermann|acme (?:corp|inc)\w*|"
    r"joe bloggs|\w+@example\.(?:com|org|net)|123 main st\w*|555-\d{4})\b",
    re.IGNORECASE,
)
_ASSISTANT: Final = re.compile(
    r"^(?:as an? (?:ai|assistant|language model)\b|i(?:'m| am) an? (?:\w+ )?(?:ai|assistant|chatbot|language model)\b|"
    r"(?:(?:the )?(?:assistant|chatbot|language model)|the (?:ai|agent)|(?-i:AI))(?:'s)? )",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(r"^(?:i|i'm|i've|i'd|i'll|my|we|we're|we've|our)\b", re.IGNORECASE)
_ABOUT_USER: Final = re.compile(
    r"\b(?:you|your|yours|yourself|we|our|us|let's|lets|user|user's|agreed|agree|decided|both)\b", re.IGNORECASE
)
_SENTENCE_EDGE: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u061f\n]")
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]")
_ABOUT_ASSISTANT: Final = frozenset({"assistant", "Assistant", "the assistant", "agent", "Agent", "AI", "the AI"})


def clean(text: str) -> str:
    """One line without characters that cannot be stored or seen, and without a list's bullet."""
    line = " ".join(_UNSEEN.sub("", text.replace("\r", " ")).split())
    return re.sub(r"^(?:[-*•]|\d{1,2}[.)]) +", "", line).strip()


def unusable(text: str, *, agent_side: bool, about: object = None) -> str:
    """Why a proposal is no fact whatever the conversation says; '' when it may be one."""
    if len(text) < MIN_CHARS:
        return "too short"
    if len(text) > MAX_CHARS:
        return "too long"
    if text.strip(" .\"'[]<>{}").lower() in _EMPTY_WORDS or _TEMPLATE.search(text):
        return "placeholder"
    if is_question(text) or text.rstrip(_CLOSING).endswith(_QUESTION_MARKS):
        return "question"
    own = _ASSISTANT.match(text) or (isinstance(about, str) and about.strip() in _ABOUT_ASSISTANT)
    return "assistant claim" if own and not agent_side else ""


def is_stock_name(text: str, evidence: str) -> bool:
    """Whether a name that stands in every example was written down, and nobody said it."""
    found = _STOCK_NAMES.search(text)
    return found is not None and found[0].lower() not in evidence.lower()


def first_person(text: str) -> bool:
    """Whether an English fact was left in the words of its speaker."""
    return bool(_FIRST_PERSON.match(text)) and is_english(text)


def assistant_says(turn: str, start: int, end: int) -> str:
    """Why the assistant's own words are no evidence: a question, or nothing about the user; '' when they are."""
    sentence = _sentence(turn, start, end)
    if sentence.rstrip(_CLOSING).endswith(_QUESTION_MARKS):
        return "question"
    # Words that point at the user are known in English only; elsewhere the model's own judgement has to do.
    return "assistant claim" if is_english(turn) and not _ABOUT_USER.search(sentence) else ""


def _sentence(turn: str, start: int, end: int) -> str:
    before = [edge.end() for edge in _SENTENCE_EDGE.finditer(turn, 0, start)]
    after = _SENTENCE_EDGE.search(turn, max(start, end - 1))
    return turn[before[-1] if before else 0 : after.end() if after else len(turn)]


def other_script(text: str, said: Iterable[str]) -> bool:
    """Whether a fact is written in a script that nobody in the conversation uses."""
    scripts = Counter(_script(char) for char in text if char.isalpha())
    if not scripts:
        return False
    script = scripts.most_common(1)[0][0]
    return not any(_script(char) == script for turn in said for char in turn if char.isalpha())


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    name = unicodedata.name(char, "?").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC") else name
