"""What Memstone put into a prompt must not come back as something the user said.

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
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from memstone.core.showing.neutralize import Folded, fold, may_hold_marker, neutralize
from memstone.core.text.normalize import normal_text
from memstone.core.text.words import STOP_WORDS
from memstone.errors import ConfigError

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
    """Whether the notice follows that stands in every block."""


class Fence:
    """Wraps what is injected and removes it again. ``foreign`` says whether fences of other ids are removed too."""

    def __init__(self, secret: bytes, *, foreign: bool = True) -> None:
        if not isinstance(secret, bytes) or not secret:
            raise ConfigError("a fence needs a secret", hint="pass the bytes that are stored once per tenant")
        self._secret, self._foreign = secret, foreign

    def wrap(self, text: str) -> str:
        """Return the text between the marker lines; the same text always gives the same bytes."""
        shown = neutralize(text)
        block_id = self._id_of(shown)
        return f'<memstone-memory id="{block_id}">\n{shown}\n</memstone-memory id="{block_id}">'

    def owns(self, block_id: str) -> bool:
        """Tell whether an id was made with this secret, whatever has become of the block."""
        return hmac.compare_digest(block_id, block_id[:_HALF_ID] + self._half(b"id", block_id[:_HALF_ID]))

    def strip(self, text: str) -> tuple[str, bool]:
        """Return the text without fenced blocks, and whether there were any.

        A block reaches from its opening marker, which has an id, to the closing one with the same id or with none;
        what stands between, other markers too, goes with it. One whose end was cut off is known by its notice, and
        reaches to the end of the text. Any other marker that stands alone is something the user wrote. The line that a
        block stood on goes with it, also when a client indented or quoted the block.
        """
        if not may_hold_marker(text):
            return text, False
        parts, at = [], 0
        for start, end in self._blocks(text):
            parts.append(text[at:start])
            at = end
        return "".join(parts) + text[at:], bool(parts)

    def _id_of(self, shown: str) -> str:
        """Return a number that stands for the block, and the proof that whoever chose it knew the secret."""
        number = self._half(b"block", shown)
        return number + self._half(b"id", number)

    def _half(self, purpose: bytes, text: str) -> str:
        message = b"memstone fence 2 " + purpose + b"\0" + text.encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()[:_HALF_ID]

    def _blocks(self, text: str) -> Iterator[Span]:
        markers, end = list(_markers(fold(text))), 0
        ends = _Ends(markers)
        for opened in markers:
            if opened.closes or opened.start < end or not self._is_fence(opened.id):
                continue
            closing = ends.of(opened)
            if closing is not None or opened.noted:
                end = closing.end if closing else len(text)
                yield _whole_lines(text, opened, closing)

    def _is_fence(self, block_id: str) -> bool:
        return bool(block_id) and (self._foreign or self.owns(block_id))


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


def _markers(folded: Folded) -> Iterator[_Marker]:
    for found in _MARKER.finditer(folded.text):
        noted = _NOTICE.match(folded.text, found.end()) is not None
        yield _Marker(*folded.place(*found.span()), bool(found["close"]), found["id"] or "", noted)


def _whole_lines(text: str, opened: _Marker, closing: _Marker | None) -> Span:
    """From where to where to cut: with the quoting before the markers, if both have it, and with the line's end."""
    start, end = opened.start, closing.end if closing else len(text)
    quoting = _quoting(text, start) if _ends_line(text, end) else ""  # what follows on the line is still a quotation
    if quoting and quoting == (_quoting(text, closing.start) if closing else _next_quoting(text, opened, quoting)):
        start -= len(quoting)
    if start == 0 or text[start - 1] in "\r\n":
        end = _after_line(text, end)
    return start, end


def _ends_line(text: str, at: int) -> bool:
    """Whether nothing but blanks stands between a place and the end of its line."""
    return not _SOMETHING.match(text, at)


def _quoting(text: str, at: int) -> str:
    """The blanks and quote signs between the start of the line and a place; nothing if there is anything else."""
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
_Said: TypeAlias = frozenset[str]


def echoes(text: str, injected: Sequence[str]) -> list[Span]:
    """Where lines or sentences of the text repeat an injected memory.

    To repeat is to say the same in the same words, or in nine of ten of at least five. A sentence that differs by a
    negation or a number, or that has one word in the place of another, is not a repetition but news.
    """
    known = _Known(injected)
    found: list[Span] = []
    for line in _LINES.finditer(text):
        if known.says(line[0]):
            found.append(line.span())
        else:
            found += [part.span() for part in _SENTENCES.finditer(text, *line.span()) if known.says(part[0])]
    return found


class _Known:
    """What was injected, ready to be compared with."""

    def __init__(self, injected: Sequence[str]) -> None:
        self._exact: set[str] = set()
        self._by_size: dict[int, set[_Said]] = {}
        for memory in injected:
            self._learn(memory, 1)
            for line in _LINES.finditer(memory):
                for sentence in _SENTENCES.finditer(line[0]):
                    self._learn(sentence[0], _FEWEST_IN_PART)

    def _learn(self, text: str, fewest: int) -> None:
        words = _words(text)
        if len(words) >= fewest:
            self._exact.add(_bare(text))
        if len(words) >= _FEWEST_WORDS:
            self._by_size.setdefault(len(words), set()).add(words)

    def says(self, text: str) -> bool:
        """Whether the text repeats something of it."""
        bare = _bare(text)
        if not bare or bare in self._exact:
            return bool(bare)
        words = _words(text)
        if len(words) < _FEWEST_WORDS:
            return False
        sizes = range(math.ceil(len(words) * _LIKENESS), math.floor(len(words) / _LIKENESS) + 1)
        return any(_repeats(words, said) for size in sizes for said in self._by_size.get(size, ()))


def _bare(text: str) -> str:
    return normal_text(text[_skip(text) :]).strip("\"'.! ")


def _skip(text: str) -> int:
    signs = _LIST_SIGNS.match(text)
    return signs.end() if signs else 0


def _words(text: str) -> _Said:
    return frozenset(_WORDS.findall(normal_text(text[_skip(text) :])))


def _repeats(words: _Said, said: _Said) -> bool:
    if len(words & said) < _LIKENESS * len(words | said):
        return False
    more, less = words - said, said - words
    return not any(map(_matters, more | less)) and not (more - STOP_WORDS and less - STOP_WORDS)


def _matters(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't") or any(char.isdigit() for char in word)
