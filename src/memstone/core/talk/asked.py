"""Whether words were only asked: what stands in a question was not said to be so.

Much that ends with a question mark states something on the way: "I'm vegetarian, what can I cook?".
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_CLOSING: Final = "\"')]\u201d\u2019\u00bb\u300d"
_ENDS: Final = re.compile(rf"(?:[!?\u2026\u3002\uff01\uff1f\u061f\u037e]|\.(?!\w))+[{re.escape(_CLOSING)}]*|\n")
_QUESTION: Final = re.compile(r"[?\uff1f\u061f\u037e]")  # Latin, Chinese, Arabic, Greek
_PAUSE: Final = re.compile(r"[,;:\uff0c\u3001]\s*|\s+[-\u2013\u2014]+\s+|\u2014")
_OPENS: Final = re.compile(
    r"\W*(?:(?:and|so|but|oh|well|hey|hi|ok|okay|please|also|then|by the way|btw),? )*"
    r"(?:\u00bf|(?:what|who|whom|whose|when|where|why|how|which|do|does|did|is|are|am|was|were|can|could|would|will|should"
    r"|shall|may|might|have|has|had|if|whether|any|anyone|anybody)\b)",
    re.IGNORECASE,
)
_GIVEN: Final = re.compile(
    r"(?:given|since|because|considering|seeing|knowing|now|as)\b(?! (?:if|well|long|soon)\b)", re.IGNORECASE
)
_TOLD: Final = re.compile(
    r"\b(?:did|have|had)(?: not|n't)? i (?:(?:ever|already|not) )*(?:mention|tell|told|say|said)"
    r"|\byou (?:know|remember|recall|realise|realize) that\b",
    re.IGNORECASE,
)
"""Who asks whether something was mentioned says it."""


def only_asked(text: str, start: int, end: int) -> bool:
    """Whether a stretch of a text stands in questions alone, and in no part of them that states something."""
    found = sentences_at(text, start, end)
    return bool(found) and all(_is_asked(text[first:last], max(0, start - first)) for first, last in found)


def sentences_at(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the sentences begin and end that a stretch touches, with their marks."""
    edges = [0, *(mark.end() for mark in _ENDS.finditer(text)), len(text)]
    return [(first, last) for first, last in pairwise(edges) if first < max(end, start + 1) and last > start]


def _is_asked(sentence: str, start: int) -> bool:
    mark = _ENDS.search(sentence)
    if mark is None or not _QUESTION.search(mark[0]) or _TOLD.search(sentence):
        return False
    edges = [0, *(pause.end() for pause in _PAUSE.finditer(sentence, 0, mark.start()))]
    at = max(number for number, edge in enumerate(edges) if edge <= start)
    if at == len(edges) - 1:  # the part that ends with the mark
        return not (at and _GIVEN.match(sentence, edges[at]))
    return any(_OPENS.match(sentence, edge) for edge in edges[: at + 1])
