"""Find code, marked-up blocks and quotations in a message.

Each is found by its opening mark and then by its closing one. What has no closing mark is remembered, so that a message
full of opening marks is still read once and not once for each of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from memstone.language.en.sentences import speakers_from
from memstone.language.lists import read_data
from memstone.model.fact import Span

_DATA: Final = read_data("en", "own_prose")

# --- where code, marked-up blocks and quotations are in a message ---------------------------------------------------


FENCE_MARKS: Final = ("```", "~~~", "---", "</", '"""')
"""A message without any of these has no fence."""

QUOTE_MARKS: Final = ('"', "“", "'")
"""A message without any of these quotes nobody."""

_RULE: Final = re.compile(r"^-{3,}\s*$", re.MULTILINE)
_FENCE: Final = re.compile(rf"```|\"\"\"|~~~|{_RULE.pattern}|<(?=\w)", re.MULTILINE)
_TAG: Final = re.compile(r"<(\w{1,30})[^>]{0,200}>")
_CLOSING_TAG: Final = re.compile(r"</(\w{1,30})>")
_ATTRIBUTES: Final = 200
_ELEMENT: Final = 4_000
"""Characters of one marked-up element."""


def find_markup_blocks(message: str) -> Iterator[tuple[int, int]]:
    """Yield fenced code, blocks between rules, and elements of mark-up; what is left open goes on to the end."""
    tags = _closing_tags(message)
    at = 0
    while found := _FENCE.search(message, at):
        end = _element_end(message, found.start(), tags) if found[0] == "<" else _fence_end(message, found)
        if end:
            yield found.start(), end
        at = end or found.end()


def _fence_end(message: str, opening: re.Match[str]) -> int:
    mark = opening[0]
    if mark.startswith("-"):
        closing = _RULE.search(message, opening.end())
        return closing.end() if closing else len(message)
    end = message.find(mark, opening.end())
    return len(message) if end < 0 else end + len(mark)


def _closing_tags(message: str) -> dict[str, list[int]]:
    """Return where each closing tag stands, by its name."""
    places: dict[str, list[int]] = {}
    for tag in _CLOSING_TAG.finditer(message):
        places.setdefault(tag[1], []).append(tag.start())
    return places


def _element_end(message: str, start: int, tags: dict[str, list[int]]) -> int:
    """Return where the element that begins here ends; 0 for a tag that nothing closes.

    A name may be closed by its beginning.
    """
    opening = _TAG.match(message, start) if tags else None
    if opening is None:
        return 0
    name, inside = opening[1], opening.end()
    for size in range(len(name), max(0, inside - start - _ATTRIBUTES - 3), -1):
        places = tags.get(name[:size], [])
        at = bisect_left(places, inside)
        if at < len(places) and places[at] - inside <= _ELEMENT:
            return places[at] + size + 3
    return 0


_OPENS: Final = re.compile(r"[\"“]|(?<![\w'])'(?=[A-Z])")
_CLOSES: Final = {
    '"': re.compile(r"[\"\n]"),
    "“": re.compile(r"[”\n]"),
    "'": re.compile(r"'(?!\w)|\n"),
}
_LONG_QUOTE: Final = 12
"""So long is what somebody says; a shorter quotation is a title or a word."""


def find_quotations(message: str) -> Iterator[tuple[int, int]]:
    """Yield quotations within a line; a short one in double quotes only where a colon announces it."""
    open_until = dict.fromkeys(QUOTE_MARKS, 0)
    at = 0
    while found := _OPENS.search(message, at):
        mark, at = found[0], found.end()
        if found.start() < open_until[mark]:
            continue
        closing = _CLOSES[mark].search(message, at + (mark == "'"))
        if closing is None or closing[0] == "\n":
            open_until[mark] = closing.end() if closing else len(message)
        elif mark == "'" or _is_said(message, found.start(), closing.start()):
            at = closing.end()
            yield found.start(), at


def _is_said(message: str, start: int, end: int) -> bool:
    size = end - start - 1
    return size >= _LONG_QUOTE or (size > 0 and message[start] == '"' and message.endswith(": ", 0, start))


# --- what of a message is the speaker's own prose ---------------------------------------------------------------------


