"""Plain words of liking, deciding and doing as a rule, and of who somebody is: what is said with them is learned as such."""

from __future__ import annotations

import re
from typing import Final

_ADVERB: Final = r"(?:(?:really|truly|absolutely|also|just|still|kinda|do|now|actually|personally|have|finally|usually|always|typically|often|generally|mostly) )*"
_OBJECT: Final = r"(?! (?:it|that|this|these|those|them|him|her|you|your|how|when|what|where|to (?:know|see|hear)|the (?:idea|sound|way)|all|everything|so much)\b|[.,!?]|$)"
"""Not what only answers somebody: "I love it", "I like your idea"."""

_TRIGGERS: Final = (
    (
        "preference",
        re.compile(
            rf"\bi {_ADVERB}(?:prefer|like|love|enjoy|hate|dislike|avoid|do not like|can not stand|adore)\b{_OBJECT}"
            r"|\bmy (?:\w+ ){0,2}favou?rite\b",
            re.IGNORECASE,
        ),
    ),
    (
        "decision",
        re.compile(
            rf"\b(?:i|we) {_ADVERB}(?:will use|chose|decided|am going (?:to use|with|to adopt)|are going (?:to use|with|to adopt)"
            r"|selected|picked|went with)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "pattern",
        re.compile(r"\bi (?:usually|always|never|typically|tend to|often|frequently|regularly)\b", re.IGNORECASE),
    ),
    ("skill", re.compile(r"\b[Ii] (?:know|speak|play|program in|code in) (?=[A-Z])")),
    ("identity", re.compile(r"\b[Ii] am [A-Z][a-z]+(?:[ -][A-Z][a-z]+)?\W*$")),
)
_NAMED: Final = (
    (
        "work",
        re.compile(
            r"\b(?:[Ii]|(?!It|That|This|What)[A-Z]\w+) (?:(?:now|still|currently|also) )?works? (?:at|for|as)\b"
        ),
    ),
    ("home", re.compile(r"\bi (?:(?:now|still|currently) )?live (?:in|at|near)\b", re.IGNORECASE)),
)
"""What says of which kind it is, and not whether it is worth remembering."""

_SUPPOSED: Final = re.compile(
    r"\b(?:if|would|could|should|wish|imagine|suppose|joking|kidding)\b|\?\s*$", re.IGNORECASE
)


def trigger_of(said: str) -> str:
    """The category that a clause without contractions names in so many words, or ''."""
    return next((name for name, pattern in (*_TRIGGERS, *_NAMED) if pattern.search(said)), "")


def is_plain(said: str) -> bool:
    """Whether a clause likes, decides or the like and nothing else: it begins with "I", and supposes and asks nothing."""
    is_one = any(pattern.search(said) for _, pattern in _TRIGGERS)
    return is_one and said[:2].lower() in ("i ", "my") and not _SUPPOSED.search(said)
