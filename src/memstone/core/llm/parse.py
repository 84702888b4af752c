"""Parse JSON in the answer of a language model.

Models wrap JSON in prose or fences, leave commas behind, use the wrong quotes and stop in the middle. Each step is
tried only when the one before has failed, so that a correct answer is never touched. The time taken grows with the
length of the answer and not faster, whatever is in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, Final, Literal, TypeAlias

# --- jSON out of what a language model answered -----------------------------------------------------------------------


How: TypeAlias = Literal["bare", "fenced", "embedded", "repaired", "truncated"]
"""How a value was obtained: as it stood, from a fence, from within prose, mended, or from an answer without end."""

MAX_DEPTH: Final = 100
_MAX_CANDIDATES: Final = 64  # the longest stretches are looked at, and not each of a million pairs of brackets
_MAX_MENDED: Final = 4
_MAX_UNCLOSED: Final = 8

_FENCE: Final = re.compile(r"```[\w-]*+\s*+([\[{].*?)```", re.DOTALL)
_OPENING: Final = re.compile(r"[{\[]")
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
_DOUBLE_QUOTED: Final = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
# A single quote ends a text only where a text can end: the apostrophe of "User's" is followed by a letter.
_SINGLE_QUOTED: Final = r"'(?:[^'\\]++|\\.|'(?!\s*+(?:[,:\]}]|\Z)))*+(?:'|\\?\Z)"
_BRACKETS: Final = re.compile(rf"{_DOUBLE_QUOTED}|[\[\]{{}}]", re.DOTALL)
_TOKEN: Final = re.compile(
    rf"[\s,]*+(?:(?P<text>{_DOUBLE_QUOTED}|{_SINGLE_QUOTED})|(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<colon>:)"
    r"|(?P<number>-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?(?![\w.+-]))|(?P<word>(?:true|false|null|True|False|None)\b)"
    r"|(?P<cut>[\w+.-]*+\Z))",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


class UnreadableAnswer(ValueError):
    """A model's answer that holds nothing usable; the message says what is wrong with it."""


class _NotJsonError(Exception):
    """What stands here cannot be mended; something else in the answer may be JSON."""


@dataclass(frozen=True, slots=True)
class ParsedValue:
    """A value and how it was obtained."""

    value: Any
    how: How


def parse_json(text: str) -> ParsedValue:
    """Return the JSON value an answer holds; ``UnreadableAnswer`` when it holds none."""
    answer = text.strip().lstrip("\ufeff")
    if not answer:
        raise UnreadableAnswer("the answer is empty")
    bare = _load_json(answer, "bare")
    if bare is not None:
        return bare
    rest = answer.partition("</think>")[2] if answer.startswith("<think>") else answer
    found = _parse_fenced(rest) or _parse_embedded(rest)
    if found is None:
        raise UnreadableAnswer("the answer holds no JSON that can be read")
    return found


def _load_json(text: str, how: How) -> ParsedValue | None:
    try:
        return ParsedValue(json.loads(text, strict=False, parse_constant=lambda _: None), how)
    except (ValueError, RecursionError):
        return None


def _parse_fenced(text: str) -> ParsedValue | None:
    for block in nlargest(_MAX_CANDIDATES, (match[1] for match in _FENCE.finditer(text)), key=len):
        found = _load_json(block, "fenced")
        if found is not None:
            return found
    return None


def _parse_embedded(text: str) -> ParsedValue | None:
    """Return the longest stretch within brackets that is JSON, or can be mended: the brackets of prose are short."""
    mended = 0
    for start, end in nlargest(
        _MAX_CANDIDATES, _bracket_spans(text), key=lambda ends: (ends[1] or len(text)) - ends[0]
    ):
        found = _load_json(text[start:end], "embedded") if end is not None else None
        if found is None and mended < _MAX_MENDED:
            mended += 1
            found = _repair_json(text, start)
        if found is not None:
            return found
    return None


def _bracket_spans(text: str) -> Iterator[tuple[int, int | None]]:
    """Yield where a bracket opens outside all others and where it closes; None when it never does."""
    at, unclosed = 0, 0
    while unclosed < _MAX_UNCLOSED and (opening := _OPENING.search(text, at)):
        end = _find_closing_bracket(text, opening.start())
        yield opening.start(), end
        at = opening.end() if end is None else end
        unclosed += end is None


