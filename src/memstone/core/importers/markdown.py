"""Notes in Markdown: a point of a list or a paragraph is one thing, under the headings it stands below.

A date before a point, and one in the front matter, says when it was noted. Code, tables and pictures are not notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.core.importers.items import Item, Reading, text_of
from memstone.core.importers.times import when
from memstone.model.instant import Instant

_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_DATE: Final = re.compile(r"^(?:date|created|created_at|updated)[ \t]*:[ \t]*[\"']?([^\"'\n]+)", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]*(```+|~~~+)")
_HEADING: Final = re.compile(r"^[ \t]{0,3}(#{1,6})[ \t]+(.*)$")
_BOLD: Final = re.compile(r"^[ \t]{0,3}(\*\*|__)([^*_\n]{1,200})\1[ \t]*:?[ \t]*$")
_POINT: Final = re.compile(r"^[ \t>]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)$")
_DEEPEST: Final = 7
"""A line in bold stands for a heading below all others."""

_RULE: Final = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$")
_TABLE: Final = re.compile(r"^[ \t]*\|.*\|[ \t]*$")
_DATED: Final = re.compile(
    r"^\[?(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?)\]?[ \t]*(?:[-\u2013\u2014:][ \t]*)+(?=\S)"
)
_UNDATED: Final = re.compile(r"^\[(?:unknown|n/a|no date)[^\]]{0,20}\][ \t]*(?:[-\u2013\u2014:][ \t]*)+", re.IGNORECASE)
_LINK: Final = re.compile(r"(!?)\[([^\]\n]{0,300})\]\(([^()\s]{0,500})(?:[ \t]+\"[^\"\n]{0,200}\")?\)")
_WIKI: Final = re.compile(r"!?\[\[([^\]|\n]{1,200})(?:\|([^\]\n]{1,200}))?\]\]")
_STRESS: Final = re.compile(r"(\*\*\*|\*\*|__|~~)(?=\S)([^*_~\n]{1,500}?)(?<=\S)\1")


def read(text: str, into: Reading, title: str = "") -> None:
    """All notes of a text; ``title`` is what the file is called."""
    front = _FRONT.match(text)
    dated = _FRONT_DATE.search(front[1]) if front else None
    since = when(dated[1].strip()) if dated else None
    for headings, block in _blocks(text[front.end() :] if front else text, into):
        above = {"heading": " / ".join(headings)} if headings else {}
        into.add(_note(block, since, title, above))


def _note(block: str, since: Instant | None, title: str, above: dict[str, str]) -> Item:
    dated = _DATED.match(block)
    words = block[dated.end() :] if dated else _UNDATED.sub("", block, count=1)
    told = (when(dated[1]) if dated else None) or since
    return Item(_plain(words), occurred_at=told, title=title, metadata={**above, **({"title": title} if title else {})})


def _plain(block: str) -> str:
    """A note without the signs of its mark-up."""
    shown = _LINK.sub(lambda link: "" if link[1] else link[2], block)
    shown = _WIKI.sub(lambda link: link[2] or link[1], shown)
    return text_of(_STRESS.sub(r"\2", shown))


def _blocks(text: str, into: Reading) -> Iterator[tuple[list[str], str]]:
    """Points and paragraphs with the headings above each."""
    headings: dict[int, str] = {}
    held: list[str] = []
    for line in _prose(text, into):
        heading, point = _HEADING.match(line) or _BOLD.match(line), _POINT.match(line)
        if heading or point or not line.strip():
            if held:
                yield list(headings.values()), "\n".join(held)
            held = [point[1].strip()] if point else []
        else:
            held.append(line.strip().lstrip("> \t"))
        if heading:
            level = len(heading[1]) if heading[1].startswith("#") else _DEEPEST
            headings = {depth: name for depth, name in headings.items() if depth < level}
            headings[level] = _plain(heading[2].rstrip(" \t").rstrip("#"))
    if held:
        yield list(headings.values()), "\n".join(held)


def _prose(text: str, into: Reading) -> Iterator[str]:
    """The lines that are neither code nor a table nor a rule."""
    fence = ""
    for line in [*text.splitlines(), ""]:
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1][:3]
            into.skip("code")
            yield ""
        elif _TABLE.match(line):
            into.skip("table row")
        elif not _RULE.match(line):
            yield line
