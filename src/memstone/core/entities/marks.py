"""Names that their form alone makes names: addresses, identifiers, versions, and titles in quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.core.entities.lists import COMMON, KNOWN
from memstone.core.entities.types import Spotted
from memstone.model.entity import EntityType

_ODD: Final = re.compile(r"[_@#+/\dA-Z.](?:(?<=[_@#+/\d])|(?<=[a-z][A-Z])|(?<=\.)(?=[a-zA-Z]))")
"""Without any of these a text holds no identifier."""

_CODES: Final = re.compile(
    r"""(?P<link>https?://\S+|www\.\S+|\[redacted:[a-z_]+\])
    |(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|(?<!\w)@\w[\w.]{1,30}\b)
    |(?P<code>\b(?:[\w-]{1,40}\.(?:py|js|ts|md|json|ya?ml|toml|sql|csv|txt|pdf|html|css|rs|go|java|cpp|sh)
       |v\d+(?:\.\d+)+|[A-Z]{2,10}-\d+|[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*(?:[ ]\d{1,2})?
       |(?!mid|pre|post|top)[a-z]{2,12}-\d[\w.]{0,8}\w)\b|(?<!\w)(?:[cC]\+\+|[cCfF]\#|\.NET)(?!\w))""",
    re.VERBOSE,
)
_MARKS: Final = ('"', " '", "\u201c", "\u2018", "\u00ab")
_QUOTED: Final = re.compile(
    '"(?P<straight>[^"\\n]{2,60})"|\u201c(?P<curly>[^\u201d\\n]{2,60})\u201d|\u00ab(?P<angled>[^\u00bb\\n]{2,60})\u00bb'
    "|(?<![\\w'])['\u2018](?P<single>[^'\u2019\\n]{2,60})['\u2019](?!\\w)"
)
_CALLED: Final = re.compile(
    r"(?:called|named|titled|entitled|book|song|movie|film|album|poem|game|show|series|band|podcast|novel|read|watched)"
    r"[ ,:]{0,2}$"
)
_MAX_QUOTED_WORDS: Final = 6


def marked_names(text: str) -> list[Spotted]:
    """Identifiers, addresses and titles; a link or a mask stands there without a name, so that nothing in it is one."""
    found = [_coded(match) for match in _CODES.finditer(text)] if _ODD.search(text) else []
    if text[:1] == "'" or any(mark in text for mark in _MARKS):
        found += [
            one for one in _titles(text) if not any(other.start < one.end > other.start >= one.start for other in found)
        ]
    return found


def _coded(match: re.Match[str]) -> Spotted:
    name = match[0]
    told = (
        EntityType.PERSON
        if match.lastgroup == "mail"
        else KNOWN.get(name.casefold().partition(" ")[0], EntityType.TECHNOLOGY)
    )
    if name[:2].isupper() and "-" in name:
        told = EntityType.CONCEPT
    return Spotted(match.start(), match.end(), "" if match.lastgroup == "link" else name, told)


def _titles(text: str) -> Iterator[Spotted]:
    """What stands in quotes, when it looks like a title or is said to be one; a quoted sentence is no name."""
    for match in _QUOTED.finditer(text):
        inside = match[match.lastgroup or 0]
        if _is_title(inside) or (_is_short(inside) and _is_called(text, match.start())):
            start = match.start() + 1
            told = KNOWN.get(inside.casefold(), EntityType.CONCEPT)
            yield Spotted(start, start + len(inside), inside.strip(), told)


def _is_short(inside: str) -> bool:
    words = inside.split()
    return 0 < len(words) <= _MAX_QUOTED_WORDS and inside[-1] not in ".!?,\u2026" and inside.casefold() not in COMMON


def _is_title(inside: str) -> bool:
    words = inside.split()
    return _is_short(inside) and words[0][0].isupper() and words[-1][0].isupper() and words[0] not in ("I", "I'm")


def _is_called(text: str, start: int) -> bool:
    return _CALLED.search(text[max(0, start - 14) : start].casefold()) is not None
