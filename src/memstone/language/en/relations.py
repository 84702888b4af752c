"""Find relations between names by rules: who works where, or is whose sister.

A verb is looked for, then a name right after it and somebody right before it. What is asked, wished or denied puts
something between them or ends with a question mark, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from memstone.language.en.entities import NamedText, entities_from_spotted, find_names, normalize_name, possible_forms
from memstone.language.en.names import KIN, PETS, NameSpan, is_addressed
from memstone.model.memory import MAX_FOUND, NOTHING, USER, Entity, EntityFound, EntityType, Relation

# --- how the names in a text are related, by rules --------------------------------------------------------------------


_ADVERBS: Final = r"(?:(?:now|currently|also|still|just|recently|actually|really|both|finally|already|originally) )"
_KIN_WORDS: Final = "|".join(map(re.escape, sorted(KIN, key=len, reverse=True)))
_PET_WORDS: Final = "|".join(sorted(PETS))
_ADJECTIVES: Final = (
    r"(?:(?:older|elder|younger|little|big|best|old|oldest|youngest|twin|late|new|dear|close|good) ){0,2}"
)
_OF: Final = r"(?P<owner>\b(?:[Mm]y|[Oo]ur|[Uu]ser['\u2019]s|\w{2,30}['\u2019]s))"
_KIN_BEFORE: Final = re.compile(
    rf"{_OF} {_ADJECTIVES}(?:(?P<kin>{_KIN_WORDS})|(?P<pet>{_PET_WORDS}))"
    r"(?:, | is | named | called |['\u2019]s name is | )"
)
_KIN_AFTER: Final = re.compile(rf"(?:,| is| was)(?: also| now)? {_OF} {_ADJECTIVES}(?P<kin>{_KIN_WORDS})\b")
_PET_NAMED: Final = re.compile(
    r"(?P<verb>\b(?:have|has|got|adopted|own|owns)) (?:an?|two|three) (?:\w+ ){0,2}?"
    rf"(?:{_PET_WORDS}),? (?:named|called) "
)
_SUBJECT: Final = re.compile(
    r"(?:^|[\s\"'(])(?P<who>I|i|[Ww]e|[Uu]ser)(?:['\u2019](?:m|ve|re|d|s)| am| have| has| are| is| was| used to)? "
    rf"{_ADVERBS}{{0,2}}$|(?P<short>\bI)['\u2019]$"
)
_BETWEEN: Final = re.compile(
    rf"(?:,? who)?(?:['\u2019]s| is| has| was| are| have| used to)? {_ADVERBS}{{0,2}}$|,? (?:who|which) {_ADVERBS}?$"
)
_UNREAL: Final = re.compile(
    r"\b(?:if|wish|whether|would|unless|imagine|pretend|never|not|n['\u2019]t)\b[^.!;]*$", re.IGNORECASE
)
_STOP: Final = re.compile(r"[!?\n]|\.(?!\w)")
_AND: Final = re.compile(rf"(?:,? and| but)(?: I)? {_ADVERBS}?")
_WORKS_ELSEWHERE: Final = re.compile(rf"{_AND.pattern}(?:works?|started|joined)\b")
"""Whoever left something and works somewhere else now has left a job there, whatever it is called."""

_LISTED: Final = re.compile(r"(?:, and|,| and) (?:the )?")
_PAST: Final = re.compile(r"\b(?:used to|no longer|until|before|formerly|previously)\b", re.IGNORECASE)
_JOB: Final = r"(?: as (?:an?|the) [\w -]{2,40}?| full[- ]time| part[- ]time| remotely){0,2}"


class _Rule(NamedTuple):
    relation: str
    tail: re.Pattern[str]
    ended: bool = False
    targets: tuple[str, ...] = ()


def _build_verb_rules() -> Iterator[tuple[str, _Rule]]:
    """Yield the verbs, each with what must follow it up to the name."""
    at = re.compile(rf"{_JOB} (?:at|for|with) (?:the )?")
    post = re.compile(r"(?: now| currently)? (?:an?|the) (?:[\w-]+ ){1,4}?(?:at|for) (?:the )?")
    into = re.compile(r" (?:in|near|outside) (?:the )?")
    direct = re.compile(r" (?:the |a |an |some |my )?(?:new |old |used )?")
    onto = re.compile(r"(?: back| over| away)? to (?:the )?")
    table: Iterable[tuple[str, str, re.Pattern[str], bool, tuple[str, ...]]] = (
        ("work works working", "works_at", at, False, ()),
        ("worked", "works_at", at, True, ()),
        ("am is m", "works_at", post, False, (EntityType.ORGANIZATION,)),
        ("employed", "works_at", re.compile(r" (?:at|by) (?:the )?"), False, ()),
        ("job internship position", "works_at", re.compile(r" (?:at|with) (?:the )?"), False, ()),
        ("joined", "works_at", re.compile(r" (?:the )?"), False, (EntityType.ORGANIZATION,)),
        ("left quit", "works_at", re.compile(r" (?:my job at )?(?:the )?"), True, (EntityType.ORGANIZATION,)),
        ("study studies studying", "studies_at", re.compile(r"(?: [\w-]+){0,4}? at (?:the )?"), False, ()),
        ("studied", "studies_at", re.compile(r"(?: [\w-]+){0,4}? at (?:the )?"), True, ()),
        ("live lives living reside resides", "lives_in", into, False, ()),
        ("lived", "lives_in", into, True, ()),
        ("based located headquartered", "located_in", into, False, ()),
        ("moved relocated", "lives_in", onto, False, ()),
        ("born", "born_in", re.compile(r"(?: and raised)? in (?:the )?"), False, ()),
        ("from", "comes_from", re.compile(r" (?:the )?"), False, (EntityType.LOCATION,)),
        ("use uses using", "uses", direct, False, ()),
        ("switched migrated", "uses", onto, False, ()),
        ("own owns bought drive drives", "owns", direct, False, ()),
        ("sold", "owns", direct, True, ()),
        ("know knows met", "knows", re.compile(r" "), False, (EntityType.PERSON,)),
        ("married", "spouse_of", re.compile(r"(?: to)? "), False, (EntityType.PERSON,)),
    )
    for verbs, relation, tail, ended, targets in table:
        yield from ((verb, _Rule(relation, tail, ended, targets)) for verb in verbs.split())


_RULES: Final = dict(_build_verb_rules())
_VERBS: Final = re.compile(rf"\b(?:{'|'.join(sorted(_RULES, key=len, reverse=True))})\b")
_NOUNS: Final = frozenset(("job", "internship", "position"))
_RELATIVES: Final = frozenset(KIN) | PETS
_TELLING: Final = frozenset(_RULES) | _RELATIVES
"""Without any of these words a text relates nothing."""

_MANY: Final = ("uses", "knows", "owns")
_WHERE: Final[dict[str, str]] = {
    EntityType.PERSON: "lives_in",
    EntityType.ORGANIZATION: "located_in",
    EntityType.LOCATION: "located_in",
}
"""What being somewhere is called, where it is clear who is."""


def found_in(text: str, speaker: str = USER) -> EntityFound:
    """Return what a text names and how that is related; ``speaker`` is who "I" is, '' if nobody is learned about.

    Pure, and made to be called before a transaction: nothing but the text decides.
    """
    reading = find_names(text)
    possible = possible_forms(reading)
    if not reading.names:
        return EntityFound(possible=possible) if possible else NOTHING
    named = entities_from_spotted(reading.names)
    relations = _extract_relations(reading, named, speaker)
    return EntityFound(_with_speaker(_spoken_of(reading, named, relations), relations, speaker), relations, possible)


def _spoken_of(reading: NamedText, named: list[Entity], relations: Iterable[Relation]) -> list[Entity]:
    """Return the entities without those that are only addressed."""
    called = {one for one in reading.names if is_addressed(reading.text, one)}
    if not called:
        return named
    spoken_of = {normalize_name(one.name) for one in reading.names if one not in called}
    spoken_of.update(end for one in relations for end in (one.source, one.target))
    return [one for one in named if one.norm in spoken_of]


def _with_speaker(named: list[Entity], relations: Iterable[Relation], speaker: str) -> tuple[Entity, ...]:
    form = normalize_name(speaker)
    known = {one.norm for one in named}
    used = form and form not in known and any(form in (one.source, one.target) for one in relations)
    return (*named, Entity(speaker, form, EntityType.PERSON)) if used else tuple(named)


def _extract_relations(reading: NamedText, named: list[Entity], speaker: str) -> tuple[Relation, ...]:
    if _TELLING.isdisjoint(reading.words):
        return ()
    spotted = reading.names
    starts, ends = {one.start: one for one in spotted}, {one.end: one for one in spotted}
    sentence = _Sentence(reading.text, starts, ends, normalize_name(speaker))
    remaining = {one.norm for one in named} | {sentence.speaker}
    found: dict[tuple[str, str, str], Relation] = {}
    for one in (*_by_verbs(sentence), *_by_kin(sentence, spotted, reading.words)):
        if one.source != one.target and {one.source, one.target} <= remaining and len(found) < MAX_FOUND:
            found.setdefault((one.source, one.relation, one.target), one)
    return tuple(found.values())


class _Sentence(NamedTuple):
    text: str
    starts: Mapping[int, NameSpan]
    ends: Mapping[int, NameSpan]
    speaker: str

    def is_said(self, start: int, end: int) -> bool:
        """Return whether it is stated, not asked or imagined."""
        stop = _STOP.search(self.text, end)
        asked = stop is not None and stop[0] == "?"
        return not asked and _UNREAL.search(self.text, max(0, start - 60), start) is None


def _by_verbs(sentence: _Sentence) -> Iterator[Relation]:
    text = sentence.text
    last, last_end = ("", 0, ""), -1
    for verb in _VERBS.finditer(text):
        rule = _RULES[verb[0]]
        target = _find_target(sentence, rule, verb.end())
        if target is None:
            continue
        joined = last_end >= 0 and _AND.fullmatch(text, last_end, verb.start())
        last = last if joined else _find_subject(sentence, verb.start(), verb[0])
        source, start, kind = last
        if source and sentence.is_said(start, target.end):
            last_end = target.end
            for one in _listed_targets(sentence, rule, target):
                yield _build_relation(rule, source, kind, one, text[verb.start() if joined else start : one.end])


def _find_target(sentence: _Sentence, rule: _Rule, at: int) -> NameSpan | None:
    tail = rule.tail.match(sentence.text, at)
    target = sentence.starts.get(tail.end()) if tail else None
    if target is None or not rule.targets or target.type in rule.targets:
        return target
    return target if rule.ended and _WORKS_ELSEWHERE.match(sentence.text, target.end) else None


def _listed_targets(sentence: _Sentence, rule: _Rule, first: NameSpan) -> Iterator[NameSpan]:
    """Yield the name after a verb, and those that are listed with it where one may have several."""
    one: NameSpan | None = first
    while one is not None:
        yield one
        more = _LISTED.match(sentence.text, one.end) if rule.relation in _MANY else None
        following = sentence.starts.get(more.end()) if more else None
        one = following if following is not None and following.type == first.type else None


def _build_relation(rule: _Rule, source: str, kind: str, target: NameSpan, evidence: str) -> Relation:
    relation = rule.relation
    if relation in ("lives_in", "located_in"):
        relation = _WHERE.get(kind, relation)
    ended = rule.ended and "have worked" not in evidence and "'ve " not in evidence
    return Relation(
        source, relation, normalize_name(target.name), evidence, ended=ended or _PAST.search(evidence) is not None
    )


def _find_subject(sentence: _Sentence, at: int, verb: str) -> tuple[str, int, str]:
    """Return who stands before a verb: normal form, where that begins, and what it is; '' when nobody does."""
    before = sentence.text[max(0, at - 40) : at]
    if verb in _NOUNS:
        own = re.search(r"\b(?:[Mm]y|I (?:have|got|started|landed|took|accepted)(?: an?| the| my)?)(?: new)? $", before)
        return (sentence.speaker, at - len(before) + own.start(), EntityType.PERSON) if own else ("", 0, "")
    who = _SUBJECT.search(before)
    if who:
        text = who["who"] or who["short"]
        name = USER if text.casefold() == USER else sentence.speaker
        return name, at - len(before) + who.start(who.lastgroup or 0), EntityType.PERSON
    return _named_subject(sentence, at)


def _named_subject(sentence: _Sentence, at: int) -> tuple[str, int, str]:
    for end in range(at - 1, max(0, at - 32), -1):
        one = sentence.ends.get(end)
        if one is not None:
            fits = _BETWEEN.match(sentence.text[end:at])
            return (normalize_name(one.name), one.start, one.type) if fits else ("", 0, "")
    return "", 0, ""


def _by_kin(sentence: _Sentence, spotted: list[NameSpan], words: set[str]) -> Iterator[Relation]:
    if _RELATIVES.isdisjoint(words):
        return
    text = sentence.text
    for match in _KIN_BEFORE.finditer(text):
        named = sentence.starts.get(match.end())
        owner = _resolve_owner(sentence, match["owner"])
        if named is not None and owner:
            evidence = text[match.start() : named.end]
            yield _build_kin_relation(normalize_name(named.name), match["kin"], owner, evidence)
    for match in _PET_NAMED.finditer(text):
        named = sentence.starts.get(match.end())
        source, start, _ = _find_subject(sentence, match.start(), match["verb"])
        if named is not None and source and sentence.is_said(start, named.end):
            yield Relation(source, "owns", normalize_name(named.name), text[start : named.end])
    for one in spotted:
        after = _KIN_AFTER.match(text, one.end)
        owner = _resolve_owner(sentence, after["owner"]) if after else ""
        if after and owner and sentence.is_said(one.start, after.end()):
            yield _build_kin_relation(normalize_name(one.name), after["kin"], owner, text[one.start : after.end()])


def _build_kin_relation(name: str, kin: str | None, owner: str, evidence: str) -> Relation:
    if kin is None:
        return Relation(owner, "owns", name, evidence)
    return Relation(name, f"{KIN[kin]}_of", owner, evidence)


def _resolve_owner(sentence: _Sentence, text: str) -> str:
    folded = text.casefold()
    if folded in ("my", "our"):
        return sentence.speaker
    return USER if folded.startswith("user") else normalize_name(text)


_KIN_ASKED: Final = re.compile(
    rf"(?P<owner>\b(?:my|our|user's|\w{{2,30}}['\u2019]s)) {_ADJECTIVES}(?P<kin>{_KIN_WORDS})\b"
)


def query_roles(text: str, speaker: str = USER) -> list[tuple[str, str]]:
    """Return whom a question means by what they are to somebody: "my sister" is whoever is ``sister_of`` the user."""
    asked = _KIN_ASKED.finditer(text.casefold())
    own = ("my", "our", "user's")
    found = [
        (normalize_name(speaker) if one["owner"] in own else normalize_name(one["owner"]), f"{KIN[one['kin']]}_of")
        for one in asked
    ]
    return list(dict.fromkeys(found))
