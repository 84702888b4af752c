"""A text of a model as it is stored: as it was written, on one line."""

from __future__ import annotations

import re
from typing import Final

MIN_CHARS: Final = 3
MAX_CHARS: Final = 1_000

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """One line without characters that cannot be stored or seen."""
    return " ".join(_UNSEEN.sub("", text.replace("\r", " ")).split())
