"""What stays of a memory that lists several things when one of them is over.

"Allergic to peanuts and shellfish" is not over because shellfish turns out to be fine.
"""

from __future__ import annotations

import re
from typing import Final

from memstone.core.changes.statement import Statement
from memstone.core.rules.stance import content_tokens, is_light
from memstone.core.rules.verbs import is_verb

_JOINT: Final = re.compile(r",? (?:and|or|&|plus|as well as) |, ")
_DEPENDENT: Final = re.compile(
    r"(?:but|which|who|that|where|when|because|since|so|if|although|though|while|after|before|as|with|for|in|on|at|to|from|by"
    r"|not|no|never|including|especially|mostly|about|around|also)\b",
    re.IGNORECASE,
)
"""What stands behind a comma and is no further thing."""

_BEFORE: Final = frozenset(
    "to at in on of with for as by from is are has have owns a an the my their his her one".split()
)
_SUBJECT: Final = re.compile(r"(?:User|[A-Z][\w-]*)(?:'s(?: [\w-]+){1,3}?)?(?= )")


def what_stays(memory: Statement, new: Statement) -> str:
    """A memory without the things that a statement ends or sees the other way round; '' where it lists nothing else."""
    parts = _parts(memory.text.rstrip(" ."))
    if memory.others or len(parts) < _FEWEST or any(part.polarity < memory.polarity for part in memory.segments):
        return ""
    gone = _said(new, -memory.polarity)
    head, first = _head(parts[0], parts[1], gone)
    is_named = bool(_COUNT.search(head)) and not first
    items = parts[1:] if is_named else [first, *parts[1:]]
    left = [item for item in items if not _tokens(item) & gone]
    if len(left) == len(items) or not left or any(_tokens(item) & _said(new, memory.polarity) for item in left):
        return ""
    joint = " or " if " and " not in memory.text.rpartition(" or ")[2] else " and "
    return f"{_together(_counted(head, len(items) - len(left)) if is_named else head, left, joint)}."


_FEWEST: Final = 2


def _said(new: Statement, polarity: int) -> frozenset[str]:
    return frozenset().union(*(part.tokens for part in new.segments if part.polarity == polarity))


def _parts(text: str) -> list[str]:
    parts = _JOINT.split(text)
    return parts if all(part and not _DEPENDENT.match(part) for part in parts[1:]) else []


def _tokens(item: str) -> frozenset[str]:
    return frozenset(word for word in content_tokens(item.lower()) if not is_light(word))


def _head(first: str, second: str, gone: frozenset[str]) -> tuple[str, str]:
    """What all things of a list have before them, and the first thing: ("User is allergic to", "peanuts").

    Of a list of names behind what they are names of ("has 2 dogs, Rex and Fido"), and of one whose first thing stays,
    the beginning stays whole.
    """
    subject = _SUBJECT.match(first)
    if subject and is_verb(second.split(maxsplit=1)[0].lower()) and second.split(maxsplit=1)[0].endswith("s"):
        return subject[0], first[subject.end() + 1 :]
    words = first.split()
    at = next((at for at in range(len(words) - 1, 0, -1) if _is_thing(words, at) and _tokens(words[at]) & gone), 0)
    if not at:
        return first, ""
    while at > 1 and words[at - 1].lower() not in _BEFORE and not is_verb(words[at - 1].lower()):
        at -= 1
    while at > 1 and words[at - 1].lower() in ("a", "an", "one"):
        at -= 1
    return " ".join(words[:at]), " ".join(words[at:])


def _is_thing(words: list[str], at: int) -> bool:
    """Whether a word is one of the things, and not what is said of all of them: "allergic to ..."."""
    following = words[at + 1].lower() if at + 1 < len(words) else ""
    return not is_verb(words[at].lower()) and following not in _BEFORE


_COUNT: Final = re.compile(r"\b(?P<count>\d{1,2}|two|three|four|five|six) (?P<noun>[a-z]+)s$")


def _counted(head: str, gone: int) -> str:
    """Such as "has 2 dogs" when one of them is gone."""
    found = _COUNT.search(head)
    left = int(_NUMBERS.get(found["count"], found["count"])) - gone if found else 0
    return f"{head[: found.start()]}{left} {found['noun']}{'' if left == 1 else 's'}," if found and left > 0 else head


_NUMBERS: Final = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}


def _together(head: str, items: list[str], joint: str) -> str:
    """A list put together again; an empty first thing is part of the beginning."""
    first, *more = f"{head} {items[0]}".strip(), *items[1:]
    return f"{', '.join([first, *more[:-1]])}{joint}{more[-1]}" if more else first
