"""Check the patterns and slots of a configuration when the settings are read.

A pattern finds a fact in one sentence and says how to keep it. A slot is something people have one of at a time, or
many of. What a pattern keeps for a slot is recognised again by the form of the kept sentence, so memories need nothing
else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final

from memstone.errors import ConfigError
from memstone.model.policy import OwnPattern, OwnRules, OwnSlot

# --- patterns that can take forever -----------------------------------------------------------------------------------


_PARTS: Final = re.compile(
    r"(?P<aside>\(\?<?[=!])|(?P<named>\(\?P=\w+\))|(?P<comment>\(\?#[^)]*\)|\(\?[aiLmsux]+\))"
    r"|(?P<open>\((?:\?(?:P<\w+>|[aiLmsux-]*:|>|\(\w+\)))?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<edge>\\[bBAZ]|[$^])|(?P<letter>\\.|\[\^?\]?(?:\\.|[^]\\])*\]|.)",
    re.DOTALL,
)
_COUNT: Final = re.compile(r"(?:(?P<many>[*+]|\{\d*,\})|\?|\{(?P<least>\d*)(?:,\d*)?\})(?P<kept>\+)?\??")


@dataclass(slots=True)
class _Group:
    """What a group has been found to hold; ``fixed`` and ``endless`` mention the alternative being read."""

    is_aside: bool = False
    fixed: bool = False
    endless: bool = False
    always_fixed: bool = True
    runs_away: bool = False

    def close_alternative(self) -> None:
        """Take stock of an alternative: repeated, it can be cut up in many ways if nothing in it is fixed."""
        self.runs_away |= self.endless and not self.fixed
        self.always_fixed &= self.fixed
        self.fixed = self.endless = False


def runs_away(pattern: str) -> bool:
    """Return whether a pattern repeats without bound what consists of unbounded repetitions alone: ``(a+)*``."""
    groups = [_Group()]
    at = 0
    while found := _PARTS.match(pattern, at):
        at = found.end()
        kind = found.lastgroup or ""
        if kind in ("open", "aside"):
            groups.append(_Group(is_aside=kind == "aside"))
            continue
        if kind == "bar":
            groups[-1].close_alternative()
        if kind not in ("close", "letter", "named"):
            continue
        count = _COUNT.match(pattern, at)
        at = count.end() if count else at
        inner = groups.pop() if kind == "close" and len(groups) > 1 else None
        if inner is not None:
            inner.close_alternative()
        if _add_to_group(groups[-1], inner, count):
            return True
    return False


def _add_to_group(outer: _Group, inner: _Group | None, count: re.Match[str] | None) -> bool:
    """Add a counted letter or group to the group around it; tells whether it runs away."""
    if inner is not None and inner.is_aside:
        return False
    is_endless = count is not None and bool(count["many"]) and not count["kept"]
    if is_endless:
        outer.endless = True
        return inner is not None and inner.runs_away
    is_sure = count is None or count["least"] not in (None, "", "0")
    outer.endless |= inner is not None and inner.runs_away
    outer.fixed |= is_sure and (inner is None or inner.always_fixed)
    return False


# --- patterns and slots of a configuration's own ----------------------------------------------------------------------


CATEGORIES: Final = (
    "identity family home work skill health preference decision pattern plan date possession project event statement"
).split()

MOST_RULES: Final = 200
PATTERN_CHARS: Final = 1_000
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SUBJECT, _VALUE = "subject", "value"
_AROUND: Final = " .!?,;:"


# --- reading the configuration ----------------------------------------------------------------------------------------


def own_rules(
    patterns: Sequence[Mapping[str, Any]], slots: Sequence[Mapping[str, Any]], shipped: Collection[str]
) -> OwnRules:
    """Return the rules of ``extract.patterns`` and ``reconcile.slots``; ``ConfigError`` names the entry that is wrong.

    ``shipped`` are the names of slots that are there without any configuration.
    """
    _check_entry_count("extract.patterns", patterns)
    _check_entry_count("reconcile.slots", slots)
    ways = tuple(_build_pattern(f"extract.patterns.{at}", **one) for at, one in enumerate(patterns))
    own: dict[str, OwnSlot] = {}
    for at, one in enumerate(slots):
        slot = _build_slot(f"reconcile.slots.{at}", **one)
        if slot.name in own or slot.name in shipped:
            taken = "already exists" if slot.name in own else "is one of the shipped slots"
            raise _config_error(f"reconcile.slots.{at}.name", f"{slot.name!r} {taken}", "give each slot its own name")
        own[slot.name] = slot
    for at, way in enumerate(ways):
        if way.slot:
            known = own.get(way.slot) or _find_shipped_slot(f"extract.patterns.{at}.slot", way.slot, shipped)
            own[way.slot] = OwnSlot(known.name, known.many, (*known.patterns, _compile_fact_form(way.fact)))
    return OwnRules(ways, tuple(own.values()))


def _config_error(where: str, problem: str, advice: str) -> ConfigError:
    return ConfigError(f"{where}: {problem}", hint=f"{where}: {advice}")


def _check_entry_count(where: str, entries: Sequence[object]) -> None:
    if len(entries) > MOST_RULES:
        raise _config_error(where, f"has {len(entries)} entries", f"use at most {MOST_RULES}")


def _find_shipped_slot(where: str, name: str, shipped: Collection[str]) -> OwnSlot:
    if name not in shipped:
        raise _config_error(where, f"there is no slot {name!r}", "declare it under reconcile.slots")
    return OwnSlot(name)


def _build_pattern(where: str, match: str, fact: str, category: str, slot: str) -> OwnPattern:
    pattern = _compile_pattern(f"{where}.match", match)
    if _SUBJECT in pattern.groupindex:
        raise _config_error(
            f"{where}.match", "a group is called 'subject'", "that name is reserved for the speaker: rename the group"
        )
    used = _validate_fact_fields(f"{where}.fact", fact, {_SUBJECT, *pattern.groupindex})
    if slot and _VALUE not in used:
        raise _config_error(f"{where}.fact", "does not contain the value of the slot", "add {value}, a group of match")
    if category not in CATEGORIES:
        raise _config_error(
            f"{where}.category", f"unknown category {category!r}", f"use one of {', '.join(CATEGORIES)}"
        )
    return OwnPattern(pattern, fact.strip(), category, slot)


def _build_slot(where: str, name: str, cardinality: str, patterns: Sequence[str]) -> OwnSlot:
    if not _NAME.fullmatch(name):
        raise _config_error(
            f"{where}.name", f"{name[:64]!r} is not a valid name", "use lower-case letters, digits and underscores"
        )
    if cardinality not in ("one", "many"):
        raise _config_error(f"{where}.cardinality", f"unknown cardinality {cardinality!r}", "use 'one' or 'many'")
    found = tuple(_compile_pattern(f"{where}.patterns.{at}", one) for at, one in enumerate(patterns))
    for at, one in enumerate(found):
        if _VALUE not in one.groupindex:
            raise _config_error(
                f"{where}.patterns.{at}", "has no value", "name the group with the value: (?P<value>...)"
            )
    return OwnSlot(name, cardinality == "many", found)


def _compile_pattern(where: str, pattern: str) -> re.Pattern[str]:
    if len(pattern) > PATTERN_CHARS:
        raise _config_error(where, f"has {len(pattern)} characters", f"use at most {PATTERN_CHARS}")
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise _config_error(
            where, f"is not a regular expression: {error}", "see the documentation of Python's re"
        ) from error
    if compiled.search(""):
        raise _config_error(
            where, "matches the empty text, so it matches everywhere", "name the words that must be there"
        )
    if runs_away(pattern):
        raise _config_error(
            where, "repeats a repetition, which can take very long", "write (a+)+ as a+, or limit it: {1,5}"
        )
    return compiled


def _validate_fact_fields(where: str, fact: str, known: set[str]) -> set[str]:
    """Return the fields a sentence uses, which must be known and plain."""
    try:
        parts = [(name, bool(spec or kind)) for _, name, spec, kind in Formatter().parse(fact) if name is not None]
    except ValueError as error:
        raise _config_error(where, f"cannot be filled in: {error}", "double a brace that you mean literally") from error
    for name, is_formatted in parts:
        if name not in known or is_formatted:
            usable = ", ".join(f"{{{one}}}" for one in sorted(known))
            raise _config_error(
                where, f"unknown field {{{name}}}", f"use {usable}: the speaker and the named groups of match"
            )
    if not fact.strip():
        raise _config_error(where, "is empty", "write the sentence to store, such as {subject} is on team {value}")
    return {name for name, _ in parts}


def _compile_fact_form(fact: str) -> re.Pattern[str]:
    """Return what finds the value in a sentence that was made of this form."""
    sentence, has_value = "", False
    for text, name, _, _ in Formatter().parse(fact.rstrip(_AROUND)):
        sentence += re.escape(text)
        if name == _VALUE:
            sentence += "(?P=value)" if has_value else "(?P<value>.{1,200}?)"
            has_value = True
        elif name is not None:
            sentence += ".{1,200}?"
    return re.compile(rf"^{sentence}[.!?]?(?: \([^()]*\)[.!?]?)?$", re.IGNORECASE)
