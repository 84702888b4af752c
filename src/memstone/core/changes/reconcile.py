"""What a new statement does to what is known: add, revise, retract or ignore. Pure and explainable.

Structure decides first (slots, numbers, polarity), shared words next, and the cosine of an embedding mostly supplies
the candidates. Every decision names its rule in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from memstone.core.changes.apart import brings_news, is_closer
from memstone.core.changes.linking import link, replace_of_a_kind
from memstone.core.changes.measured import LOOSE, UNITS, Measured, digits_of_names, measured, measures_another
from memstone.core.changes.opposite import opposite
from memstone.core.changes.others import does_another
from memstone.core.changes.pairing import Action, Decision, Known, Pair, pairs_of
from memstone.core.changes.passing import speaker_verb
from memstone.core.changes.sameness import NEAR_COSINE, SAME_COVERED, SAME_COVERING, same
from memstone.core.changes.slots import replaces, same_value
from memstone.core.changes.statement import Statement
from memstone.core.rules.quantities import MONTHS, is_other_order, same_number
from memstone.core.rules.signals import FORMER, FRAME, NOW, ONGOING, signals_of, tells_change
from memstone.core.rules.slot_patterns import ENDS_ONLY, STATUSES
from memstone.core.rules.stance import content_tokens, is_light, token
from memstone.core.rules.verbs import is_past, lemma
from memstone.core.text.lexicon import SPEAKS_FOR_ITSELF

__all__ = ["Action", "Decision", "Known", "decide"]

# Bounds on what two statements share, measured on labelled update decisions; the set is not sensitive to small changes.
NUMBER_COSINE, NUMBER_COVERED = 0.45, 0.25
DATE_COSINE, DATE_COVERED = 0.5, 0.4
PLAN_COSINE, PLAN_COVERED = 0.4, 0.5
REPEAT_COSINE, REPEAT_COVERED = 0.4, 0.3
RENEWED_COSINE = 0.4
TOPIC_COSINE, TOPIC_COVERED = 0.3, 0.15
MEASURES: Final = frozenset({"mg", "kg", "km", "percent", "mile", "calori"})
SPENT: Final = frozenset({"money", "clock", "bare"})
"""What one day's number says nothing about other days."""
STATUS_BESIDES: Final = 2
PRESENT: Final = frozenset({"job", "employer", "lives_in", "car", "phone", "laptop", "study"})
"""Slots of which a memory may tell an earlier value."""


def decide(new: Statement, known: Sequence[Known]) -> Decision:
    """The first rule that applies to the nearest candidates decides; first for whom the statement is mainly about."""
    for statement in new.everybody:
        pairs = pairs_of(statement, known)
        decided = (rule(pairs) for rule in _RULES if pairs)
        decision = next((one for one in decided if one is not None), None) or link(statement, known)
        decision = decision or (same(pairs) if pairs else None) or replace_of_a_kind(statement, known)
        if decision is not None:
            return decision
    return Decision(Action.ADD, None, "nothing known says this or its opposite")


def _identical(pairs: list[Pair]) -> Decision | None:
    """The cheapest step: the same words, or words that are understood as the same."""
    for pair in pairs:
        if pair.identical:
            return pair.ignore("the same words are known")
    return None


def _slot(pairs: list[Pair]) -> Decision | None:
    """The same slot of the same person: another value replaces it, the same value is known."""
    for pair in pairs:
        for slot in sorted(pair.new.slots.keys() & pair.memory.slots.keys()):
            mine, theirs = pair.new.slots[slot], pair.memory.slots[slot]
            real = (not pair.new.wished or slot == "aspiration") and (not pair.came_true or tells_change(pair.new.said))
            if pair.lasting and real and replaces(slot, mine, theirs) and not _is_former(pair, slot, pairs):
                return _replaced(pair, slot, pairs)
    for pair in pairs:
        shared = sorted(_same_slots(pair))
        if shared and pair.came_true:
            return pair.revise(f"{shared[0]}: what was planned is so now", plain=True)
        if pair.only_planned:
            continue
        status = bool(STATUSES.keys() & set(shared)) and pair.new.besides <= STATUS_BESIDES
        if shared and (status or _says_no_more(pair)):
            return pair.ignore(f"{shared[0]} is already known")
    return None


def _is_former(pair: Pair, slot: str, pairs: Sequence[Pair]) -> bool:
    """Whether one of both tells what was so before, or another memory is nearer to the step that was taken."""
    if slot in ENDS_ONLY:
        steps = (one for one in pairs if one.shared.telling and ONGOING.search(one.memory.said))
        return any(one.at != pair.at and one.cosine > pair.cosine for one in steps)
    return slot in PRESENT and any(FORMER.match(one.said) for one in (pair.memory, pair.new))


def _same_slots(pair: Pair) -> list[str]:
    both = (pair.new.slots.keys() & pair.memory.slots.keys()) - ENDS_ONLY
    return [slot for slot in both if pair.new.confirms or same_value(pair.new.slots[slot], pair.memory.slots[slot])]


