"""Messages, in the forms that callers use."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# --- what is said to a memory, in the shapes callers use --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something in a message that is not words: what kind of thing, what it is called, where it is."""

    kind: str
    name: str
    media_type: str = ""
    url: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return it as it is stored."""
        items = (("type", self.kind), ("name", self.name), ("media_type", self.media_type), ("url", self.url))
        return {name: value for name, value in items if value}


@dataclass(frozen=True, slots=True)
class Message:
    """One checked message."""

    role: str
    text: str
    name: str = ""
    attachments: tuple[Attachment, ...] = ()

    @property
    def speaker(self) -> str:
        """Who said it: the name if there is one, else the role."""
        return self.name or self.role


# --- whether a text asks, by its marks --------------------------------------------------------------------------------


MARKS: Final = "?\uff1f\u061f\u037e\u2047\u2048\u2049\u203d\u2e2e\u1367\u055e"
"""Latin, full width, Arabic, Greek, doubled and mixed, reversed, Ethiopic, Armenian."""

MAY_ASK: Final = f"{MARKS};"
"""Without any of these a text asks nothing; in Greek a semicolon asks."""

_GREEK: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_ENDS: Final = ".!\u2026\u3002\uff01\u0964\u06d4\n"
_SENTENCE: Final = re.compile(rf"[^{_ENDS}{re.escape(MARKS)}]+([{_ENDS}{re.escape(MARKS)}]*)")
_CLAUSE: Final = re.compile(r"[,;:\uff0c\u3001\u060c\uff1a\uff1b]|\s[-\u2013\u2014]\s|\u2014")
_WORD: Final = re.compile(r"\w+")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_SENTENCE_WORDS: Final = 2
_CLAUSE_WORDS: Final = 3
"""With fewer words it is a greeting, or calls somebody by name: it states nothing."""


def question_share(text: str) -> float:
    """Return the share of a text's characters that are in sentences ending with a question mark."""
    asked, start = 0, 0
    for at, char in enumerate(text):
        if char in ".!?\n":
            if char == "?":
                asked += at + 1 - start
            start = at + 1
    return asked / len(text) if text else 0.0


def asks_alone(text: str, begins_question: Callable[[str], bool] = lambda _: False) -> bool:
    """Return whether a text asks and states nothing beside it, in a sentence or in a clause before the question.

    ``begins_question`` says of a clause whether it is a part of the question by its words.
    """
    marked = text.replace(";", "?") if _GREEK.search(text) else text
    asks = False
    for sentence in _SENTENCE.finditer(marked):
        spoken_text, mark = sentence[0].strip(), sentence[1]
        if not any(one in MARKS for one in mark):
            if _count_words(spoken_text) >= _SENTENCE_WORDS:
                return False
            continue
        asks = True
        *before, _ = _CLAUSE.split(spoken_text)
        if any(_count_words(clause) >= _CLAUSE_WORDS and not begins_question(clause) for clause in before):
            return False
    return asks


def _count_words(text: str) -> int:
    """Count words; in a script without blanks two characters are about one."""
    words = _WORD.findall(text)
    unspaced = len(_UNSPACED.findall(text))
    return len(words) + unspaced // 2 if unspaced else len(words)


_ROLES: Final = frozenset({"user", "the user", "assistant", "system"})


def speaker_name(name: str) -> str:
    """Return the name of a speaker as far as it is one; '' for a name such as "user"."""
    return "" if name.strip().casefold() in _ROLES else name.strip()
