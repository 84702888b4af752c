"""Parts of a message that are no words: names for pictures and files, and what belongs to the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from memstone.model.message import Attachment

_NAMES: Final = ("filename", "file_name", "name", "title", "url", "file_id", "image_url", "media_type", "format")
_NAME_CHARS: Final = 200
_WEB: Final = ("http://", "https://")
_PROTOCOL: Final = frozenset(
    {"tool_use", "tool_result", "server_tool_use", "thinking", "redacted_thinking", "reasoning", "refusal"}
)
"""Calls of tools and their results, and what a model thinks: no words of a person, as in messages of that kind."""


def is_protocol(part: object) -> bool:
    """Whether a part belongs to the protocol and holds nothing that anybody said."""
    return isinstance(part, Mapping) and part.get("type") in _PROTOCOL


def reference(part: Mapping[str, Any]) -> Attachment:
    """A picture, a sound or a file by what it is called, where it is, or what type of data it holds."""
    kind: str = part["type"]
    places = list(_places(part, kind))
    name = next((_called(place[key]) for place in places for key in _NAMES if _is_text(place.get(key))), "unnamed")
    inner = part.get(kind)
    if isinstance(inner, str):
        name = _called(inner)
    return Attachment(
        kind.removesuffix("_url").removeprefix("input_"), name[:_NAME_CHARS], _media_type(places, inner), _url(places)
    )


def _places(part: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    """Where protocols put what they say about a file, the most telling first."""
    inner, source = part.get(kind), part.get("source")
    for place in (inner, {key: value for key, value in part.items() if key != "type"}, source):
        if isinstance(place, Mapping):
            yield place


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _called(value: str) -> str:
    if value.startswith("data:"):
        return value.partition(",")[0].partition(";")[0]
    return _address(value) if value.startswith(_WEB) else value


def _address(url: str) -> str:
    """Where something can be fetched, without what may be a secret: who asks, and what stands behind the path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "unnamed"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _media_type(places: list[Mapping[str, Any]], inner: object) -> str:
    for place in places:
        for key in ("media_type", "mime_type"):
            if _is_text(place.get(key)):
                return str(place[key])[:_NAME_CHARS]
    held = [inner, *(place.get(key) for place in places for key in ("url", "image_url", "file_data"))]
    data = next((one for one in held if isinstance(one, str) and one.startswith("data:")), "")
    return _called(data).removeprefix("data:")[:_NAME_CHARS]


def _url(places: list[Mapping[str, Any]]) -> str:
    found = (place.get(key) for place in places for key in ("url", "image_url"))
    return next((_address(one) for one in found if isinstance(one, str) and one.startswith(_WEB)), "")
