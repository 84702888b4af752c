"""What Memstone put into a prompt must not come back as something the user said.

Injected memory stands between two marker lines that carry an id made from a secret; every process with that secret
makes the same bytes, so each can remove what any other injected. Inside the block whatever looks like a marker is
escaped, so no memory can close its own fence. ``echoes`` finds what was repeated without a fence.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from memstone.core.text.normalize import normal_text
from memstone.core.text.words import STOP_WORDS
from memstone.errors import ConfigError

Span: TypeAlias = tuple[int, int]

_ID_CHARS: Final = 24
# The name may be the former one or of another case, the bracket an entity, the end of the text cut off.
_MARKER: Final = re.compile(
    r"""(?:<|&lt;)\s{0,8}(?P<close>/?)\s{0,8}(?:memstone|retain)-memory\b
    (?:\s{1,8}id\s{0,8}=\s{0,8}["'\u201c\u201d]?(?:&quot;)?(?P<id>[0-9a-f]{1,64}))?
    [^<>&\n]{0,40}(?:&quot;)?\s{0,8}(?:>|&gt;|\Z)""",
    re.IGNORECASE | re.VERBOSE,
)
_MARKER_LIKE: Final = re.compile(
    r"(?P<bracket><|&lt;)(?P<escapes>\\*+)(?=\s{0,8}/?\s{0,8}(?:memstone|retain)-memory)", re.IGNORECASE
)
_ESCAPED: Final = re.compile(r"(?P<bracket><|&lt;)\\(?=\\*+\s{0,8}/?\s{0,8}(?:memstone|retain)-memory)", re.IGNORECASE)
_SOMETHING: Final = re.compile(r"[^\S\r\n]*\S")
_LINE_END: Final = re.compile(r"\r\n|\n|\r|")
_LONGEST_QUOTING: Final = 200


class Fence:
    """Wraps what is injected and removes it again. ``foreign`` says whether fences of other ids are removed too."""

    def __init__(self, secret: bytes, *, foreign: bool = True) -> None:
        if not isinstance(secret, bytes) or not secret:
            raise ConfigError("a fence needs a secret", hint="pass the bytes that are stored once per tenant")
        self.id = hmac.new(secret, b"memstone memory fence 1", hashlib.sha256).hexdigest()[:_ID_CHARS]
        self._foreign = foreign

    def wrap(self, text: str) -> str:
        """The text between the marker lines; the same text always gives the same bytes."""
        return f'<memstone-memory id="{self.id}">\n{escape(text)}\n</memstone-memory id="{self.id}">'

    def strip(self, text: str) -> tuple[str, bool]:
        """The text without fenced blocks, and whether there were any.

        A block reaches from its opening marker to the closing one with the same id or with none, or to the end of the
        text; what stands between, other markers too, goes with it. A closing marker alone is removed too. The line
        that a block stood on goes with it, also when a client indented or quoted the block.
        """
        parts, at = [], 0
        for start, end in self._blocks(text):
            parts.append(text[at:start])
            at = end
        return "".join(parts) + text[at:], bool(parts)

    def _blocks(self, text: str) -> Iterator[Span]:
        opened: re.Match[str] | None = None
        for marker in _MARKER.finditer(text):
            if opened is not None:
                if marker["close"] and _closes(opened, marker):
                    yield _whole_lines(text, opened, marker)
                    opened = None
            elif self._foreign or _id(marker) == self.id:
                if marker["close"]:
                    yield _whole_lines(text, marker, marker)
                else:
                    opened = marker
        if opened is not None:
            yield _whole_lines(text, opened, None)


def escape(text: str) -> str:
    """The text with a backslash in everything that looks like a marker."""
    if "<" not in text and "&" not in text:  # most texts: nothing in them can begin a marker
        return text
    return _MARKER_LIKE.sub(r"\g<bracket>\\\g<escapes>", text)


def unescape(text: str) -> str:
    """What ``escape`` was given."""
    return _ESCAPED.sub(r"\g<bracket>", text)


def _id(marker: re.Match[str]) -> str:
    return (marker["id"] or "").lower()


def _closes(opened: re.Match[str], closing: re.Match[str]) -> bool:
    return not _id(closing) or _id(closing) == _id(opened)


def _whole_lines(text: str, opened: re.Match[str], closing: re.Match[str] | None) -> Span:
    """From where to where to cut: with the quoting before the markers, if both have it, and with the line's end."""
    start, end = opened.start(), closing.end() if closing else len(text)
    quoting = _quoting(text, start) if _ends_line(text, end) else ""  # what follows on the line is still a quotation
    if quoting and quoting == (_quoting(text, closing.start()) if closing else _next_quoting(text, opened, quoting)):
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


def _next_quoting(text: str, opened: re.Match[str], quoting: str) -> str:
    return quoting if text.startswith(quoting, _after_line(text, opened.end())) else ""


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
