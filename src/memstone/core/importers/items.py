"""Items of an import: text, time, speaker and metadata. Trust is decided elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from html import unescape
from typing import Any, Final
from uuid import UUID

from memstone.errors import InvalidInput, TooLarge
from memstone.model.instant import Instant, parse_when, to_instant

# --- text without HTML, without what cannot be seen and without what cannot be stored ---------------------------------


_NAMES: Final = frozenset(
    """a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption cite code col
    colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form
    frame frameset
    h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main map mark marquee
    menu meta meter nav noscript object ol optgroup option output p param picture pre progress q s samp script section
    select small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead
    time title tr track tt u ul var video wbr""".split()
)
_WITH_CONTENT: Final = frozenset("script style template noscript iframe object embed svg title head".split())
"""What is in these is no text of anybody."""

_BREAKS: Final = frozenset(
    "br p div li ul ol tr table h1 h2 h3 h4 h5 h6 hr blockquote section article pre dd dt".split()
)
_TAG: Final = re.compile(r"<!--|<(/?)([A-Za-z][A-Za-z0-9]{0,15})(?=[\s/>])[^<>]{0,4000}>")
_CODE: Final = re.compile(r"```|~~~|`")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control characters, marks that turn or hide text, tags nobody sees, and halves of characters."""

_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def plain_text(text: str) -> str:
    """Return the text as somebody reads it."""
    seen = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if "<" in seen or "&" in seen:
        seen = "".join(part if is_code else _without_tags(part) for part, is_code in _split_code(seen))
    return _BLANK_LINES.sub("\n\n", seen).strip()


def _split_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield stretches of the text, and whether each is code; a mark that nothing closes opens nothing."""
    at, search = 0, 0
    while mark := _CODE.search(text, search):
        closing = text.find(mark[0], mark.end())
        if closing < 0 or (mark[0] == "`" and "\n" in text[mark.end() : closing]):
            search = mark.end()
            continue
        yield text[at : mark.start()], False
        at = search = closing + len(mark[0])
        yield text[mark.start() : at], True
    yield text[at:], False


def _without_tags(text: str) -> str:
    """Remove tags and read entities; what looks like a tag only then goes too."""
    return _remove_tags_once(unescape(_remove_tags_once(text)))


def _remove_tags_once(text: str) -> str:
    parts: list[str] = []
    at = 0
    while found := _TAG.search(text, at):
        name = (found[2] or "").lower()
        if name and name not in _NAMES:
            parts.append(text[at : found.end()])
            at = found.end()
            continue
        parts += [text[at : found.start()], "\n" if name in _BREAKS else ""]
        at = _find_element_end(text, found, name)
    return "".join([*parts, text[at:]])


def _find_element_end(text: str, found: re.Match[str], name: str) -> int:
    """Return where an element ends of which nothing is kept.

    A comment or a script that nothing closes goes on to the end.
    """
    if not name:
        closing = text.find("-->", found.end())
        return len(text) if closing < 0 else closing + 3
    if name not in _WITH_CONTENT or found[1] or found[0].endswith("/>"):
        return found.end()
    tag = re.compile(rf"</{name}[^>]{{0,200}}>", re.IGNORECASE).search(text, found.end())
    if tag is None:
        return found.end() if name == "embed" else len(text)
    return tag.end()


# --- what is taken in from another system -----------------------------------------------------------------------------


class Sort(StrEnum):
    """What a thing was where it comes from."""

    TURN = "turn"
    FACT = "fact"
    EPISODE = "episode"
    OVERRIDE = "override"
    NARRATIVE = "narrative"


@dataclass(frozen=True, slots=True)
class SourceOwner:
    """Whom a source names; heeded as far as the caller leaves it open."""

    user_id: str = ""
    agent_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One thing that a source holds; ``conversation`` is what tells turns of one talk from those of another.

    ``id`` is its UUID where it has one, and ``model`` who wrote it where that is told.
    """

    text: str
    sort: Sort = Sort.FACT
    role: str = "user"
    name: str = ""
    occurred_at: Instant | None = None
    conversation: str = ""
    title: str = ""
    kind: str | None = None
    key: str | None = None
    expires_at: Instant | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    owner: SourceOwner = field(default_factory=SourceOwner)
    id: str = ""
    model: str = ""


@dataclass(slots=True)
class SourceReader:
    """A source while it is read: what it holds, and how many things were left out for which reason."""

    most: int
    format: str = ""
    items: list[SourceItem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, item: SourceItem) -> None:
        """Take a thing, unless it says nothing; ``TooLarge`` beyond so many."""
        if not item.text:
            self.skip("empty")
            return
        if len(self.items) >= self.most:
            raise TooLarge(
                f"there are more than {self.most:,} items to import",
                hint="import it in parts, or raise limits.import_items",
            )
        self.items.append(item)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count something that is not taken."""
        if count:
            self.skipped[reason] += count


def text_of(value: object) -> str:
    """Return a text without mark-up; '' for whatever is none."""
    return plain_text(value) if isinstance(value, str) else ""


def word_of(value: object) -> str:
    """Return a short value on one line, such as a name or a title; '' for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    return " ".join(plain_text(str(value)).split())[:200]


def id_of(value: object) -> str:
    """Return what a source calls somebody or something, as it is."""
    return "" if isinstance(value, bool) or not isinstance(value, (str, int)) else str(value).strip()


def uuid_of(value: object) -> str:
    """Return a UUID in its usual form; '' for whatever is none."""
    try:
        return str(UUID(value)) if isinstance(value, str) else ""
    except ValueError:
        return ""


def mapping_of(value: object) -> dict[str, Any]:
    """Return an object; empty for whatever is none."""
    return dict(value) if isinstance(value, Mapping) else {}


# --- points in time as other systems write them; what cannot be read is no time ---------------------------------------


_LATEST_SECONDS: Final = 1e11
"""The year 5138: a larger number counts smaller units."""

_NUMBER: Final = re.compile(r"-?\d{9,19}(?:\.\d{1,9})?")


def parse_time(value: object) -> Instant | None:
    """Read ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970; None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _since_1970(float(value))
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        return parse_when(value.strip().removesuffix(" UTC"))
    except InvalidInput:
        return None


def first_time(*values: object) -> Instant | None:
    """Return the first of these that is a time."""
    return next((found for value in values if (found := parse_time(value)) is not None), None)


def _since_1970(value: float) -> Instant | None:
    while abs(value) > _LATEST_SECONDS:
        value /= 1000
        if value in (float("inf"), float("-inf")):
            return None
    try:
        return to_instant(datetime.fromtimestamp(value, UTC))
    except (OverflowError, ValueError, OSError):
        return None