_SOMEBODY_SPEAKS: Final = re.compile(
    r"\b(?:I|I'm|I’m|I've|my|My|we|We|our|me|you|your)\b|(?<!\S)(?:\S++ ){5}\S+[.!?][\"”']$"
)
_HERE_IS: Final = (
    r"\b(?:here is|here's|this is|below is|see|the following|following) (?:the |an |a |my |this )?(?:article|text|(?:e-?)?mail|(?:web ?)?page|web ?site|thread|tweet|contract|message|essay|log|logs|"
    r"code|error|output|story|paragraph|letter|document|transcript|post|review|prompt|draft|conversation|chat|stack ?trace|config|file|abstract|poem|lyrics|script)\b[^\n]{0,60}?(?::|\n|$)"
    r"|^(?:please |pls |now |can you |could you )*(?:write|continue|turn|translate|fix|convert|complete|finish|rate|grade|check|correct|rewrite|rephrase|draft|compose|act|classify|extract)\b[^\n:]{0,90}?[:.](?= ?[\n\"'A-Z]|\s*\n)"
)
_HANDED_IN_LINE: Final = re.compile(_HERE_IS, re.IGNORECASE)
_HANDED_OVER: Final = re.compile(
    r"\b(?:gave|gives|says|said|reads|shows|returned|printed)(?: me)?: ?(?=[\"“\n])|(?<!let me )\b(?:translate|summari[sz]e|proof-?read|correct|rewrite|rephrase|paraphrase|edit|review|analy[sz]e|explain|read|check|improve|"
    r"fix|shorten|classify|extract|tl;?dr|feedback on|respond to|reply to|answer (?:this|these|the|him|her|them))\b[^\n]{0,80}?(?::|\n)"
    r"|\A(?![^\n]*\b(?:me|my|i|i'm|us|our)\b)[^\n]{3,80}:[ \t]*+\n[ \t]*+\n"
    rf"|{_HERE_IS}"
    r"|\b(?:write|tell|create|make up|compose|continue|act out|role-?play|pretend)\b[^\n]{0,60}\b(?:story|poem|scene|song|dialogue|character|novel|fiction|role)\b[^\n]{0,60}?(?::|\n)",
    re.IGNORECASE,
)
"""What hands something over to be worked on; without a colon or a new line only few of its ways are possible."""

