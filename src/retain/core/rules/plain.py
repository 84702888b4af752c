"""Text into plain sentences: one kind of quote, no contractions, questions apart."""

from __future__ import annotations

import re
from typing import Final

_QUOTES: Final = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": " - "}
)

_CONTRACTIONS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\bcan'?t\b", "can not"),
        (r"\bcannot\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\bshan't\b", "shall not"),
        (r"\bain't\b", "is not"),
        (r"\b(do|does|did|is|are|was|were|have|has|had|would|could|should|must|need)n'?t\b", r"\1 not"),
        (r"\bi'?m\b", "I am"),
        (r"\b(i|you|we|they)'ve\b", r"\1 have"),
        (r"\b(i|you|we|they|he|she|it)'ll\b", r"\1 will"),
        (r"\b(i|you|we|they|he|she|it)'d\b", r"\1 would"),
        (r"\b(you|we|they)'re\b", r"\1 are"),
        (r"\b(he|she|it|that|there|here|what|who|where|how)'s\b", r"\1 is"),
        (r"\blet's\b", "let us"),
        (r"\bgonna\b", "going to"),
        (r"\bwanna\b", "want to"),
        (r"\bgotta\b", "have to"),
    )
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Za-z0-9])|\n+|(?<=[.!?])(?=[A-Z][a-z])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|inc|ltd|corp|co|vs|etc|e\.g|i\.e|jr|sr|no|approx|dept)|\b[A-Z])\.$", re.IGNORECASE
)
_QUESTION: Final = re.compile(
    r"^(?:(?:and|so|but|oh|well|hey|hi|also|by the way|btw),? )*"
    r"(?:what|who|whom|whose|when|where|why|how|which|do|does|did|is|are|was|were|can|could|would|will|should|have|has)"
    r" (?:you|your|i|we|it|he|she|they|there|that|this|the|about|does|do|did|is|are|was|were|can|could|should|would|many|much|long)\b.*\?$",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """The text with straight quotes and without contractions."""
    text = text.translate(_QUOTES)
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    return text


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, with abbreviations kept together."""
    pieces: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if not piece or not piece.strip():
            continue
        if pieces and _ABBREVIATION.search(pieces[-1]):
            pieces[-1] = f"{pieces[-1]} {piece.strip()}"
        else:
            pieces.append(piece.strip())
    return pieces


def is_question(sentence: str) -> bool:
    """Whether a sentence asks something."""
    return sentence.rstrip("\"') ").endswith("?") or bool(_QUESTION.match(sentence))
