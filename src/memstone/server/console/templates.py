"""Render templates, which escape everything, and their filters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from memstone.server.console.assets import asset_url

NOTHING: Final = "\u2013"
"""What stands where there is no value."""

FOLDER: Final = Path(__file__).parent / "templates"
_BIDI: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_INVISIBLE: Final = re.compile(f"[{_BIDI}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]")
_WORDS: Final = re.compile(r"\w+|\W+")
_STEPS: Final = ((60, "s", 1), (3_600, "min", 60), (86_400, "h", 3_600), (30 * 86_400, "d", 86_400))


def make_inert(value: Any) -> Any:
    """Return a value as a page may hold it: control and direction characters are shown, not obeyed.

    Every expression of every template passes here before it is escaped.
    """
    if isinstance(value, str) and not isinstance(value, Markup):
        return _INVISIBLE.sub(_name_character, value)
    return "" if value is None else value


def _name_character(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


def format_number(value: float | None) -> str:
    """Return a number as people write it: 12,345."""
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")


def format_time(value: str | datetime | None, now: datetime | None = None) -> Markup:
    """Return how long ago something was; the exact time is there for whoever points at it."""
    if not value:
        return escape(NOTHING)
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    exact = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(moment.isoformat(), exact, _age(moment, now))


def _age(moment: datetime, now: datetime | None) -> str:
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    if abs(seconds) < 5:  # noqa: PLR2004 - nobody counts these
        return "now"
    for bound, unit, size in _STEPS:
        if abs(seconds) < bound:
            count = f"{int(abs(seconds) // size)} {unit}"
            return f"{count} ago" if seconds > 0 else f"in {count}"
    return f"{moment.day} {moment:%b %Y}"


def format_day(value: str | None) -> str:
    """Return the day of a time: 18 Nov 2026."""
    if not value:
        return NOTHING
    moment = datetime.fromisoformat(value)
    return f"{moment.day} {moment:%b %Y}"


def highlight(text: str, query: str | None) -> Markup:
    """Return a text in which the words of a query are marked, where a word begins with one if any does."""
    shown = make_inert(text)
    words = [_match_word(make_inert(word), shown) for word in (query or "").split() if word]
    if not words:
        return escape(shown)
    pieces = re.split(f"({'|'.join(words)})", shown, flags=re.IGNORECASE)
    marked = (Markup("<mark>{}</mark>").format(piece) if odd % 2 else escape(piece) for odd, piece in enumerate(pieces))
    return Markup("").join(marked)


def _match_word(word: str, text: str) -> str:
    """Return a pattern for a typed word: search finds the beginnings of words, and other orders find any part."""
    begins = rf"(?<!\w){re.escape(word)}"
    return begins if re.search(begins, text, re.IGNORECASE) else re.escape(word)


def diff_texts(old: str, new: str) -> Markup:
    """Return what changed between two texts, word by word."""
    before, after = _WORDS.findall(make_inert(old)), _WORDS.findall(make_inert(new))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    parts = [_diff_part(kind, before[a:b], after[c:d]) for kind, a, b, c, d in matcher.get_opcodes()]
    return Markup("").join(parts)


def _diff_part(kind: str, old: Sequence[str], new: Sequence[str]) -> Markup:
    if kind == "equal":
        return escape("".join(new))
    gone = Markup("<del>{}</del>").format("".join(old)) if old else Markup("")
    added = Markup("<ins>{}</ins>").format("".join(new)) if new else Markup("")
    return gone + added


def plural(count: int, one: str, several: str = "") -> str:
    """Return a count with its noun: 1 memory, 2 memories."""
    return f"{format_number(count)} {one if count == 1 else several or one + 's'}"


def initials(name: str) -> str:
    """Return one or two letters that stand for a person."""
    words = [word for word in re.split(r"[\W_]+", unicodedata.normalize("NFC", name or "")) if word]
    return "".join(word[0] for word in words[:2]).upper() or "?"


def link_to(path: str, **query: Any) -> str:
    """Return an address with its query; what is empty is left out."""
    asked = urlencode({name: value for name, value in query.items() if value not in (None, "", False, [])}, doseq=True)
    return f"{path}?{asked}" if asked else path


class _Absent(StrictUndefined):
    """What is not there: it may be asked about, because answers leave out what they do not have, but never printed."""

    def __bool__(self) -> bool:  # type: ignore[override]  # the one above only raises
        return False


def make_environment() -> Environment:
    """Return the templates; what they do not know is an error, and all they print is escaped."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=_Absent,
        finalize=make_inert,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "number": format_number,
        "when": format_time,
        "day": format_day,
        "highlight": highlight,
        "plural": plural,
        "initials": initials,
        "path": lambda text: quote(str(text), safe=""),
    }
    environment.globals |= {"asset": asset_url, "link_to": link_to, "diff": diff_texts}
    return environment
