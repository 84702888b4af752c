"""Words that want to be a memory or an order, in a text whose author has no say in either.

An assistant repeats what it has read, and a user pastes what others wrote. Whatever such text says about the user's
money, credentials or wishes, or tells an assistant to do or to keep, is not the user speaking. Here it is found and
blanked, letter by letter, so that nobody who looks for facts sees it and every other word stays where it stands. What a
user says in their own words is never looked at: they may order and state what they like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from memstone.language.en.own_prose import find_quotations, handed_over
from memstone.language.en.requests import asks_to_forget, is_suspicious, may_forget, takes_over
from memstone.model.message import Message

# --- words that want to be a memory or an order, in a text whose author has no say in either --------------------------


_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?=\S))+[.!?]*|[.!?]+")
_THE_USER: Final = re.compile(r"\bthe user(?:['\u2019]s)?\b", re.IGNORECASE)
"""Nobody who writes to a person calls them so: it is meant for whoever keeps a memory of them."""

_WORD: Final = re.compile(r"\S")
_WORDS: Final = re.compile(r"\w+")
_DOUBLE: Final = frozenset({'"', "\u201c"})
"""Marks of quotations that are nothing else; an apostrophe is."""

_SENTENCE_WORDS: Final = 6
"""A quotation of so many words is no name and no title."""

_FEWEST: Final = 4
"""With fewer words of one's own, a message is what it hands over."""


def blank_suspect_text(message: Message, *, own: bool) -> Message:
    """A message of the same length, without what others try to have remembered or done.

    With ``own`` it is the user who speaks: only what they quote or hand over is looked at. Otherwise all of it is.
    """
    spans = handed_over(message.text, titles=True) if own else [(0, len(message.text))]
    told, at = message.text, 0
    pieces: list[str] = []
    for start, end in spans:  # in order, and apart from each other
        pieces += [told[at:start], _blank_suspect_sentences(told[start:end])]
        at = end
    text = "".join([*pieces, told[at:]])
    return message if text == told else replace(message, text=text)


def _blank_suspect_sentences(text: str) -> str:
    if any(takes_over(one[0]) for one in _SENTENCE.finditer(text)):
        return _blank_words(text)
    return "".join(
        _blank_words(part) if is_suspicious(part) or _THE_USER.search(part) else part for part in _split_sentences(text)
    )


def _split_sentences(text: str) -> Iterator[str]:
    """All of a text, cut where sentences end."""
    at = 0
    for found in _SENTENCE.finditer(text):
        yield text[at : found.start()]
        yield found[0]
        at = found.end()
    yield text[at:]


def _blank_words(text: str) -> str:
    return _WORD.sub(" ", text)


def own_words(text: str) -> str:
    """Return what somebody says in a message themselves, without what they hand over and what they want forgotten.

    It is '' if that is next to nothing beside the rest.
    """
    kept, at = list[str](), 0
    for start, end in sorted([*handed_over(text), *_long_quotes(text), *_wishes_to_forget(text)]):
        if end <= at:
            continue
        kept.append(text[at:start])
        at = end
    said = "\u2026".join([*kept, text[at:]]) if kept else text
    return said if not kept or len(_WORDS.findall(said)) >= _FEWEST else ""


def _wishes_to_forget(text: str) -> list[tuple[int, int]]:
    """Sentences that ask to forget something: they say what it is."""
    if not may_forget(text):
        return []
    return [one.span() for one in _SENTENCE.finditer(text) if asks_to_forget(one[0].strip())]


def _long_quotes(text: str) -> list[tuple[int, int]]:
    """Quotations that are more than a name or a title."""
    if not any(mark in text for mark in _DOUBLE):
        return []
    found = [span for span in find_quotations(text) if not {text[span[0] - 1], text[span[0]]}.isdisjoint(_DOUBLE)]
    return [(start, end) for start, end in found if len(_WORDS.findall(text[start:end])) >= _SENTENCE_WORDS]


def words_to_show(text: str, *, own: bool) -> str:
    """Return what of a turn a model may be shown unasked; '' if nothing is left.

    With ``own`` the user said it: without what they quote or hand over. Of what others said, and of what came in from
    elsewhere, every sentence is left out that wants to be a memory or an order.
    """
    if own:
        return own_words(text)
    kept = _blank_suspect_sentences(text)
    if kept == text:
        return text
    said = " ".join(kept.split())
    return said if len(_WORDS.findall(said)) >= _FEWEST else ""


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether most of a stretch of a user's message is what others say in it."""
    inside = sum(max(0, min(end, last) - max(start, first)) for first, last in handed_over(text))
    return inside * 2 > end - start
