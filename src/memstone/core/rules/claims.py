"""What a yes says yes to: something lasting that a question supposes of the user, or one of two things to choose from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from memstone.core.rules import nouns
from memstone.core.rules.families import family_of
from memstone.core.rules.questions import my
from memstone.core.rules.replies import affirms, bare, denies, ends
from memstone.core.rules.sift import not_a_fact

_ADVERBS: Final = r"(?P<still>still )?(?:(?:also|currently|usually|generally|actually|really|normally|now|happen to) )?"
_DO: Final = re.compile(rf"do you {_ADVERBS}(?P<rest>.+)", re.IGNORECASE)
_ARE: Final = re.compile(rf"are you {_ADVERBS}(?P<rest>.+)", re.IGNORECASE)
_GREW_UP: Final = re.compile(r"did you grow up (?P<rest>in .+)", re.IGNORECASE)
_BORN: Final = re.compile(r"were you born (?P<rest>in .+)", re.IGNORECASE)
_CAN: Final = re.compile(
    r"can you (?P<rest>swim|drive|ski|cook|sing|ride a (?:bike|horse|motorbike)|read music|speak (?-i:[A-Z])\w+|play (?:the )?(?:guitar|piano|violin|drums|chess|flute|cello))",
    re.IGNORECASE,
)
_IS: Final = re.compile(
    rf"is your (?P<what>(?:(?:{nouns.RELATIVES}|{nouns.ANIMALS})'s )?(?:(?:first |last |full )?name|birthday)) (?P<rest>(?:really |still |on |in )?(?-i:[A-Z]|the |\d)[\w' -]*)",
    re.IGNORECASE,
)
_RIGHT: Final = r"(?:,? (?:right|correct|yes|no|is that (?:right|correct)|are you not|do you not|am i right))?"
_YOU_ARE: Final = re.compile(rf"you are {_ADVERBS}(?P<rest>.+?){_RIGHT}", re.IGNORECASE)
_YOU: Final = re.compile(rf"you {_ADVERBS}(?P<rest>.+?){_RIGHT}", re.IGNORECASE)
_LASTING: Final = re.compile(
    r"(?:live (?:alone\b|with your\b|(?:in|near|on|at) (?:(?:the )?(?-i:[A-Z])\w*|an? (?:[a-z]+ )?(?:house|flat|apartment|farm|city|town|village|suburb|dorm|studio)\b))|work (?:at|for|as|in|from home|remotely|full[- ]time|part[- ]time|shifts|nights|weekends)\b|smoke|vape|drink|eat|like|love|enjoy|hate|prefer|speak (?-i:[A-Z])\w*|play (?!well|with|in|on|as|for|along|a role|the role)|drive|own (?:an?|your own)\b|study|teach|meditate|exercise"
    r"|garden|cook|commute|sing|dance|swim|ski|surf|cycle|jog|collect|volunteer|wear (?:glasses|contacts|contact lenses|hearing aids?)|come from|suffer from|use (?-i:[A-Z])[a-z]+$|go to church|support (?-i:[A-Z])\w*"
    rf"|have (?:an? |your own )?(?:(?:[a-z]+ )?(?:{nouns.RELATIVES}|{nouns.ANIMALS}|pets)|(?:car|bike|bicycle|motorbike|motorcycle|garden|driver'?s licen[sc]e|driving licen[sc]e|boat|balcony)|(?:[a-z]+ )?(?:{nouns.AILMENTS}))$)(?!\w)",
    re.IGNORECASE,
)
"""What somebody does or has for good."""

_OPEN: Final = re.compile(
    r"\b(?:it|its|this|that|these|those|them|they|he|him|she|her|here|there|anything|something|anyone|someone|any|me|i|we|us|one|ones|or|if|so|such|more|else|enough|first|second|third|last|next|other|option|version|draft|idea|answer|response|reply|suggestion|question|feedback|plan|approach|"
    r"code|file|function|test|tests|error|output|list|table|title|help|time|today|tonight|tomorrow|now|yet|already|moment|minute|to (?:know|hear|see|add|continue|go|start|share|talk|discuss|get|have|try|learn|make|change|use|keep))\b",
    re.IGNORECASE,
)
"""What speaks of the moment, or of something that stands elsewhere."""

_THE: Final = re.compile(
    r"\bthe (?!guitar|piano|violin|drums|flute|cello|harp|ukulele|bass|sea|beach|outdoors|mountains|city|countryside|country|(?-i:[A-Z]))",
    re.IGNORECASE,
)
_MINE: Final = re.compile(r"\b(?:my|mine|our|ours)\b", re.IGNORECASE)
_STANDING: Final = frozenset("health family identity home skill work".split())


def confirmed(question: str, said: str) -> str:
    """What a yes confirms, or what is over by "not any more"; a mere no says nothing that lasts."""
    is_yes, is_over = affirms(said), ends(said)
    claim, still = _claim(question)
    if not claim or _OPEN.search(claim[2:]) or _THE.search(claim) or _MINE.search(question):
        return ""
    if is_yes:
        return f"{claim}."
    if not (is_over or (still and denies(said))) or not claim.startswith("I "):
        return ""
    verb, _, rest = claim.removeprefix("I ").partition(" ")
    return f"I am no longer {rest}." if verb == "am" else f"I no longer {verb} {rest}".rstrip() + "."


def _claim(question: str) -> tuple[str, bool]:
    """What a question supposes of the user, where that is something lasting, and whether it asks if that still holds."""
    for pattern, supposed in _SUPPOSED:
        if found := pattern.fullmatch(question):
            return supposed(found), bool(found.groupdict().get("still"))
    return "", False


def _doing(rest: str) -> str:
    claim = re.sub(r"^have any ", "have ", rest, flags=re.IGNORECASE)
    return f"I {my(claim)}" if _LASTING.match(claim) else ""


def _being(rest: str) -> str:
    claim = f"I am {my(rest)}"
    family = None if not_a_fact(claim) else family_of(claim)
    if family is None or family.category not in _STANDING or _LOOSE.search(rest):
        return ""
    return claim if family.category != "identity" or _IS_FOR_GOOD.match(rest) else ""


_IS_FOR_GOOD: Final = re.compile(
    rf"{nouns.ORIGINS}|{nouns.CREEDS}|an? (?:[a-z]+ )?(?:vegetarian|vegan|smoker|non-smoker|morning person|night owl|early (?:bird|riser)|student|twin|immigrant|veteran|introvert|extrovert|(?-i:[A-Z])[a-z]+ citizen)$",
    re.IGNORECASE,
)


_LOOSE: Final = re.compile(
    r"^(?:in|at|on|from (?:home|now)|good at|bad at|new to|allergic to any\w*|born)\b|ing\b(?<!living)(?<!working)|\bfan\b"
    r"|\b(?:member|customer|user|subscriber|owner|passenger|travell?er|visitor|buyer|seller|player|beginner|newcomer|follower|speaker|robot|human|person|bot|new|winner|caller|driver of|part)\b",
    re.IGNORECASE,
)
_SUPPOSED: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (_DO, lambda found: _doing(found["rest"])),
    (_ARE, lambda found: _being(found["rest"])),
    (_GREW_UP, lambda found: f"I grew up {found['rest']}"),
    (_BORN, lambda found: f"I was born {found['rest']}"),
    (_CAN, lambda found: f"I can {found['rest']}"),
    (_IS, lambda found: f"My {found['what']} is {found['rest']}"),
    (_YOU_ARE, lambda found: _being(found["rest"])),
    (_YOU, lambda found: _doing(found["rest"])),
)
_EITHER: Final = re.compile(
    r"(?:do you (?:generally |usually |normally )?(?:prefer|like) (?P<one>[a-z' -]{2,30}?) or (?P<other>[a-z' -]{2,30}?)|are you (?:more of )?an? (?P<a>[a-z' -]{2,30}?) or (?:an? )?(?P<b>[a-z' -]{2,30}?))",
    re.IGNORECASE,
)
_SCHEDULED: Final = re.compile(
    r"\b(?:morning|afternoon|evening|today|tomorrow|\w+day|week|month|noon|\d+|am|pm|option|first|second|short|shorter|long|longer|formal|version|this|that|these|those|the|it|one|both|pickup|delivery|cash|card|email|call|phone)\b(?! (?:person|people|owl))",
    re.IGNORECASE,
)
"""What is preferred for this once, or of what lies on the table."""


def chosen(question: str, said: str) -> str:
    """Such as "Do you prefer tea or coffee?" and "Coffee.", or "Are you a cat or a dog person?" and "A dog person."."""
    found = _EITHER.fullmatch(question)
    value = re.sub(r"^(?:an? |i prefer |prefer )", "", bare(said), flags=re.IGNORECASE).lower()
    if found is None or not value or _SCHEDULED.search(question):
        return ""
    if found["one"]:
        named = (found["one"].lower(), found["other"].lower())
        return f"I prefer {value}." if value in named else ""
    value = _in_full(value, found["a"].lower(), found["b"].lower())
    return f"I am {'an' if value[0] in 'aeiou' else 'a'} {value}." if value else ""


def _in_full(value: str, one: str, other: str) -> str:
    """Such as "dog" of "a cat or a dog person" as "dog person"; '' for neither of both."""
    kind = other.rpartition(" ")[2] if " " in other else ""
    both = {one if " " in one or not kind else f"{one} {kind}", other}
    return next((whole for whole in (value, f"{value} {kind}".strip()) if whole in both), "")
