"""What of a message is the speaker's own prose: code, logs, quotes and pasted material are left out.

Sentences come with their place in the message, so that every fact can point at the words it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<(\w+)[^>]*>.*?</\1>", re.DOTALL)
_HANDED_OVER: Final = re.compile(
    r"\b(?:translate|summari[sz]e|proof-?read|correct|rewrite|rephrase|paraphrase|edit|review|analy[sz]e|explain|read|check|improve|"
    r"fix|shorten|classify|extract|tl;?dr|feedback on|respond to|reply to|answer)\b[^\n]{0,80}?(?::|\n)"
    r"|\b(?:here is|here's|this is|below is|see|the following|following) (?:the |an |a |my |this )?(?:article|text|e-?mail|message|essay|log|logs|"
    r"code|error|output|story|paragraph|letter|document|transcript|post|review|prompt|draft|conversation|chat|stack ?trace|config|file|abstract|poem|lyrics|script)\b[^\n]{0,60}?(?::|\n|$)"
    r"|\b(?:write|tell|create|make up|compose|continue|act out|role-?play|pretend)\b[^\n]{0,60}\b(?:story|poem|scene|song|dialogue|character|novel|fiction|role)\b[^\n]{0,60}?(?::|\n)",
    re.IGNORECASE,
)
_CODE_LINE: Final = re.compile(
    r"^\s*(?:[>#$]\s|[{}\[\]();]|(?:def|class|import|from|return|const|let|var|function|public|private|SELECT|INSERT|UPDATE|DELETE|CREATE|at|File|Traceback|"
    r"npm|pip|git|sudo|docker|curl|ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|Exception|Caused by)\b[^a-z]{0,3}.*[({:=;/\\.]|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\|.*\|\s*$|\w+\s*[:=]\s*[\"'\d{\[]|[\w./-]+:\d+:|<\w)"
)
_SYSTEM_LIKE: Final = re.compile(
    r"^\s*(?:you are (?:a|an|the)\b|system prompt|your (?:task|role|job|goal) is|as an ai|you must|never reveal|instructions?:|rules?:|#{1,3} )",
    re.IGNORECASE,
)
_BOUNDARY: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[]?[A-Za-z0-9])|\n+|(?<=[a-z][.!?])(?=[A-Z][a-z])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|inc|ltd|corp|co|vs|etc|e\.g|i\.e|jr|sr|approx|dept)|(?<![a-z])[A-Z])\.\s*$",
    re.IGNORECASE,
)
_LONG_PARAGRAPH: Final = 900
_LATIN: Final = re.compile(r"[A-Za-z]")
_ENGLISH: Final = frozenset(
    """the a an i my me we our is am are was were have has had do does did to of in on at for with and but not it that this
    he she they you from by as or so just like love prefer work live user's can will be been no yes now""".split()
)


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence and where it stands."""

    text: str
    start: int
    end: int


def own_sentences(message: str) -> list[Span]:
    """The sentences of a message that are the speaker's own words, in order."""
    return [sentence for start, end in _own_parts(message) for sentence in _sentences(message, start, end)]


def is_english(text: str) -> bool:
    """Whether rules written for English may be tried: enough Latin letters and a common English word."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    if not words:
        return False
    latin = sum(bool(_LATIN.match(word)) and word.isascii() for word in words)
    known = sum(word in _ENGLISH for word in words)
    return latin >= 0.8 * len(words) and (known >= max(1, len(words) // 12) or len(words) <= 6)


def _own_parts(message: str) -> Iterator[tuple[int, int]]:
    """Stretches outside code fences and before anything that was handed over to work on."""
    handed = _HANDED_OVER.search(message)
    limit = handed.start() if handed and _much_follows(message, handed.end()) else len(message)
    if _SYSTEM_LIKE.match(message):
        return
    at = 0
    for fence in _FENCED.finditer(message):
        if fence.start() >= limit:
            break
        yield at, fence.start()
        at = fence.end()
    if at < limit:
        yield at, limit


def _much_follows(message: str, at: int) -> bool:
    return len(message) - at > 15


def _sentences(message: str, start: int, end: int) -> Iterator[Span]:
    for first, last in _paragraphs(message, start, end):
        if last - first > _LONG_PARAGRAPH or _CODE_LINE.match(message[first:last]):
            continue
        yield from _cut(message, first, last)


def _paragraphs(message: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for line in message[start:end].splitlines(keepends=True):
        bare = line.strip()
        if bare:
            offset = at + line.index(bare)
            yield offset, offset + len(bare)
        at += len(line)


def _cut(message: str, first: int, last: int) -> Iterator[Span]:
    begin = first
    for boundary in _BOUNDARY.finditer(message, first, last):
        if _ABBREVIATION.search(message[begin : boundary.start()]):
            continue
        if boundary.start() > begin:
            yield _span(message, begin, boundary.start())
        begin = boundary.end()
    if begin < last:
        yield _span(message, begin, last)


def _span(message: str, start: int, end: int) -> Span:
    text = message[start:end]
    left = len(text) - len(text.lstrip())
    return Span(text.strip(), start + left, start + left + len(text.strip()))