_CODE_LINE: Final = re.compile(
    r"^\s*(?:[>#$]\s|//|[{}\[\]();]|(?:def|const|var|SELECT|INSERT|UPDATE|DELETE|CREATE|Traceback|"
    r"npm|pip|git|sudo|docker|curl|ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|Exception|Caused by)\b[^a-z]{0,3}.*[({:=;/\\.]|class \w+[:({]|import [\w.]+(?: as \w+)?;?$|from [\w.]+ import\b|return\b[^.]*[;(]|let \w+ ?=|function ?\w*\("
    r"|(?:public|private) (?:static|final|void|class|int|String)\b|at [\w.$<>]+\(|File \"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\|.*\|\s*$|\w+\s*[:=]\s*[\"'\d{\[]|[\w./-]+:\d+:|<\w)"
)
_SYSTEM_LIKE: Final = re.compile(
    r"^\s*(?:you are (?:a|an|the)\b|system prompt|your (?:task|role|job|goal) is|as an ai|you must|never reveal|instructions?:|rules?:|#{1,3} )",
    re.IGNORECASE,
)
_DIFF: Final = re.compile(r"^(?:diff --git|@@ -|--- a/|\+\+\+ b/)", re.MULTILINE)
_BOUNDARY: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[]?[^\W_])|\n+|(?<=[a-z][.!?])(?=[A-Z][a-z])")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|inc|ltd|corp|co|vs|etc|e\.g|i\.e|jr|sr|approx|dept)|(?-i:(?<![A-Za-z'’])[A-Z]))\.\s*$",
    re.IGNORECASE,
)
_DAY: Final = re.compile(r"(?<!\S)\d{1,2}\.$")
_MONTH: Final = re.compile(r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_STARTS: Final = re.compile(r"(?:I|I'm|My|We|Our|It|He|She|They|The|And|But)\b")
_MOST_SENTENCES: Final = 500
"""So many sentences of one message are read; what has more was hardly written by hand, and must not take long."""

_JUDGED_WORDS: Final = 400
"""So many words are enough to know a language by."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_ENGLISH: Final = frozenset(_DATA["english"].split())
_FOREIGN: Final = frozenset(_DATA["foreign"].split())
"""Small words of other languages that are none in English."""

_BORROWED: Final = frozenset(_DATA["borrowed"].split())
"""Words of English that are written with marks."""


@dataclass(frozen=True, slots=True)
class Prose:
    """The sentences of a message that are the speaker's own words, in order; of very many the last.

    ``is_cut`` says that there are more.
    """

    sentences: list[Span]
    is_cut: bool = False


def own_prose(message: str) -> Prose:
    """Return what of a message is the speaker's own, as far as it is read."""
    spans: list[Span] = []
    for start, end in reversed(list(_own_parts(message))):
        for first, last in reversed(list(_nonblank_line_spans(message, start, end))):
            if _CODE_LINE.match(message[first:last]):
                continue
            spans += reversed(list(_split_sentences(message, first, last)))
            if len(spans) > _MOST_SENTENCES:
                return Prose(spans[_MOST_SENTENCES - 1 :: -1], is_cut=True)
    return Prose(spans[::-1])


def own_sentences(message: str) -> list[Span]:
    """Return the sentences of a message that are the speaker's own words, in order; of very many the last."""
    return own_prose(message).sentences


def handed_over(message: str, *, titles: bool = False) -> list[tuple[int, int]]:
    """Return where others speak in a message: quotations, fenced blocks, quoted lines, and what is to be worked on.

    With ``titles`` also quotations in which nobody need be speaking.
    """
    found = [*_left_out(message), *(lines.span() for lines in _QUOTED_LINES.finditer(message))]
    if titles and any(mark in message for mark in QUOTE_MARKS):
        found += find_quotations(message)
    if (first := speakers_from(message)) >= 0:
        found.append((first, len(message)))
    handed = (_HANDED_OVER if ":" in message or "\n" in message else _HANDED_IN_LINE).search(message)
    if handed and _much_follows(message, handed.end()):
        found.append((handed.end(), len(message)))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


_QUOTED_LINES: Final = re.compile(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)


def is_english(text: str) -> bool:
    """Return whether rules written for English may be tried: enough Latin letters and a common English word."""
    written = [word[0] for word in islice(_WORD.finditer(text), _JUDGED_WORDS)]
    if not written:
        return False
    words = [word.lower() for word in written]
    known = sum(map(_ENGLISH.__contains__, words))
    foreign = sum(map(_FOREIGN.__contains__, words))
    enough = known >= max(1, len(words) // 12) or len(words) <= 9
    is_plain = all(map(str.isascii, words))
    # Names are written in any letters, so only other words tell a language; beside them no foreign word is overlooked.
    counted = words if is_plain else [word for word in written if not (_is_latin(word) and word[0].isupper())]
    latin = sum(word.isascii() or word.lower() in _BORROWED for word in counted)
    return (
        latin >= 0.8 * len(counted)
        and enough
        and (foreign <= known if is_plain else bool(known) and 2 * foreign <= known)
    )


def has_foreign_words(text: str) -> bool:
    """Return whether a common word of another language is in a text, which may be English all the same."""
    return any(word[0].lower() in _FOREIGN for word in islice(_WORD.finditer(text), _JUDGED_WORDS))


def _is_latin(word: str) -> bool:
    """Return whether a word is written in Latin letters, with whatever marks."""
    return all(letter < "\u0250" or "\u1e00" <= letter <= "\u1eff" for letter in word)


def _own_parts(message: str) -> Iterator[tuple[int, int]]:
    """Yield stretches outside code fences and before anything that was passed to work on."""
    handed = (_HANDED_OVER if ":" in message or "\n" in message else _HANDED_IN_LINE).search(message)
    limit = handed.start() if handed and _much_follows(message, handed.end()) else len(message)
    if (first := speakers_from(message[:limit])) >= 0:
        limit = first
    if _SYSTEM_LIKE.match(message) or _DIFF.search(message):
        return
    at = 0
    for start, end in _left_out(message):
        if start >= limit:
            break
        if start > at:
            yield at, start
        at = max(at, end)
    if at < limit:
        yield at, limit


_QUOTE_END: Final = 300
"""So much of a quotation is enough to tell who speaks in it."""


_TELLS: Final = re.compile(
    r"(?<!\bI )(?<!\bWe )(?<!\bwe )\b(?:wrote|writes|said|says|posted|commented|replied|texted|tweeted|goes|asked|asks|yelled|emailed)(?: (?:me|us|back|that|to me|online|there|once|today|yesterday))?: (?=[A-Z])[^\n.!?]*[.!?]?"
)
"""What somebody else says, without marks of quotation: as far as its sentence goes."""


def _left_out(message: str) -> list[tuple[int, int]]:
    """Return fences and what somebody else is quoted with, in order. A title in quotes stays."""
    found: list[tuple[int, int]] = (
        [statement.span() for statement in _TELLS.finditer(message)] if ": " in message else []
    )
    if any(mark in message for mark in _OUTPUT_MARKS):
        found += [
            lines
            for block in _BLOCK.finditer(message)
            if _OUTPUT.search(block[0])
            for lines in _find_program_output(block)
        ]
    if any(mark in message for mark in FENCE_MARKS):
        found += find_markup_blocks(message)
    if any(mark in message for mark in QUOTE_MARKS):
        found += [span for span in find_quotations(message) if _is_speech(message, *span)]
    return sorted(found)


def _find_program_output(block: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Return where a program's output stands; lines above it in which somebody mentions themselves were typed."""
    at = block.start()
    for line in block[0].splitlines(keepends=True):
        if not _IN_PERSON.match(line) or _OUTPUT.search(_INLINE.sub("", line)):
            yield at, block.end()
            return
        at += len(line)


_INLINE: Final = re.compile(r"`[^`\n]*`")
_IN_PERSON: Final = re.compile(
    r"(?![\w./-]+[:\]]|\W|\d)(?=[^\n]*?(?<![\w./:])(?:i|i'm|im|i've|my|we|we're|our)[\s,'’])", re.IGNORECASE
)
"""A line in which somebody mentions themselves, without a label, a path or a time before it."""


def _is_speech(message: str, start: int, end: int) -> bool:
    """Return whether somebody speaks in a quotation: by what it says, or because it is said who wrote it."""
    announced = _ANNOUNCES.search(message, max(0, start - _QUOTE_END), start)
    return announced is not None or _SOMEBODY_SPEAKS.search(message[start:end][-_QUOTE_END:]) is not None


_ANNOUNCES: Final = re.compile(
    r"\b(?:wrote|writes|sent|told|texted|replied|answered|mailed)(?: (?:to )?(?:me|us|him|her|them))?: ?[\"“']?$"
)
_BLOCK: Final = re.compile(r"(?:[^\n]++(?:\n(?![^\S\n]*+\n)|$)?)+")
_OUTPUT: Final = re.compile(
    r"\b\w+\.(?:py|go|c|cc|cpp|h|js|ts|java|rs|rb|php|kt|cs):\d+|\b\w+\[\d+\]:|\w::\w|\bSIG[A-Z]{3,}\b|\b\w+(?:Error|Exception): "
    r"|^[^\S\n]*+\+ [a-z]+ |\bstep \d+/\d+|^\w+: [A-Z]/\w+: |\b0x[0-9a-f]{4,}|^CI: |\bid:\d+|^\w+ v\d+\.\d+\.\d+\b",
    re.MULTILINE,
)
"""What only programs write: a block of lines that has it is their output, not somebody's words."""

_OUTPUT_MARKS: Final = (":", "SIG", "+ ", "step ", "0x", " v")
"""A message without any of these has no such block."""


def _much_follows(message: str, at: int) -> bool:
    return len(message) - at > 15


def _nonblank_line_spans(message: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for line in message[start:end].splitlines(keepends=True):
        bare = line.strip()
        if bare:
            offset = at + line.index(bare)
            yield offset, offset + len(bare)
        at += len(line)


def _split_sentences(message: str, first: int, last: int) -> Iterator[Span]:
    begin = first
    for boundary in _BOUNDARY.finditer(message, first, last):
        text = message[begin : boundary.start()][-8:]
        if _ABBREVIATION.search(text) and not _STARTS.match(message, boundary.end()):
            continue
        if _DAY.search(text) and _MONTH.match(message, boundary.end()):
            continue
        if boundary.start() > begin:
            closing = len(boundary[0]) - len(boundary[0].lstrip("\"')]"))
            yield _build_trimmed_span(message, begin, boundary.start() + closing)
        begin = boundary.end()
    if begin < last:
        yield _build_trimmed_span(message, begin, last)


def _build_trimmed_span(message: str, start: int, end: int) -> Span:
    text = message[start:end]
    left = len(text) - len(text.lstrip())
    return Span(text.strip(), start + left, start + left + len(text.strip()))
