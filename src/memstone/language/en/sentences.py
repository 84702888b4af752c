"""Split text into sentences, with plain quotes and without contractions."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Final

from memstone.language.en.lexicon import KIN
from memstone.language.en.names import FIRST_NAMES
from memstone.language.lists import read_data

_DATA: Final = read_data("en", "sentences")

# --- text into plain sentences ----------------------------------------------------------------------------------------


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


def expand_contractions(text: str) -> str:
    """Return the text with straight quotes and without contractions."""
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
    text = found[0]
    if name == "is" and _HAS.match(found.string, found.end()):
        name = "has"
    if name == "would" and _HAD.match(found.string, found.end()):
        name = "had"
    if name == "not":
        return text[: -3 if "'" in text else -2] + " not"
    return f"{text[: text.index(chr(39))]} {name}"


def lowercase_all_caps(text: str) -> str:
    """Return a text that is written in capitals throughout, in small letters; any other as it is."""
    if not text.isupper() or len(text) < _SHOUTED or text.count(" ") < _FEW_SPACES:
        return text
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text


_SHOUTED, _FEW_SPACES = 10, 2


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order, with abbreviations kept together."""
    found: list[list[str]] = []
    for piece in _SENTENCE_END.split(text):
        bare = piece.strip() if piece else ""
        if bare and found and _ABBREVIATION.search(found[-1][-1][-_LONGEST_ABBREVIATION:]):
            found[-1].append(bare)
        elif bare:
            found.append([bare])
    return [" ".join(pieces) for pieces in found]


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks something."""
    return sentence.rstrip("\"') ").endswith("?") or bool(_QUESTION.match(sentence) or _INVERTED.match(sentence))


# --- what people say without telling anything -------------------------------------------------------------------------


_WORD: Final = re.compile(r"\w+")
_COURTESIES: Final = frozenset(_DATA["courtesies"].split())


def tells_nothing(text: str) -> bool:
    """Return whether a text is nothing but courtesies."""
    return all(word in _COURTESIES for word in _WORD.findall(text.lower()))


# --- where several people speak in one message ------------------------------------------------------------------------


_LABEL: Final = re.compile(
    r"(?:^[ \t]*+|(?<!\s)(?:\n|(?<=[.!?…\"”)])\s|\s\s)\s*+|\s[/|]\s++)[*_\[(<]{0,3}(?P<label>[^\W\d_][\w'.-]*+(?: [^\W\d_][\w'.-]*+)?)(?: \(\w+\))?[*_\])>]{0,3}:[*_]{0,3} ?(?=\S)"
)
_PERSONS: Final = KIN | frozenset(_DATA["persons"].split())
_FEWEST: Final = 2


def speakers_from(message: str) -> int:
    """Return where the first of several speakers begins; -1 where only one speaks.

    A list of "Name: Ana, City: Rome" is no talk.
    """
    if message.count(":") < _FEWEST:
        return -1
    found = [(match["label"].lower(), match.start()) for match in _LABEL.finditer(message)]
    times = Counter(label for label, _ in found)
    people = [(label, at) for label, at in found if _is_somebody(label) or (times[label] > 1 and len(label) > 1)]
    return people[0][1] if len({label for label, _ in people}) >= _FEWEST else -1


def _is_somebody(label: str) -> bool:
    words = label.split()
    return label in _PERSONS or words[0] in FIRST_NAMES or words[-1] in _PERSONS


# --- speakers who have a name -----------------------------------------------------------------------------------------


_MONTHS: Final = frozenset(
    "january february march april may june july august september october november december".split()
)


def begins_with(text: str, name: str) -> bool:
    """Return whether a text is told about somebody of this name, or about somebody of theirs; not only to them."""
    found = _name_pattern(name).match(text) if name else None
    return found is not None and _GOES_ON.match(text, found.end()) is not None


_GOES_ON: Final = re.compile(r"(?:'s)? [a-z\d]")


def as_user(text: str, name: str) -> str:
    """Return a text about somebody by name as it would be told about "User"."""
    return _name_pattern(name).sub("User", text) if name else text


def without_prefix(text: str, speaker: str) -> str:
    """Return the words of a message that begins with who says them: "Maya: I moved to Bergen"."""
    found = _speaker_prefix_pattern(speaker).match(text) if speaker and ":" in text[: len(speaker) + 16] else None
    return text[found.end() :] if found else text


def own_words(text: str, speaker: str) -> str:
    """Return what is said without the name before it; a talk of several people is none of the speaker's own."""
    return text if speakers_from(text) >= 0 else without_prefix(text, speaker)


@lru_cache(maxsize=256)
def _speaker_prefix_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"\s*[*_\[(<]{{0,3}}{_escape_name(name)}[*_\])>]{{0,3}}\s*:[*_]{{0,3}}\s+", re.IGNORECASE)


@lru_cache(maxsize=256)
def _name_pattern(name: str) -> re.Pattern[str]:
    """Return a name at the start of a sentence, and as it is written anywhere else but where it is told as a name."""
    word = _escape_name(name)
    behind = "(?='s )" if name.casefold() in _MONTHS else r"(?!\w)"
    return re.compile(
        rf"(?:^|(?<=[.!?] ))(?i:{word})(?!\w)|(?<!name is )(?<!called )(?<!named )(?<!call )(?<!\w){word}{behind}"
    )


def _escape_name(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split()))
