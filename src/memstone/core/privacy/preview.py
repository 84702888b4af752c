"""What a console shows of a text: without secrets, addresses and numbers of people, and not all of a long one."""

from __future__ import annotations

from typing import Final

from memstone.core.privacy.redact import redact_preview

MOST: Final = 280
"""So many characters of a memory are shown."""

_MASK: Final = "[redacted:"


def preview(text: str, most: int = MOST) -> str:
    """The beginning of a text as a console may show it; a word or a mask is never cut."""
    clean = redact_preview(text)  # before it is cut: half a number is not recognised
    if len(clean) <= most:
        return clean
    shown = clean[:most]
    opened = shown.rfind(_MASK)
    if opened >= 0 and "]" not in shown[opened:]:
        shown = shown[:opened]
    elif not clean[most].isspace() and " " in shown:
        shown = shown[: shown.rindex(" ")]
    return f"{shown.rstrip()} …"