def _replaced(pair: Pair, slot: str, pairs: Sequence[Pair]) -> Decision:
    """A new value; where another memory holds it already, the old one only ends."""
    mine, theirs = pair.new.slots[slot], pair.memory.slots[slot]
    if any(slot in _same_slots(other) and _says_no_more(other) and not other.came_true for other in pairs):
        reason = f"{slot} is {mine!r}, as known, and no longer {theirs!r}"
        return Decision(Action.RETRACT, pair.at, reason, certain=True)
    is_plain = slot not in STATUSES and _is_told_plainly(pair)
    return replace(pair.revise(f"{slot}: {theirs!r} becomes {mine!r}", plain=is_plain), certain=True)


def _is_told_plainly(pair: Pair) -> bool:
    """Whether both begin with whom or what they are about: the speaker, or what is theirs."""
    return all(one.said.startswith(("user ", "i ", "we ", "my ", "our ")) for one in (pair.new, pair.memory))


def _says_no_more(pair: Pair) -> bool:
    if pair.new.confirms:
        return True
    return pair.agrees and (pair.shared.covering >= SAME_COVERING or pair.cosine >= NEAR_COSINE)


def _number(pairs: list[Pair]) -> Decision | None:
    """The same thing counted with another number."""
    for pair in pairs:
        if not _counts_alike(pair, pairs):
            continue
        for unit, mine, theirs in _counts(pair.new, pair.memory):
            if measures_another(pair.new, pair.memory, unit) or is_other_order(mine, theirs) or _is_of_one_act(pair):
                continue
            may_change = pair.settles if unit == "clock" else pair.lasting
            if not same_number(mine, theirs):
                if may_change and (not pair.new.once or unit not in SPENT or tells_change(pair.shared.segment.said)):
                    return pair.revise(
                        f"{unit}: {theirs} becomes {mine}",
                        plain=_is_the_same_count(pair, unit) or _is_value_alone(pair, unit, pairs),
                    )
            elif pair.only_planned or pair.came_true or (unit == "bare" and _YEAR.fullmatch(mine)):
                continue
            elif pair.agrees or pair.new.confirms:
                return pair.ignore(f"{unit} is already known")
    return None


def _is_of_one_act(pair: Pair) -> bool:
    """Whether something is counted that was done, beside what is so: "watered 2 plants", where 3 plants are known."""
    mine, theirs = speaker_verb(pair.new), speaker_verb(pair.memory)
    if not mine or not theirs or not is_past(mine) or is_past(theirs):
        return False
    return lemma(mine) not in LOOSE and not tells_change(pair.new.said) and pair.memory.said.split()[0] == "user"


_YEAR: Final = re.compile(r"(?:19|20)\d\d")


def _is_the_same_count(pair: Pair, unit: str) -> bool:
    """Whether both plainly count the same: cats are cats, and kilometres are those of the same walk."""
    return _measures_the_same(pair) or (unit not in UNITS and _is_told_plainly(pair))


def _is_value_alone(pair: Pair, unit: str, pairs: Sequence[Pair]) -> bool:
    """Whether nothing is told but a value ("down to 89 kg"), and only this memory has one in its unit."""
    if any(word not in (unit, "down", "up") and not is_light(word) for word in pair.new.tokens) or unit == "bare":
        return False
    return not any(unit in other.memory.numbers for other in pairs if other.at != pair.at)


def _measures_the_same(pair: Pair) -> bool:
    """Whether both say of what they tell a number or a day, and it is the same."""
    mine, theirs = measured(pair.new), measured(pair.memory)
    return mine == theirs and mine != Measured()


def _counts_alike(pair: Pair, pairs: Sequence[Pair]) -> bool:
    """Whether the numbers of both are about the same thing: they share words, or a measure only this memory has."""
    if pair.shared.telling and pair.shared.covered >= TOPIC_COVERED:
        return True
    if pair.cosine >= NUMBER_COSINE and pair.shared.covered >= NUMBER_COVERED:
        return True
    units = (pair.new.numbers.keys() & pair.memory.numbers.keys()) & MEASURES
    alone = bool(units) and not any(units & other.memory.numbers.keys() for other in pairs if other is not pair)
    moved = any(segment.changes for segment in pair.new.segments)
    return alone and pair.cosine >= (TOPIC_COSINE if moved else NUMBER_COSINE)


def _counts(new: Statement, memory: Statement) -> list[tuple[str, str, str]]:
    """Numbers of both that count the same; a bare number stands for the only one the other has."""
    mine, theirs = _counting(new, memory), _counting(memory, new)
    same = [(unit, mine[unit], theirs[unit]) for unit in sorted(mine.keys() & theirs.keys())]
    if same:
        return same
    if "bare" in mine and len(theirs) == 1:
        unit, value = next(iter(theirs.items()))
        return [(unit, mine["bare"], value)]
    return []


def _counting(statement: Statement, other: Statement) -> dict[str, str]:
    """Numbers that count something: not those in a name that the other has no number with."""
    others = digits_of_names(other.text)
    of_names = {value for name, value in digits_of_names(statement.text).items() if name not in others}
    return {unit: value for unit, value in statement.numbers.items() if unit != "bare" or value not in of_names}


