"""What people say without telling anything: greetings, thanks, a word of assent."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"\w+")
_COURTESIES: Final = frozenset(
    "a again all and are bye cheers cool day evening everybody everyone fine good goodbye great greetings hello hey hi hiya "
    "howdy is it later lot morning much nice night no ok okay perfect please see so soon sure team thank thanks that there "
    "very welcome well wonderful yes you".split()
)


def tells_nothing(text: str) -> bool:
    """Whether a text is nothing but courtesies."""
    return all(word in _COURTESIES for word in _WORD.findall(text.lower()))
