"""Text into plain sentences: one kind of quote, no contractions, questions apart."""

from __future__ import annotations

import re
from typing import Final

_QUOTES: Final = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": " - "}
)
_CONTRACTIONS: Final = re.compile(
    r"\b(?=\w*+'|can|im|ive|gonna|wanna|gotta|\w{3,7}t\b)(?:(?P<cannot>can'?t|cannot)|(?P<wont>won't)|(?P<shant>shan't)|(?P<aint>ain't)"
    r"|(?P<not>(?:do|does|did|is|are|was|were|have|has|had|would|could|should|must|need)n'?t)"
    r"|(?P<im>i'?m)|(?P<ive>ive(?= (?:got|been|had|never|always|just|bought|lived|moved|\w+ed)\b))"
    r"|(?P<have>(?:i|you|we|they)'ve)|(?P<will>(?:i|you|we|they|he|she|it)'ll)|(?P<would>(?:i|you|we|they|he|she|it)'d)"
    r"|(?P<are>(?:you|we|they)'re)|(?P<is>(?:he|she|it|that|there|here|what|who|where|how)'s)"
    r"|(?P<lets>let's)|(?P<gonna>gonna)|(?P<wanna>wanna)|(?P<gotta>gotta))\b",
    re.IGNORECASE,
)
_FULL: Final = {
    "cannot": "can not",
    "wont": "will not",
    "shant": "shall not",
    "aint": "is not",
    "im": "I am",
    "ive": "I have",
    "lets": "let us",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "have to",
}
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[^\W_])|\n+|(?<=[.!?])(?=[A-Z][a-z])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|inc|ltd|corp|co|vs|etc|e\.g|i\.e|jr|sr|no|approx|dept)|\b[A-Z])\.$", re.IGNORECASE
)
_LONGEST_ABBREVIATION: Final = 10
"""Letters in which an abbreviation stands with what is before it."""

_QUESTION: Final = re.compile(
    r"^(?:(?:and|so|but|oh|well|hey|hi|also|by the way|btw),? )*"
    r"(?:what|who|whom|whose|when|where|why|how|which|do|does|did|is|are|was|were|can|could|would|will|should|have|has)"
    r" (?:you|your|i|we|it|he|she|they|there|that|this|the|about|does|do|did|is|are|was|were|can|could|should|would|many|much|long)\b.*\?$",
    re.IGNORECASE,
)


_INVERTED: Final = re.compile(
    r"^(?:(?:and|so|but|or) )?(?:should|shall|could|can|do|did|am|will|would) (?:i|we|you)\b(?! (?:ever|not)\b)",
    re.IGNORECASE,
)
"""A question whatever it ends with."""


def plain(text: str) -> str:
    """The text with straight quotes and without contractions."""
    straight = text.translate(_QUOTES)
    if "'em" in straight or "'cause" in straight or "eachother" in straight:
        straight = _CAUSE.sub("because", _EM.sub("them", straight)).replace("eachother", "each other")
    return _CONTRACTIONS.sub(_spelled_out, straight)


_CAUSE: Final = re.compile(r"(?<!\w)'cause\b")
_EM: Final = re.compile(r"(?<!\w)'em\b")


_HAD: Final = re.compile(
    r" (?:already|just|been|had|better|recently|previously|(?!need\b|feed\b|speed\b)\w+ed)\b", re.IGNORECASE
)
"""What follows "I'd" where it is short for "I had"."""


_HAS: Final = re.compile(
    r" (?:(?:just|already|also|only|never|always|now|since) )?(?:been|got(?! to\b)|gotten|become|had|gone)\b",
    re.IGNORECASE,
)
"""What follows "it's" where it is short for "it has"."""


def _spelled_out(found: re.Match[str]) -> str:
    name = found.lastgroup or ""
    if name in _FULL:
        return _FULL[name]
    said = found[0]
    if name == "is" and _HAS.match(found.string, found.end()):
        name = "has"
    if name == "would" and _HAD.match(found.string, found.end()):
        name = "had"
    if name == "not":
        return said[: -3 if "'" in said else -2] + " not"
    return f"{said[: said.index(chr(39))]} {name}"


def calm(text: str) -> str:
    """A text that is written in capitals throughout, in small letters; any other as it is."""
    if not text.isupper() or len(text) < _SHOUTED or text.count(" ") < _FEW_SPACES:
        return text
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


_SHOUTED, _FEW_SPACES = 10, 2


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, with abbreviations kept together."""
    found: list[list[str]] = []
    for piece in _SENTENCE_END.split(text):
        bare = piece.strip() if piece else ""
        if bare and found and _ABBREVIATION.search(found[-1][-1][-_LONGEST_ABBREVIATION:]):
            found[-1].append(bare)
        elif bare:
            found.append([bare])
    return [" ".join(pieces) for pieces in found]


def is_question(sentence: str) -> bool:
    """Whether a sentence asks something."""
    return sentence.rstrip("\"') ").endswith("?") or bool(_QUESTION.match(sentence) or _INVERTED.match(sentence))
