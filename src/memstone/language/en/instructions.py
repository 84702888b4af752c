"""Suggest instructions and settings for a use case, by rules.

What a use case asks for itself comes first, then what memories of its kind keep. Secrets are always left out, and what
the law protects is, unless the use case or its kind cannot do without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from memstone.language.lists import read_data
from memstone.language.text.tokens import query_terms
from memstone.model.policy import SuggestedSettings

# --- what memories of different use cases have in common --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Domain:
    """A kind of use case.

    ``words`` tell it and ``hints`` speak for it; ``keep`` and ``leave`` are what it remembers and what it does not,
    ``categories`` what its facts are sorted into, ``needs`` the protected matters it cannot do without, ``mask``
    further kinds of data that its users pass and that a memory does not need.
    """

    name: str
    words: str
    hints: str
    keep: tuple[str, ...]
    leave: tuple[str, ...]
    categories: tuple[tuple[str, str], ...]
    needs: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()


@cache
def load_domains() -> tuple[Domain, ...]:
    """Return every kind, the general one last; read once, from the file that lists them."""
    listed = read_data("en", "domains")
    return tuple(_domain_from_toml(one) for one in listed["domain"])


def _domain_from_toml(values: dict[str, Any]) -> Domain:
    categories = tuple((name, about) for name, about in values.pop("categories"))
    name, words, hints = values.pop("name"), values.pop("words"), values.pop("hints", "")
    return Domain(name, words, hints, categories=categories, **{field: tuple(value) for field, value in values.items()})


# --- instructions and settings for a use case in plain words, by rules ------------------------------------------------


T = TypeVar("T")

SECRETS: Final = "passwords, PINs, keys and tokens, and numbers of cards, bank accounts and identity papers"

PROTECTED: Final[dict[str, tuple[str, str]]] = {
    "health": (
        "health, illnesses and disabilities",
        "health medical illness disease disability diagnosis symptom injury",
    ),
    "beliefs": ("religion and views of the world", "religion religious faith church mosque belief spiritual prayer"),
    "politics": ("political opinions and membership in unions", "political politics party vote voter union campaign"),
    "origin": ("ethnic origin and skin colour", "ethnic ethnicity race racial"),
    "intimacy": ("sexual orientation and sexual life", "sexual sexuality dating intimate lgbt gender"),
    "body": ("biometric and genetic data", "biometric genetic dna fingerprint genome"),
    "criminal matters": ("convictions and criminal matters", "criminal crime conviction probation defence offender"),
    "children": (
        "details about children that go beyond what helps with the task",
        "child children kid kids baby parent family",
    ),
}
"""What the law protects, each with what is told about it and the words that ask for it."""

MOST_DOMAINS: Final = 3
_FOOD: Final = "food allergies and diets"
_MOST_CATEGORIES: Final = 8
_MOST_LINES: Final = 12
_ITEM_CHARS: Final = 200
_TELLS: Final = 2

_STORING: Final = r"(?:remember|store|keep|record|save|note|retain|collect|memori[sz]e|track|log)"
_LEAVE: Final = re.compile(
    r"\b(?:(?:do not|don't|don\u2019t|must not|mustn't|should not|shouldn't|may not|never|not)\s+(?:ever\s+)?"
    rf"{_STORING}|(?:without|except(?: for)?|excluding|leave out|ignore|forget))\s+"
    r"(?:anything about |data about )?(?P<what>[^.;:!?\n]+)",
    re.IGNORECASE,
)
_KEEP: Final = re.compile(
    r"\b(?:(?:should|must|shall|needs? to|has to|have to|can|to|and|also|please|that|which|it)\s+"
    r"(?:keeps? track of|(?:remember|keep|track|know|note|learn|memori[sz]e)s?)|remembers?|remembering|keeps? track of|"
    r"including|especially|in particular)\s+(?:about |of )?(?P<what>[^.;:!?\n]+)",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(
    r"(?<!\s)\s++\b(?:but|so that|because|while|although|except|without|which|when)\b", re.IGNORECASE
)
_AND: Final = re.compile(
    r"(?<!\s)\s++(?:,\s*+(?:and |or )?|(?:and|or|as well as)\s++)|,\s*+(?:and |or )?", re.IGNORECASE
)
_NAMELESS: Final = frozenset(
    {"everything", "anything", "it", "that", "this", "them", "things", "all", "all of it", "me", "us"}
)


def suggest_settings(use_case: str) -> SuggestedSettings:
    """Return what to set for a use case."""
    kinds = domains_of(use_case)
    include = _limit_lines([*asked_for(use_case), *_in_turn([kind.keep for kind in kinds])])
    exclude = add_required_exclusions(
        use_case, _limit_lines([*find_exclusions(use_case), *_in_turn([kind.leave for kind in kinds])]), kinds
    )
    mask = tuple(sorted({one for kind in kinds for one in kind.mask}))
    names = tuple(kind.name for kind in kinds)
    return SuggestedSettings(
        names, format_instructions(use_case, include, exclude), include, exclude, _merge_categories(kinds), mask
    )


def complete_settings(
    use_case: str, include: tuple[str, ...], exclude: tuple[str, ...], categories: tuple[tuple[str, str], ...]
) -> SuggestedSettings:
    """Return what somebody else suggests, with what is always left out, and with categories if there are none."""
    rules = suggest_settings(use_case)
    exclude = add_required_exclusions(use_case, exclude, domains_of(use_case))
    text = format_instructions(use_case, include, exclude)
    return SuggestedSettings(rules.domains, text, include, exclude, categories or rules.categories, rules.mask)


def domains_of(use_case: str) -> tuple[Domain, ...]:
    """Return the kinds of use case that its words tell, most likely first; the general one when none do."""
    texts = query_terms(_LEAVE.sub(" ", use_case))
    *special, general = load_domains()
    scored = [(sum(_word_weight(kind, word) for word in texts), kind) for kind in special]
    best = max(score for score, _ in scored)
    likely = sorted((pair for pair in scored if 2 * pair[0] > best), key=lambda pair: -pair[0])
    return tuple(kind for _, kind in likely[:MOST_DOMAINS]) or (general,)


def _word_weight(kind: Domain, word: str) -> int:
    return _TELLS if word in _term_set(kind.words) else int(word in _term_set(kind.hints))


def asked_for(use_case: str) -> list[str]:
    """Return what a use case says is to be remembered."""
    return _extract_items(_KEEP, _LEAVE.sub(".", use_case))


def find_exclusions(use_case: str) -> list[str]:
    """Return what a use case says is not to be."""
    return _extract_items(_LEAVE, use_case)


def add_required_exclusions(use_case: str, exclude: Sequence[str], kinds: Iterable[Domain] = ()) -> tuple[str, ...]:
    """Return what is left out, with what always is: secrets, and what the law protects and nobody has asked for."""
    needed = {need for kind in kinds for need in kind.needs} | _wanted_matters(use_case)
    protected = [text for name, (text, _) in PROTECTED.items() if name not in needed]
    if _FOOD in needed and "health" not in needed:
        protected[0] = f"{protected[0]}, beyond what food depends on"
    text = [f"what the law protects: {'; '.join(protected)}"] if protected else []
    return tuple(dict.fromkeys([*exclude, SECRETS, *text]))


def format_instructions(use_case: str, include: Sequence[str], exclude: Sequence[str]) -> str:
    """Return the instructions as a language model is given them."""
    purpose = " ".join(use_case.split()).rstrip(".!?")
    keep, leave = (["\n".join(f"- {one}" for one in lines)] for lines in (include, exclude))
    parts = [
        f"The memory serves this purpose: {purpose}.",
        *("Keep what will matter in later conversations, above all:\n" + lines for lines in keep),
        *("Leave out, even if the user says it:\n" + lines for lines in leave),
        "When something of this changes, the new state counts; say what it replaces.",
    ]
    return "\n\n".join(parts)


def _wanted_matters(use_case: str) -> set[str]:
    """Return protected matters that a use case mentions, other than to leave them out."""
    texts = set(query_terms(_LEAVE.sub(" ", use_case)))
    return {name for name, (_, words) in PROTECTED.items() if texts & _term_set(words)}


def _extract_items(pattern: re.Pattern[str], text: str) -> list[str]:
    found: list[str] = []
    for match in pattern.finditer(text):
        full_text = _ENDS.split(match["what"], maxsplit=1)[0]
        found += [item.strip(" ,\"'()") for item in _AND.split(full_text)]
    return [item[:_ITEM_CHARS] for item in dict.fromkeys(found) if item and item.lower() not in _NAMELESS]


def _in_turn(lists: Sequence[Sequence[T]]) -> list[T]:
    """Return the first of each, then the second of each: no kind crowds out another."""
    longest = max((len(one) for one in lists), default=0)
    return [one[place] for place in range(longest) for one in lists if place < len(one)]


def _limit_lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))[:_MOST_LINES]


def _merge_categories(kinds: Sequence[Domain]) -> tuple[tuple[str, str], ...]:
    pairs = _in_turn([kind.categories for kind in kinds])
    merged: dict[str, str] = {}
    for name, about in pairs:
        if name in merged or len(merged) < _MOST_CATEGORIES:
            merged[name] = f"{merged[name]}, {about}" if name in merged else about
    return tuple(merged.items())


@cache
def _term_set(words: str) -> frozenset[str]:
    return frozenset(query_terms(words, limit=1_000))