def _date(pairs: list[Pair]) -> Decision | None:
    """The same event on another day."""
    for pair in pairs:
        theirs = pair.memory.dates
        if not (pair.settles and _other_days(pair.new.dates, theirs) and _other_days(theirs, pair.new.dates)):
            continue
        if measures_another(pair.new, pair.memory):
            continue
        alike = pair.cosine >= DATE_COSINE and pair.shared.covered >= DATE_COVERED
        if alike or (pair.shared.telling and pair.shared.segment.changes and pair.cosine >= TOPIC_COSINE):
            return pair.revise("the same with another date", plain=_measures_the_same(pair))
    return None


def _other_days(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a day or month is named that the others do not name; "in May" is no other day than 3 May."""
    known = others | {day[:3] for day in others if day[:3] in MONTHS}
    return not some <= known


def _class(pairs: list[Pair]) -> Decision | None:
    """Another value of a class of which a thing has one: plan, level, units."""
    for pair in pairs:
        for kind in sorted(pair.new.values.keys() & pair.memory.values.keys()):
            mine, theirs = pair.new.values[kind], pair.memory.values[kind]
            linked = kind in SPEAKS_FOR_ITSELF or pair.anchored or pair.shared.telling
            if mine != theirs and linked and pair.lasting:
                return pair.revise(f"{kind}: {theirs!r} becomes {mine!r}")
    return None


def _done(pairs: list[Pair]) -> Decision | None:
    """A plan that is no longer one: carried out or given up."""
    for pair in pairs:
        if not pair.came_true or does_another(pair.new, pair.memory):
            continue
        shares = pair.anchored or pair.shared.covered >= PLAN_COVERED
        if shares and (pair.cosine >= PLAN_COSINE or (pair.anchored and pair.shared.segment.changes)):
            same = not pair.new.tokens ^ pair.memory.tokens
            return pair.revise("the plan was carried out or given up", plain=same)
    return None


def _repeated(pairs: list[Pair]) -> Decision | None:
    """Said with "still", "as I said": what is near is meant again."""
    for pair in pairs:
        shares = pair.anchored or pair.shared.covered >= REPEAT_COVERED
        if pair.new.confirms and pair.agrees and shares and pair.cosine >= REPEAT_COSINE:
            return pair.ignore("said again")
    return None


def _switched(pairs: list[Pair]) -> Decision | None:
    """What a memory names was swapped, renamed or changed into something else."""
    for pair in pairs:
        given_up = frozenset().union(*(part.tokens for part in pair.new.segments if part.replaced))
        if pair.lasting and pair.memory.names & given_up:
            return pair.revise("replaced by something else")
    return None


def _role(pairs: list[Pair]) -> Decision | None:
    """Another name for what somebody has one of: "Firefox is my browser now"."""
    for pair in pairs:
        held = pair.new.roles & pair.memory.tokens
        named = pair.memory.names - pair.new.tokens
        if held and named and pair.lasting and pair.shared.telling and pair.cosine >= TOPIC_COSINE:
            return pair.revise(f"another {min(held)}")
    return None


def _renewed(pairs: list[Pair]) -> Decision | None:
    """The same thing under another name: "Project Falcon is now Project Osprey"."""
    for pair in pairs:
        more = pair.new.names - pair.memory.tokens
        alike = pair.shared.covered >= SAME_COVERED or pair.anchored
        if more and alike and pair.lasting and pair.new.turned and pair.memory.names and pair.cosine >= RENEWED_COSINE:
            return pair.revise("the same with another name", firm=pair.anchored)
    return None


def _habit(pairs: list[Pair]) -> Decision | None:
    """The same thing done with, at or by something else these days: "heats with a heat pump since autumn"."""
    for pair in pairs:
        mine, theirs = FRAME.match(pair.new.said), FRAME.match(pair.memory.said)
        if not mine or not theirs or NOW not in signals_of(pair.new.said) or not pair.lasting or not pair.agrees:
            continue
        same = token(mine["verb"]) == token(theirs["verb"]) and mine["by"] == theirs["by"]
        other = not content_tokens(mine["what"]) & content_tokens(theirs["what"])
        if same and other and pair.cosine >= TOPIC_COSINE:
            return pair.revise(f"{mine['verb']} {mine['by']} something else now")
    return None


def _closer(pairs: list[Pair]) -> Decision | None:
    """The same of something that is described more closely: "likes green tea" where tea is known."""
    for pair in pairs:
        alike = pair.agrees and pair.lasting and not pair.came_true and not brings_news(pair.new, pair.memory)
        if alike and is_closer(pair.new, pair.memory):
            return pair.revise("the same, described more closely", plain=True)
    return None


_RULES: Final[tuple[Callable[[list[Pair]], Decision | None], ...]] = (
    _identical,
    _switched,
    _slot,
    _number,
    _date,
    _class,
    _done,
    _repeated,
    _role,
    _habit,
    opposite,
    _renewed,
    _closer,
)
