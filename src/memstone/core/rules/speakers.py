"""Where several people speak in one message: a talk that was copied into it, with a name and a colon before each line."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from memstone.core.entities.lists import FIRST_NAMES
from memstone.core.text.lexicon import KIN

_LABEL: Final = re.compile(
    r"(?:^[ \t]*+|(?<!\s)(?:\n|(?<=[.!?…\"”)])\s|\s\s)\s*+|\s[/|]\s++)[*_\[(<]{0,3}(?P<label>[^\W\d_][\w'.-]*+(?: [^\W\d_][\w'.-]*+)?)(?: \(\w+\))?[*_\])>]{0,3}:[*_]{0,3} ?(?=\S)"
)
_PERSONS: Final = KIN | frozenset(
    """me i him her them us you he she they user assistant ai bot chatbot human customer agent support client patient doctor nurse
    interviewer interviewee candidate recruiter host guest teacher student speaker moderator seller buyer operator
    caller him/her gpt chatgpt claude wife guy girl man woman person""".split()
)
_FEWEST: Final = 2


def speakers_from(message: str) -> int:
    """Where the first of several speakers begins; -1 where only one speaks. A list of "Name: Ana, City: Rome" is no talk."""
    if message.count(":") < _FEWEST:
        return -1
    found = [(match["label"].lower(), match.start()) for match in _LABEL.finditer(message)]
    times = Counter(label for label, _ in found)
    people = [(label, at) for label, at in found if _is_somebody(label) or (times[label] > 1 and len(label) > 1)]
    return people[0][1] if len({label for label, _ in people}) >= _FEWEST else -1


def _is_somebody(label: str) -> bool:
    words = label.split()
    return label in _PERSONS or words[0] in FIRST_NAMES or words[-1] in _PERSONS
