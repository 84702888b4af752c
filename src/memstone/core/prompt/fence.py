"""Put markers around blocks, and remove blocks from what users send back.

Injected memory stands between two marker lines. Their id is made from the tenant's secret and from what stands between
them: nobody without the secret can guess it, no two blocks share it, and the same block has the same bytes in every
process, so that prompt caches keep hitting. Any process with the secret knows an id of its own when it sees one. Inside
the block nothing reads as a marker (``neutralize``), so no memory can close its own fence. ``echoes`` finds what was
repeated without a fence.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

from memstone.errors import ConfigError
from memstone.language.text.normal import normal_text
from memstone.language.text.words import STOP_WORDS

# --- make text harmless before a model reads it -----------------------------------------------------------------------


_ROUNDS: Final = 3
"""So often what is written in code (``&#38;lt;``) is decoded, and what was made harmless is looked at again."""


def neutralize_text(text: str) -> str:
    """Return a text without hidden characters and with nothing in it that a model could take for structure."""
    if not _SUSPECT.search(text):
        return text
    for _ in range(_ROUNDS):
        folded = _fold_if_threat(text)
        if folded is None:
            return _HIDDEN.sub("", text)
        text = _replace_threats(text, folded)
    # Only a text built for it still imitates something: each round laid bare what another hid. It loses its brackets.
    return _HIDDEN.sub("", text if _fold_if_threat(text) is None else text.translate(_BARE))


def neutralize_values(value: Any) -> Any:
    """Return a JSON value of which every string was neutralized, names of fields excepted."""
    if isinstance(value, str):
        return neutralize_text(value)
    if isinstance(value, dict):
        return {name: neutralize_values(one) for name, one in value.items()}
    return [neutralize_values(one) for one in value] if isinstance(value, (list, tuple)) else value


# --- how a text reads -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as a model may read it: small ASCII letters where others imitate them, nothing hidden, nothing in code.

    Character ``at`` of it stands for the characters from ``starts[at]`` up to ``ends[at]`` of the text itself.
    """

    text: str
    starts: list[int]
    ends: list[int]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text itself a stretch stands."""
        return self.starts[start], self.ends[end - 1]


def fold_text(text: str) -> FoldedText:
    """Return a text as a model may read it, with where each character of that comes from."""
    chars, starts, ends = list[str](), list[int](), list[int]()
    for at, char in enumerate(text):
        for one in _FOLDS[ord(char)]:
            chars.append(one)
            starts.append(at)
            ends.append(at + 1)
    folded = FoldedText("".join(chars), starts, ends)
    for _ in range(_ROUNDS):
        if not _CODED.search(folded.text):
            break
        folded = _decode_layer(folded)
    return folded


def may_hold_marker(text: str) -> bool:
    """Return whether a look at the folded text can find a marker of a fence; cheap, and true rather too often."""
    read = _fold_without_places(text)
    return bool(_CODED.search(read) or _NAME.search(read))


def _fold_without_places(text: str) -> str:
    """Return the folded text, but for what is in code, and without the places."""
    return text.lower() if _PLAIN.fullmatch(text) else text.translate(_FOLDS)


def _fold_if_threat(text: str) -> FoldedText | None:
    """Return the folded text if something in it must not be shown as it is."""
    read = _fold_without_places(text)
    if not _CODED.search(read) and not _THREAT.search(read):
        return None
    folded = fold_text(text)
    return folded if _THREAT.search(folded.text) else None


def _replace_threats(text: str, folded: FoldedText) -> str:
    parts, at = list[str](), 0
    for found in _THREAT.finditer(folded.text):
        start, end = folded.place(*found.span())
        sentence = text[start:end]
        read = sentence if sentence.lower() == found[0] else found[0]
        parts += [text[at:start], " ".join(read.translate(_PARENTHESES).split())]
        at = end
    return "".join(parts) + text[at:]


def _decode_layer(folded: FoldedText) -> FoldedText:
    """Return it with one layer of entities and escapes read."""
    chars, starts, ends, at = list[str](), list[int](), list[int](), 0
    for found in _CODED.finditer(folded.text):
        start, end = found.span()
        read = _decode_char(found)
        if read is None:
            continue
        first, last = folded.place(start, end)
        chars += [*folded.text[at:start], *read]
        starts += folded.starts[at:start] + [first] * len(read)
        ends += folded.ends[at:start] + [last] * len(read)
        at = end
    return FoldedText("".join(chars) + folded.text[at:], starts + folded.starts[at:], ends + folded.ends[at:])


def _decode_char(coded: re.Match[str]) -> str | None:
    """Return the character that an entity or escape stands for, folded; None if it stands for none."""
    if coded["name"]:
        return _read_name(coded["name"])
    number = int(coded[coded.lastgroup or 0], 10 if coded.lastgroup == "decimal" else 16)
    return _FOLDS[number] if 0 < number <= _LAST else None


def _read_name(name: str) -> str | None:
    known, unended = _load_entities().get(name), _UNENDED.match(name)
    if known is None and unended:
        return _load_entities()[unended[0]] + name[unended.end() :]
    return known


@cache
def _load_entities() -> dict[str, str]:
    """Return every named entity, by its name in small letters; the names are only loaded where one may stand."""
    from html.entities import html5

    return {name.rstrip(";").lower(): "".join(_FOLDS[ord(char)] for char in read) for name, read in html5.items()}


class _LookalikeFolds(dict[int, str]):
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
_FOLDS: Final = _LookalikeFolds()

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


def _spelling_pattern(word: str) -> str:
    """Return a pattern for a word, however its letters are set apart."""
    return _GAP.join(_READ_AS.get(letter, letter) for letter in word)


_ANY_NAME: Final = (
    f"(?:{_spelling_pattern('memstone')}|{_spelling_pattern('retain')}){_GAP}{_spelling_pattern('memory')}"
)
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


# --- what Memstone put into a prompt must not come back as something the user said ------------------------------------


Span: TypeAlias = tuple[int, int]

_HALF_ID: Final = 12
# Looked for in the folded text: the name may be the former one, the end of the text cut off.
_MARKER: Final = re.compile(
    r"""<\s*+(?P<close>/?)\s*+(?:memstone|retain)-memory\b
    (?:\s++id\s*+=\s*+["']?(?P<id>[0-9a-z_-]{1,64}))?
    [^<>\n]{0,40}(?:>|\Z)""",
    re.VERBOSE,
)
_NOTICE: Final = re.compile(r"[\s>]{0,40}+memory context: notes")
"""How every block of Memstone begins: by this one is known whose end was cut off."""

_BARE_BLOCK: Final = re.compile(
    r"^[\s>]{0,40}+memory context: notes[^\n]*(?:\n(?:current date:[^\n]*|[^\n]{1,60}:[^\S\n]*|[^\S\n]*- [^\n]*))*\n?",
    re.IGNORECASE | re.MULTILINE,
)
"""The notice of a block with the headings and lists behind it, without markers."""

_SOMETHING: Final = re.compile(r"[^\S\r\n]*\S")
_LINE_END: Final = re.compile(r"\r\n|\n|\r|")
_LONGEST_QUOTING: Final = 200


@dataclass(frozen=True, slots=True)
class _Marker:
    """Where in a text a marker stands, and what it says."""

    start: int
    end: int
    closes: bool
    id: str
    noted: bool
    """Whether the notice follows that is in every block."""


class Fence:
    """Wraps what is injected and removes it again. ``foreign`` says whether fences of other ids are removed too."""

    def __init__(self, secret: bytes, *, foreign: bool = True) -> None:
        if not isinstance(secret, bytes) or not secret:
            raise ConfigError("a fence needs a secret", hint="pass the bytes that are stored once per tenant")
        self._secret, self._foreign = secret, foreign

    def wrap(self, text: str) -> str:
        """Return the text between the marker lines; the same text always gives the same bytes."""
        output = neutralize_text(text)
        block_id = self._id_of(output)
        return f'<memstone-memory id="{block_id}">\n{output}\n</memstone-memory id="{block_id}">'

    def owns(self, block_id: str) -> bool:
        """Return whether an id was made with this secret, whatever has become of the block."""
        return hmac.compare_digest(block_id, block_id[:_HALF_ID] + self._half(b"id", block_id[:_HALF_ID]))

    def strip(self, text: str) -> tuple[str, bool]:
        """Return the text without fenced blocks, and whether there were any.

        A block reaches from its opening marker to the closing one with the same id or with none; what stands between,
        other markers too, goes with it. An opening marker without an id counts on a line of its own. A block whose end
        was cut off is known by its notice, and reaches to the end of the text; one without markers by its notice and
        its headings, and reaches to the end of its list. A marker that stands alone is something the user wrote. The
        line that a block stood on goes with it, also when a client indented or quoted the block.
        """
        if not may_hold_marker(text):
            return self._strip_bare_blocks(text)
        parts, at = [], 0
        for start, end in self._blocks(text):
            parts.append(text[at:start])
            at = end
        rest, is_bare = self._strip_bare_blocks("".join(parts) + text[at:])
        return rest, is_bare or bool(parts)

    def _strip_bare_blocks(self, text: str) -> tuple[str, bool]:
        """Return the text without blocks that somebody wrote or copied without their markers."""
        rest, count = _BARE_BLOCK.subn("", text) if self._foreign and "emory context: notes" in text else (text, 0)
        return rest, count > 0

    def _id_of(self, output: str) -> str:
        """Return a number that stands for the block, and the proof that whoever chose it knew the secret."""
        number = self._half(b"block", output)
        return number + self._half(b"id", number)

    def _half(self, purpose: bytes, text: str) -> str:
        message = b"memstone fence 2 " + purpose + b"\0" + text.encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()[:_HALF_ID]

    def _blocks(self, text: str) -> Iterator[Span]:
        markers, end = list(_find_markers(fold_text(text))), 0
        ends = _Ends(markers)
        for opened in markers:
            if opened.closes or opened.start < end or not self._is_fence(text, opened):
                continue
            closing = ends.of(opened)
            if closing is not None or opened.noted:
                end = closing.end if closing else len(text)
                yield _whole_lines(text, opened, closing)

    def _is_fence(self, text: str, opened: _Marker) -> bool:
        """Return whether a marker may open a block; without an id only where it is on a line of its own."""
        if not opened.id:
            return self._foreign and _ends_line(text, opened.end)
        return self._foreign or self.owns(opened.id)


class _Ends:
    """The closing markers of a text, by their ids: each is found without a look at all others."""

    def __init__(self, markers: Sequence[_Marker]) -> None:
        self._by_id: dict[str, list[_Marker]] = {}
        for one in markers:
            if one.closes:
                self._by_id.setdefault(one.id, []).append(one)

    def of(self, opened: _Marker) -> _Marker | None:
        """Return the first one behind an opening marker that closes it: with the same id, or with none."""
        found = (self._after(block_id, opened.end) for block_id in ("", opened.id))
        return min((one for one in found if one is not None), key=lambda one: one.start, default=None)

    def _after(self, block_id: str, place: int) -> _Marker | None:
        closing = self._by_id.get(block_id, [])
        at = bisect_left(closing, place, key=lambda one: one.start)
        return closing[at] if at < len(closing) else None


def _find_markers(folded: FoldedText) -> Iterator[_Marker]:
    for found in _MARKER.finditer(folded.text):
        noted = _NOTICE.match(folded.text, found.end()) is not None
        yield _Marker(*folded.place(*found.span()), bool(found["close"]), found["id"] or "", noted)


def _whole_lines(text: str, opened: _Marker, closing: _Marker | None) -> Span:
    """Return what to cut: with the quoting before the markers, if both have it, and with the line's end."""
    start, end = opened.start, closing.end if closing else len(text)
    quoting = (
        _quote_prefix(text, start) if _ends_line(text, end) else ""
    )  # what follows on the line is still a quotation
    if quoting and quoting == (_quote_prefix(text, closing.start) if closing else _next_quoting(text, opened, quoting)):
        start -= len(quoting)
    if start == 0 or text[start - 1] in "\r\n":
        end = _after_line(text, end)
    return start, end


def _ends_line(text: str, at: int) -> bool:
    """Return whether nothing but blanks stands between a place and the end of its line."""
    return not _SOMETHING.match(text, at)


def _quote_prefix(text: str, at: int) -> str:
    """Return the blanks and quote signs between the start of the line and a place; '' if there is anything else."""
    nearby = text[max(0, at - _LONGEST_QUOTING) : at]
    line = nearby[max(nearby.rfind("\n"), nearby.rfind("\r")) + 1 :]
    return "" if line.strip(" \t>") else line


def _next_quoting(text: str, opened: _Marker, quoting: str) -> str:
    return quoting if text.startswith(quoting, _after_line(text, opened.end)) else ""


def _after_line(text: str, at: int) -> int:
    line_end = _LINE_END.match(text, at)
    return line_end.end() if line_end else at


# --- what was repeated without a fence --------------------------------------------------------------------------------

_LINES: Final = re.compile(r"[^\r\n]+")
_SENTENCES: Final = re.compile(r"\S(?:[^.!?]|[.!?](?!\s|\Z))*+[.!?]*+")
_LIST_SIGNS: Final = re.compile(r"[\s>]*(?:[-*+\u2022]|[0-9]{1,3}[.)])?[\s\"'\u201c]*(?:\[\d{4}-\d\d-\d\d\]\s*)?")
"""What stands before a memory where it is shown, the day in brackets as well."""

_WORDS: Final = re.compile(r"[^\W_]+(?:['.][^\W_]+)*")
_FEWEST_WORDS: Final = 5
_FEWEST_IN_PART: Final = 3
_LIKENESS: Final = 0.9
_NEGATIONS: Final = frozenset("no not never none without neither nor cannot hardly".split())
_WordSet: TypeAlias = frozenset[str]


def find_echoes(text: str, injected: Sequence[str]) -> list[Span]:
    """Return where lines or sentences of the text repeat an injected memory.

    To repeat is to say the same in the same words, or in nine of ten of at least five. A sentence that differs by a
    negation or a number, or that has one word in place of another, is not a repetition but news.
    """
    known = _InjectedText(injected)
    found: list[Span] = []
    for line in _LINES.finditer(text):
        if known.says(line[0]):
            found.append(line.span())
        else:
            found += [part.span() for part in _SENTENCES.finditer(text, *line.span()) if known.says(part[0])]
    return found


class _InjectedText:
    """What was injected, ready to be compared with."""

    def __init__(self, injected: Sequence[str]) -> None:
        self._exact: set[str] = set()
        self._by_size: dict[int, set[_WordSet]] = {}
        for memory in injected:
            self._learn(memory, 1)
            for line in _LINES.finditer(memory):
                for sentence in _SENTENCES.finditer(line[0]):
                    self._learn(sentence[0], _FEWEST_IN_PART)

    def _learn(self, text: str, fewest: int) -> None:
        words = _word_set(text)
        if len(words) >= fewest:
            self._exact.add(_normalize_line(text))
        if len(words) >= _FEWEST_WORDS:
            self._by_size.setdefault(len(words), set()).add(words)

    def says(self, text: str) -> bool:
        """Return whether the text repeats something of it."""
        bare = _normalize_line(text)
        if not bare or bare in self._exact:
            return bool(bare)
        words = _word_set(text)
        if len(words) < _FEWEST_WORDS:
            return False
        sizes = range(math.ceil(len(words) * _LIKENESS), math.floor(len(words) / _LIKENESS) + 1)
        return any(_is_repetition(words, texts) for size in sizes for texts in self._by_size.get(size, ()))


def _normalize_line(text: str) -> str:
    return normal_text(text[_list_sign_length(text) :]).strip("\"'.! ")


def _list_sign_length(text: str) -> int:
    signs = _LIST_SIGNS.match(text)
    return signs.end() if signs else 0


def _word_set(text: str) -> _WordSet:
    return frozenset(_WORDS.findall(normal_text(text[_list_sign_length(text) :])))


def _is_repetition(words: _WordSet, message: _WordSet) -> bool:
    if len(words & message) < _LIKENESS * len(words | message):
        return False
    more, less = words - message, message - words
    return not any(map(_is_significant, more | less)) and not (more - STOP_WORDS and less - STOP_WORDS)


def _is_significant(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't") or any(char.isdigit() for char in word)
