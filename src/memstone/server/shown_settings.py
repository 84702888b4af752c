"""The configuration as an administrator may see it: everything but secrets."""

from __future__ import annotations

import re
from typing import Any, Final

from memstone.config import Settings

MASK: Final = "***"
_SECRET: Final = re.compile(
    r"(api_?key|secret|password|passwd|token|authorization|credential|cookie)s?$", re.IGNORECASE
)
_WHOLE: Final = frozenset({"headers", "extra_headers"})
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_IN_QUERY: Final = re.compile(r"(?i)([?&](?=[^=&?\s]*(?:key|secret|password|token))[^=&?\s]*+=)[^&\s]*")


def shown(settings: Settings) -> dict[str, Any]:
    """Settings as plain values, with a mask in the place of every secret."""
    walked = _walked(settings.model_dump(mode="json"), hidden=False)
    assert isinstance(walked, dict)  # noqa: S101 - settings are a mapping
    return walked


def _walked(value: Any, *, hidden: bool) -> Any:
    if isinstance(value, dict):
        return {name: _walked(one, hidden=hidden or _is_secret(name)) for name, one in value.items()}
    if isinstance(value, list):
        return [_walked(one, hidden=hidden) for one in value]
    if not isinstance(value, str) or not value:
        return value
    return MASK if hidden else _IN_QUERY.sub(rf"\1{MASK}", _USERINFO.sub(MASK, value))


def _is_secret(name: str) -> bool:
    return name in _WHOLE or bool(_SECRET.search(name))
