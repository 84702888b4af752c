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

from memstone.core.rules.material import handed_over
from memstone.core.rules.orders import suspect, takes_over
from memstone.model.message import Message

_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?=\S))+[.!?]*|[.!?]+")
_WORD: Final = re.compile(r"\S")


def disarmed(message: Message, *, own: bool) -> Message:
    """A message of the same length, without what others try to have remembered or done.

    With ``own`` it is the user who speaks: only what they quote or hand over is looked at. Otherwise all of it is.
    """
    spans = handed_over(message.text, titles=True) if own else [(0, len(message.text))]
    told, at = message.text, 0
    pieces: list[str] = []
    for start, end in spans:  # in order, and apart from each other
        pieces += [told[at:start], _disarmed(told[start:end])]
        at = end
    text = "".join([*pieces, told[at:]])
    return message if text == told else replace(message, text=text)


def _disarmed(text: str) -> str:
    if any(takes_over(one[0]) for one in _SENTENCE.finditer(text)):
        return _blank(text)
    return "".join(_blank(part) if suspect(part) else part for part in _sentences(text))


def _sentences(text: str) -> Iterator[str]:
    """All of a text, cut where sentences end."""
    at = 0
    for found in _SENTENCE.finditer(text):
        yield text[at : found.start()]
        yield found[0]
        at = found.end()
    yield text[at:]


def _blank(text: str) -> str:
    return _WORD.sub(" ", text)


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether most of a stretch of a user's message is what others say in it."""
    inside = sum(max(0, min(end, last) - max(start, first)) for first, last in handed_over(text))
    return inside * 2 > end - start