def _find_closing_bracket(text: str, start: int) -> int | None:
    depth = 0
    for token in _BRACKETS.finditer(text, start):
        depth += _STEPS.get(token[0], 0)
        if not depth:
            return token.end()
        if depth > MAX_DEPTH:
            return None
    return None


def _repair_json(text: str, start: int) -> ParsedValue | None:
    try:
        return _Mender(text, start).value()
    except _NotJsonError:
        return None


class _Frame:
    """An open list or object."""

    def __init__(self, bracket: str) -> None:
        self.filled: list[Any] | dict[str, Any] = [] if bracket == "[" else {}
        self.key: str | None = None
        self.has_colon = False

    def put(self, value: Any) -> None:
        if isinstance(self.filled, list):
            self.filled.append(value)
        elif self.key is None:
            if not isinstance(value, str):
                raise _NotJsonError("a name in an object is not text")
            self.key = value
        elif self.has_colon:
            self.filled[self.key] = value
            self.key, self.has_colon = None, False
        else:
            raise _NotJsonError("a name in an object has no value")


class _Mender:
    """Reads almost-JSON from a place on: commas may be left over or missing, quotes single, the end cut off.

    Nothing is made up: of an answer without end only what is complete is kept, and an object in a list is complete
    only when it was closed.
    """

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self._open: list[_Frame] = []
        self._complete: Any = None

    def value(self) -> ParsedValue:
        at = self._start
        while at < len(self._text):
            token = _TOKEN.match(self._text, at)
            if token is None:
                raise _NotJsonError("a word stands where a value should be")
            at = token.end()
            if self._is_cut(token):
                break
            self._take(token)
            if self._complete is not None:
                return ParsedValue(self._complete, "repaired")
        return self._truncated_value()

    def _is_cut(self, token: re.Match[str]) -> bool:
        at_end = token.end() == len(self._text)
        match token.lastgroup:
            case "text":
                return at_end and not _is_closed(token["text"])
            case "number" | "cut":  # more digits may have been to come
                return at_end
            case _:
                return False

    def _take(self, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "open":
                self._enter(token["open"])
            case "close":
                self._leave()
            case "colon":
                self._open[-1].has_colon = True
            case "text":
                self._open[-1].put(_text_of(token["text"]))
            case "number":
                self._open[-1].put(_parse_number(token["number"]))
            case "word":
                self._open[-1].put(_WORDS[token["word"]])

    def _enter(self, bracket: str) -> None:
        if len(self._open) == MAX_DEPTH:
            raise _NotJsonError("the answer is nested too deeply")
        self._open.append(_Frame(bracket))

    def _leave(self) -> None:
        closed = self._open.pop()
        if closed.key is not None:
            raise _NotJsonError("a name in an object has no value")
        if self._open:
            self._open[-1].put(closed.filled)
        else:
            self._complete = closed.filled

    def _truncated_value(self) -> ParsedValue:
        while len(self._open) > 1:
            inner, outer = self._open.pop(), self._open[-1]
            half_an_item = isinstance(inner.filled, dict) and isinstance(outer.filled, list)
            if inner.filled and not half_an_item:
                outer.put(inner.filled)
        if not self._open or not self._open[0].filled:
            raise UnreadableAnswer("the answer ends before anything in it is complete")
        return ParsedValue(self._open[0].filled, "truncated")


def _is_closed(token: str) -> bool:
    return len(token) > 1 and token[-1] == token[0]


def _text_of(token: str) -> str:
    """Return what a quoted text says; a backslash that escapes nothing stands for itself."""
    inner = token[1:-1]
    if token[0] == "'":
        inner = inner.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
    inner = _ESCAPE.sub(lambda found: found[0] if found[1] else "\\\\", inner)
    loaded = _load_json(f'"{inner}"', "bare")
    if loaded is None:
        raise _NotJsonError("a text cannot be read")
    return str(loaded.value)


def _parse_number(token: str) -> int | float:
    try:
        return float(token) if set(token) & set(".eE") else int(token)
    except ValueError as error:  # thousands of digits
        raise _NotJsonError("a number is too long") from error


# --- a text of a model as it is stored --------------------------------------------------------------------------------


MIN_CHARS: Final = 3
MAX_CHARS: Final = 1_000

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return one line without characters that cannot be stored or seen."""
    return " ".join(_UNSEEN.sub("", text.replace("\r", " ")).split())
