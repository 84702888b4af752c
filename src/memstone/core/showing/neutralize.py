"""Make text harmless before a model reads it.

A memory may hold anything that somebody said, also words that imitate what a model takes for structure: the markers of
our own fence, the control tokens of chat templates, the tags of roles and tools. Such words are read here as a model
may read them, whatever they are written with: other scripts, full-width or styled letters, characters that nobody sees,
HTML entities. Where one is found its brackets become parentheses; everything else stays as it was said, except that
hidden characters are left out. What is stored is never changed.

The time grows with the length of the text only: no pattern can look at a place more than a fixed number of times.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

_ROUNDS: Final = 3
"""So often what is written in code (``&#38;lt;``) is decoded, and what was made harmless is looked at again."""


def neutralize(text: str) -> str:
    """Return a text without hidden characters and with nothing in it that a model could take for structure."""
    if not _SUSPECT.search(text):
        return text
    for _ in range(_ROUNDS):
        folded = _threatening(text)
        if folded is None:
            return _HIDDEN.sub("", text)
        text = _disarmed(text, folded)
    # Only a text built for it still imitates something: each round laid bare what another hid. It loses its brackets.
    return _HIDDEN.sub("", text if _threatening(text) is None else text.translate(_BARE))


def neutralize_values(value: Any) -> Any:
    """Return a JSON value of which every string was neutralized, names of fields excepted."""
    if isinstance(value, str):
        return neutralize(value)
    if isinstance(value, dict):
        return {name: neutralize_values(one) for name, one in value.items()}
    return [neutralize_values(one) for one in value] if isinstance(value, (list, tuple)) else value


# --- how a text reads -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Folded:
    """A text as a model may read it: small ASCII letters where others imitate them, nothing hidden, nothing in code.

    Character ``at`` of it stands for the characters from ``starts[at]`` up to ``ends[at]`` of the text itself.
    """

    text: str
    starts: list[int]
    ends: list[int]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text itself a stretch stands."""
        return self.starts[start], self.ends[end - 1]


def fold(text: str) -> Folded:
    """Return a text as a model may read it, with where each character of that comes from."""
    chars, starts, ends = list[str](), list[int](), list[int]()
    for at, char in enumerate(text):
        for one in _FOLDS[ord(char)]:
            chars.append(one)
            starts.append(at)
            ends.append(at + 1)
    folded = Folded("".join(chars), starts, ends)
    for _ in range(_ROUNDS):
        if not _CODED.search(folded.text):
            break
        folded = _decoded(folded)
    return folded


def may_hold_marker(text: str) -> bool:
    """Tell whether a look at the folded text can find a marker of a fence; cheap, and true rather too often."""
    read = _quick(text)
    return bool(_CODED.search(read) or _NAME.search(read))


def _quick(text: str) -> str:
    """Return the folded text, but for what is in code, and without the places."""
    return text.lower() if _PLAIN.fullmatch(text) else text.translate(_FOLDS)


def _threatening(text: str) -> Folded | None:
    """Return the folded text if something in it must not be shown as it is."""
    read = _quick(text)
    if not _CODED.search(read) and not _THREAT.search(read):
        return None
    folded = fold(text)
    return folded if _THREAT.search(folded.text) else None


def _disarmed(text: str, folded: Folded) -> str:
    parts, at = list[str](), 0
    for found in _THREAT.finditer(folded.text):
        start, end = folded.place(*found.span())
        said = text[start:end]
        read = said if said.lower() == found[0] else found[0]
        parts += [text[at:start], " ".join(read.translate(_PARENTHESES).split())]
        at = end
    return "".join(parts) + text[at:]


def _decoded(folded: Folded) -> Folded:
    """Return it with one layer of entities and escapes read."""
    chars, starts, ends, at = list[str](), list[int](), list[int](), 0
    for found in _CODED.finditer(folded.text):
        start, end = found.span()
        read = _read(found)
        if read is None:
            continue
        first, last = folded.place(start, end)
        chars += [*folded.text[at:start], *read]
        starts += folded.starts[at:start] + [first] * len(read)
        ends += folded.ends[at:start] + [last] * len(read)
        at = end
    return Folded("".join(chars) + folded.text[at:], starts + folded.starts[at:], ends + folded.ends[at:])


def _read(coded: re.Match[str]) -> str | None:
    """Return the character that an entity or escape stands for, folded; None if it stands for none."""
    if coded["name"]:
        return _read_name(coded["name"])
    number = int(coded[coded.lastgroup or 0], 10 if coded.lastgroup == "decimal" else 16)
    return _FOLDS[number] if 0 < number <= _LAST else None


def _read_name(name: str) -> str | None:
    known, unended = _entities().get(name), _UNENDED.match(name)
    if known is None and unended:
        return _entities()[unended[0]] + name[unended.end() :]
    return known


@cache
def _entities() -> dict[str, str]:
    """Return every named entity, by its name in small letters; the names are only loaded where one may stand."""
    from html.entities import html5

    return {name.rstrip(";").lower(): "".join(_FOLDS[ord(char)] for char in read) for name, read in html5.items()}


class _Folds(dict[int, str]):
    """What each character reads as, worked out when it is first met."""

    def __missing__(self, point: int) -> str:
        self[point] = read = _folded_char(chr(point))
        return read


def _folded_char(char: str) -> str:
    styled = _STYLED.get(ord(char))
    if styled is not None:
        return styled
    if char.isspace():
        return "\n" if char in _LINE_ENDS else " "
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    parts = parts.strip("()") or parts  # a letter in parentheses that is one character
    return "".join(_LOOKALIKES.get(one, one) for one in parts if not _is_unseen(one))


def _is_unseen(char: str) -> bool:
    return char in _BLANK_LETTERS or unicodedata.category(char) in {"Cf", "Cc", "Cn", "Cs", "Mn", "Me"}


_LAST: Final = 0x10FFFF
_LINE_ENDS: Final = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_BLANK_LETTERS: Final = "\u115f\u1160\u3164\uffa0\u2800"
_SIGNS: Final = {
    "<": "\u2039\u02c2\u1438\u16b2\u3008\u27e8\u276e\u276c\u2770\u29fc\u2991\u227a\u00ab\u226a\u27ea\u300a\u22d6"
    "\u2264\u2a7d\u25c1\u25c2\u25c0\u22b2",
    ">": "\u203a\u02c3\u1433\u3009\u27e9\u276f\u276d\u2771\u29fd\u2992\u227b\u00bb\u226b\u27eb\u300b\u22d7"
    "\u2265\u2a7e\u25b7\u25b8\u25b6\u22b3",
    "[": "\u3010\u3014\u27e6\u301a\u2045\u2772\u3016",
    "]": "\u3011\u3015\u27e7\u301b\u2046\u2773\u3017",
    "/": "\u2044\u2215\u29f8\u2571\u27cb\u3033\u30ce",
    "\\": "\u2216\u29f5\u29f9\u2572\u27cd",
    "-": "\u2010\u2012\u2013\u2014\u2015\u2212\u2043\u02d7\u2796\u30fc\u1428\u3161\u4e00\u2e3a\u2e3b\u301c\u00b7\u2022",
    "|": "\u01c0\u2223\u23d0\u2502\u2758\u258f\u00a6\u05c0\u2503",
    "_": "\u2581\u203f\u2040",
    "=": "\ua78a\u2550\u30a0",
    '"': "\u201c\u201d\u201e\u201f\u2033\u02ba",
    "'": "\u2018\u2019\u201a\u201b\u2032\u02bc",
    "#": "\u266f",
}
"""Signs that look like another."""

_LETTERS: Final = {
    "a": "\u0430\u0251\u03b1\u1d00\u13aa\ua4ee\u237a\u2c81",
    "b": "\u044c\u0432\u0299\u03b2\u13f4\ua4d0",
    "c": "\u0441\u03c2\u1d04\u13df\ua4da\u2ca5",
    "d": "\u0501\u1d05\u13a0\ua4d3\u0257",
    "e": "\u0435\u0454\u03b5\u025b\u1d07\u13ac\ua4f0\u04bd\u212e\u2c89\u0259\u01dd",
    "f": "\ua730\ua4dd\u03dd\u0192",
    "g": "\u0261\u0262\u0581\u13c0\ua4d6",
    "h": "\u04bb\u043d\u029c\u13bb\u0570\ua4e7",
    "i": "\u0456\u0131\u03b9\u0269\u026a\u13a5\ua4f2\u2c93",
    "j": "\u0458\u1d0a\ua4d9\u03f3",
    "k": "\u043a\u03ba\u1d0b\ua4d7\u13e6\u2c95",
    "l": "\u04cf\u029f\u13de\ua4e1\u0142",
    "m": "\u043c\u03bc\u1d0d\u13b7\ua4df\u2c99\u028d\u0271",
    "n": "\u043f\u0578\u03b7\u03bd\u0274\ua4e0\u057c\u0438\u0272\u2c9b",
    "o": "\u043e\u03bf\u03c3\u0585\u1d0f\ua4f3\u2c9f\u04e9\u00f8\u0b20\u0d20\u3007\u0966\u09e6\u0665\u06f5",
    "p": "\u0440\u03c1\u1d18\u13e2\ua4d1\u2ca3",
    "q": "\u051b\u0563",
    "r": "\u0433\u0280\u1d26\ua4e3\u13d2\u2c85\u044f\u027e",
    "s": "\u0455\ua731\u13da\ua4e2\u0282\u01bd",
    "t": "\u0442\u03c4\u1d1b\u13a2\ua4d4\u2ca7\u0167\u0288",
    "u": "\u03c5\u057d\u1d1c\ua4f4\u028b",
    "v": "\u0475\u1d20\ua4e6\u13d9",
    "w": "\u051d\u0461\u1d21\u03c9\ua4ea\u13b3\u0561",
    "x": "\u0445\u03c7\ua4eb\u2cad",
    "y": "\u0443\u04af\u03b3\u028f\ua4ec\u13a9\u10e7\u2ca9",
    "z": "\u1d22\u13c3\ua4dc",
}
"""Letters of other scripts that imitate one of ours, in the form that ``casefold`` gives them."""

_LOOKALIKES: Final = {other: one for table in (_SIGNS, _LETTERS) for one, others in table.items() for other in others}
_STYLED: Final = {
    first + at: chr(ord("a") + at)
    for first in (0x1F150, 0x1F170, 0x1F1E6)  # on a dark disc, on a dark square, as letters of flags
    for at in range(26)
}
_FOLDS: Final = _Folds()

# --- what must not be shown as it is ----------------------------------------------------------------------------------

_PLAIN: Final = re.compile(r"[\t\n -~]*+")
_SUSPECT: Final = re.compile(r"[<\[{&%\\\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\U0010ffff]")
"""Nothing can begin with any other character."""

_CODED: Final = re.compile(
    r"&(?:#0*+(?P<decimal>[1-9]\d{0,6})(?!\d)|#x0*+(?P<hex>[1-9a-f][0-9a-f]{0,5})(?![0-9a-f])"
    r"|(?P<name>[a-z][a-z0-9]{1,31}(?=;)|lt|gt|amp|quot|shy|nbsp));?"
    r"|\\(?:u(?P<four>[0-9a-f]{4})|u\{(?P<braced>[0-9a-f]{1,6})\}|x(?P<two>[0-9a-f]{2}))"
    r"|%(?:25)*+(?P<percent>[2-7][0-9a-f])"
)
"""A character that is written as an entity, as an escape of a programming language, or as part of an address."""

_UNENDED: Final = re.compile("lt|gt|amp|quot|shy|nbsp")
"""Entities that are understood without their semicolon."""

_GAP: Final = r"(?:[^\w<>()\[\]{}]|_)*+"
_READ_AS: Final = {"m": "(?:m|rn)", "e": "[e3]", "s": "[s5]", "t": "[t7]", "o": "[o0]", "i": "[i1l]", "a": "[a4]"}


def _spelled(word: str) -> str:
    """Return a pattern for a word, however its letters are set apart."""
    return _GAP.join(_READ_AS.get(letter, letter) for letter in word)


_ANY_NAME: Final = f"(?:{_spelled('memstone')}|{_spelled('retain')}){_GAP}{_spelled('memory')}"
_NAME: Final = re.compile(r"(?:memstone|retain)-memory")
_TAGS: Final = r"""s|bos|eos|pad|unk|sys|inst|(?:start|end|begin)_?of_?(?:turn|text|sentence|document)|im_(?:start|end)
    |(?:system|developer|assistant|user|human|model|tool|function)(?:[\s_-]?(?:prompt|messages?|reminder|instructions?
    |calls?|use|results?|response|outputs?))?|available_tools|instructions?|invoke|think(?:ing)?|reasoning|scratchpad"""
_SQUARE_TAGS: Final = r"inst|bos|eos|sys|system(?:[\s_-]?prompt)?|available_tools|tool_(?:calls?|results?|content)"
_THREAT: Final = re.compile(
    rf"""(?<![<\[{{])[<\[{{]++{_GAP}{_ANY_NAME}(?:[^<>\[\]{{}}\n]{{0,200}}[>\]}}]++)?
    |(?<!<)<++\s*+\|[^|<>\n]{{0,60}}\|\s*+>++
    |(?<!<)<++[\s/\\]*+(?:\w{{1,12}}:)?(?:{_TAGS})\b[^<>\n]{{0,60}}>++
    |(?<!\[)\[++[\s/\\]*+(?:{_SQUARE_TAGS})\s*+\]++""",
    re.VERBOSE,
)
"""A marker of a fence; a token of a chat template; the tag of a role, of tools or of a model's own thoughts.

Each begins where a row of brackets begins and what follows holds none, so that no place is looked at twice.
"""

_PARENTHESES: Final = str.maketrans("<[{>]}", "((()))")


class _Bare(dict[int, str]):
    """Every sign that may be read as a bracket or as the beginning of code, in a plain form."""

    def __missing__(self, point: int) -> str:
        plain = _FOLDS[point].translate(_PARENTHESES)
        changed = plain != _FOLDS[point] or plain in ("&", "%", "\\")
        self[point] = char = {"&": "+", "%": "/", "\\": "/"}.get(plain, plain) if changed else chr(point)
        return char


_BARE: Final = _Bare()
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
    # What joins letters of Indic and Persian words, and emoji, stays there and goes elsewhere.
    "|(?<![\u0590-\u1fff\u2190-\u2bff\u3030-\U0001ffff])[\u200c\u200d\ufe0e\ufe0f]"
    "|[\u200c\u200d](?![\u0590-\u1fff\u2190-\u2bff\u3030-\U0001fffe])|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]"
)
