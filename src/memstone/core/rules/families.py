"""What sort of fact a first-person clause states, by its verb and what the verb goes with.

The tables are data: a verb stands under the category that it usually tells of. A configuration can put patterns of its own
before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from memstone.core.rules import nouns
from memstone.core.rules.verbs import ADVERBS, is_past, is_verb, lemma
from memstone.model.memory import Kind

_ANYTHING: Final = re.compile("")


@dataclass(frozen=True, slots=True)
class Family:
    """A way to state a fact: its category and kind, whether it is a plan, and how much it usually matters."""

    category: str
    pattern: re.Pattern[str] = _ANYTHING
    kind: str = Kind.FACTUAL
    modality: str = "stated"
    salience: float = 0.5


FAMILIES: Final = {
    family.category: family
    for family in (
        Family("identity", salience=0.8),
        Family("family", salience=0.7),
        Family("home", salience=0.8),
        Family("work", salience=0.8),
        Family("skill", salience=0.6),
        Family("health", salience=0.8),
        Family("preference", salience=0.6),
        Family("decision", kind=Kind.EPISODIC, salience=0.6),
        Family("pattern", salience=0.5),
        Family("plan", kind=Kind.EPISODIC, modality="planned"),
        Family("date", kind=Kind.EPISODIC, salience=0.6),
        Family("possession"),
        Family("project", salience=0.6),
        Family("event", kind=Kind.EPISODIC, salience=0.4),
        Family("statement", salience=0.4),
    )
}
"""Every category of what people state, with its usual kind and weight."""

_VERBS: Final = {
    verb: category
    for category, listed in {
        "home": "live reside move relocate settle rent emigrate immigrate",
        "work": "work freelance manage teach lead supervise join hire promote resign retire commute specialize specialise report",
        "skill": "speak learn study play code program major graduate practice practise weld train instruct",
        "preference": "prefer like love enjoy adore hate dislike despise detest loathe favor favour avoid fancy",
        "decision": "decide choose pick select opt commit agree enroll enrol register switch change swap replace trade cancel book order decline refuse",
        "pattern": "stop quit start begin resume drop go run walk swim exercise meditate cycle bike jog volunteer cook bake garden hike sleep wake attend watch listen drink eat smoke vape skip tend read collect keep grow knit sew paint draw write sing dance camp fish surf ski climb help coach mentor host",
        "possession": "drive own buy use ride wear purchase sell lose inherit subscribe adopt have get lease",
        "project": "build deploy host ship migrate rewrite develop maintain launch release track test store support design",
        "plan": "plan intend aim hope want dream",
        "health": "suffer injure sprain tear recover diagnose relapse",
        "family": "marry name date divorce remarry",
    }.items()
    for verb in listed.split()
}
_DONE: Final = frozenset(
    """go visit attend win lose finish complete run hike climb travel meet celebrate host organize organise perform publish
    graduate paint write build make create donate adopt join volunteer participate give receive get have buy sign start try
    take see spend plant launch release move apply pass fail break fix sell camp bake cook read watch play redecorate
    renovate learn find become present speak teach compete set end wrap undergo recover begin hold fly drive sing dance
    draw design submit score interview explore discover photograph record rescue foster train upgrade install order return
    invite marry name turn hit earn raise open close pay save drop send catch swim bike cycle surf ski kayak sail snowboard
    add collect plan prepare research experiment improve expand fundraise audition rehearse film edit print sew knit craft
    grow study switch change replace cancel book reread revamp remodel restore repair refurbish sketch sculpt transition acquire help""".split()
)
"""Verbs that tell of something done when they stand in the past."""

_PHASES: Final = frozenset("start begin stop quit continue resume".split())
"""Such as "started learning": what is begun or ended tells the category."""

_STANDING: Final = frozenset("home work preference decision health family project possession".split())
"""Categories that stay what they are when told in the past."""

_FIXED: Final = (
    (
        "home",
        r"(?:have )?(?:bought|purchased|sold|built|inherited|got|closed on|own) (?:the|an?|our|my)(?: new| first| own| old| little| small| big| dream)* (?:house|home|flat|apartment|condo|cottage|bungalow|place)(?:$|,| (?:in|on|near|at|by|outside|last|yesterday|today|this|we|i|that)\b)",
    ),
    (
        "preference",
        r"(?:can|could) not stand\b|do not (?:really )?care for|would (?:rather|sooner)|got into|getting into|(?:have )?(?:gone|went) off|fell in love with|am all about|will take \S+ over|have (?:never|always) been into",
    ),
    (
        "decision",
        r"went with|am going with|settled on|signed up|will (?:use|go with)|am going to (?:use|adopt)|made up my mind|turned (?:down|in)|am not going to|committed to",
    ),
    (
        "identity",
        r"(?:grew up|come from|go by|changed my (?:last |first |sur)?name|am called|turned \d|(?:am )?turn(?:ing)? \d{2}|use (?:she|he|they)/)",
    ),
    (
        "work",
        r"(?:run|own|started|opened|have) (?:a|an|my|the)(?: own)?(?: [\w-]+){0,3} (?:business|company|shop|store|studio|restaurant|bakery|cafe|agency|firm|startup|practice|clinic)\b|(?:got|was|am|have been|were) (?:hired|fired|promoted|laid off|made redundant)|quit my job|left my job|lost my job|(?:switched|changed) jobs|got (?:a|the) (?:new )?job|do (?:\w+ ){1,3}for (?:a|an|the)\b|started (?:at|working|as|managing|a new (?:job|role|position))",
    ),
    (
        "skill",
        r"(?:know|can) (?:how to )?(?:play|speak|code|program|cook|read|write|swim|drive|ski|juggle|sing|dance|sew|knit|surf|hold a conversation)|know (?-i:[A-Z]\w+)|do not know any|taught myself|got (?:my|a|an) (?:\S+ ){0,2}(?:degree|diploma|certificate|licen[sc]e)|am doing (?:my|a|an) (?:phd|masters?|bachelor|degree|apprenticeship)|took up",
    ),
    (
        "health",
        r"(?:can not|could not|do not|stopped|quit|gave up|have given up|started|no longer|never|am not|cut out) (?:eat|eating|drink|drinking|smoke|smoking|tolerate|dairy|meat|sugar|gluten|alcohol|run|walk)\b",
    ),
    ("event", r"(?:set up|put together|helped (?:out|set|organi[sz]e|build|run)) (?:a|an|the|my|our|with)\b"),
    ("identity", r"am (?:now |also |still )?(?:a )?(?:part|member) of (?:a|an|the|my|our) \w+"),
    ("pattern", r"used to\b|am back to|have been (?:\w+ing)\b|am trying to"),
    (
        "plan",
        r"(?:plan|intend|aim|hope|want|dream) (?:to|on|of)|would (?:like|love) to|will be \w+ing|have to\b|am looking forward to \w+ing",
    ),
)
_FIXED_RE: Final = tuple((name, re.compile(rf"(?:{pattern})", re.IGNORECASE)) for name, pattern in _FIXED)
_BEING: Final = tuple(
    (name, re.compile(rf"(?:{pattern})", re.IGNORECASE))
    for name, pattern in (
        ("preference", nouns.LIKINGS),
        ("health", nouns.STATES_OF_HEALTH),
        ("family", nouns.TIES),
        ("identity", nouns.ORIGINS),
        (
            "home",
            r"(?:living|based|renting) |staying (?:in|at|with)|in (?:a|an|the) (?:[\w-]+ ){0,3}(?:flat|house|apartment|studio|village|suburb)",
        ),
        ("skill", nouns.ABILITIES),
        ("work", nouns.STATES_OF_WORK),
        ("plan", nouns.PLANS_AHEAD),
        ("identity", nouns.CREEDS),
    )
)
_HAVING: Final = tuple(
    (name, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for name, pattern in (
        ("health", nouns.AILMENTS),
        ("skill", nouns.PAPERS),
        ("plan", nouns.APPOINTMENTS),
        ("family", nouns.RELATIVES),
        ("possession", nouns.ANIMALS),
    )
)
_OWNED: Final = tuple(
    (name, re.compile(rf"^(?:my|our|the) (?:[\w'-]+ ){{0,3}}?(?:{pattern})\b", re.IGNORECASE))
    for name, pattern in (
        ("identity", nouns.PERSONAL_THINGS),
        ("family", nouns.RELATIVES),
        ("possession", nouns.ANIMALS),
        ("preference", r"favou?rites?|go-to|preferred|ideal"),
        ("date", nouns.DATED_THINGS),
        ("home", nouns.HOME_THINGS),
        ("work", nouns.WORK_THINGS),
        ("project", nouns.PROJECT_THINGS),
        ("possession", nouns.OWN_THINGS),
        ("preference", nouns.HOBBY_THINGS),
    )
)
_SHARED: Final = frozenset("date home work project possession".split())
"""What "the" may speak of as something of one's own."""

_ROUTINE: Final = re.compile(
    r"^(?:usually|always|never|typically|often|frequently|regularly|normally|rarely|generally|mostly|routinely)$"
)
_EVERY: Final = re.compile(
    r"\b(?:(?:every|each) (?:other )?(?:day|morning|evening|night|week|weekend|month|year|summer|winter|spring|fall|\w+day)|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:once|twice|three times|\w+ times|\d+ (?:days|times)) (?:a|per) (?:day|week|month|year)|on weekends)\b",
    re.IGNORECASE,
)
_VAGUE_BEING: Final = re.compile(
    r"^(?:a|an|the) (?:mix|bit|little|lot|fan|mess|idiot|fool|genius|hurry|rush|loss|huge|total|complete|first|best|worst|one|same|only one|better|changed|believer|kid|child|boy|girl|teenager|beginner$|part|member$|big believer|work in progress|long way|good|great)\b",
    re.IGNORECASE,
)


def family_of(clause: str, own: tuple[Family, ...] = ()) -> Family | None:
    """The family of a first-person clause; those of the configuration come first."""
    for family in own:
        if family.pattern.search(clause):
            return family
    subject, _, rest = clause.partition(" ")
    subject = subject.lower()
    if subject in ("i", "we"):
        return _acting(rest, subject)
    if subject in ("my", "our", "the"):
        fitting = (name for name, pattern in _OWNED if subject != "the" or name in _SHARED if pattern.match(clause))
        return FAMILIES.get(next(fitting, ""))
    return None


def _acting(rest: str, subject: str) -> Family | None:
    if subject == "we":
        rest = re.sub(r"^are\b", "am", re.sub(r"^were\b", "was", rest))
    adverbs, rest = _adverbs(rest)
    routine = any(_ROUTINE.match(adverb) for adverb in adverbs) or rest.startswith("tend to ")
    fixed = _fixed(rest)
    ended = rest.startswith("no longer ")
    rest = rest.removeprefix("no longer ")
    category = (
        fixed
        or _by_verb(rest)
        or ("pattern" if ended else "")
        or ("pattern" if routine and is_verb(_first_word(rest)) else "")
    )
    if not category:
        return None
    if category not in ("preference", "decision", "identity", "family") and (routine or _is_recurring(rest, category)):
        category = "pattern"
    if category == "plan" and not re.match(r"(?:am|will|have|want|would|hope|plan|intend|aim|dream)\b", rest):
        return replace(FAMILIES["plan"], modality="stated")
    return FAMILIES[category]


def _first_word(text: str) -> str:
    return text.split(maxsplit=1)[0].lower() if text.strip() else ""


def _is_recurring(rest: str, category: str) -> bool:
    return category in ("statement", "skill", "event", "possession") and bool(_EVERY.search(rest))


def _adverbs(rest: str) -> tuple[list[str], str]:
    """Adverbs before the verb, also between an auxiliary and "not", and what is left."""
    found: list[str] = []
    words = rest.split(" ")
    while len(words) > 1 and words[0].lower().strip(",") in ADVERBS and words[0].lower() != "tend":
        found.append(words.pop(0).lower().strip(","))
    kept = words[:1]
    for at, word in enumerate(words[1:4], 1):
        if word.lower() in ADVERBS and words[0].lower() in ("am", "was", "have", "do", "can", "will", "had", "did"):
            found.append(word.lower())
        else:
            kept += words[at:]
            break
    else:
        kept += words[4:]
    return found, " ".join(kept)


def _fixed(rest: str) -> str:
    return next((name for name, pattern in _FIXED_RE if pattern.match(rest)), "")


_AUXILIARY: Final = re.compile(
    r"^(?P<aux>do|did|can|could|will|have|had)(?: not)? (?:(?:never|always|also|just|already|recently|now) )*(?=\w)(?P<tail>.+)$"
)


def _by_verb(rest: str) -> str:
    being = re.match(r"^(?:am|was|have been|had been)(?: not)? (?P<what>.+)$", rest, re.IGNORECASE)
    if being:
        return _being(being["what"])
    helped = _AUXILIARY.match(rest)
    if rest.startswith("do ") and not rest.startswith("do not ") and not is_verb(_first_word(rest[3:])):
        return "statement"
    if helped and (helped["aux"] not in ("have", "had") or _is_participle(helped["tail"])):
        return _helped(helped["aux"], helped["tail"], negated=" not " in rest[:12])
    first, _, tail = rest.partition(" ")
    return _verb(first.lower(), tail)


def _is_participle(tail: str) -> bool:
    first = tail.split(maxsplit=1)[0].lower()
    return first in ("got", "had", "been") or (is_past(first) and first != "used") or lemma(first) != first


def _helped(auxiliary: str, tail: str, *, negated: bool) -> str:
    first, _, rest = tail.partition(" ")
    if auxiliary in ("have", "had"):
        return _verb(first.lower(), rest, past=True)
    category = _verb(lemma(first.lower()), rest)
    if auxiliary == "did" and not category:
        return "event"
    if auxiliary in ("will", "could") or (auxiliary == "can" and not negated and category != "skill"):
        return "decision" if auxiliary == "will" and first.lower() in ("use", "take") else ""
    return category or ("skill" if auxiliary == "can" else "statement" if negated else "")


def _being(what: str) -> str:
    for name, pattern in _BEING:
        if pattern.match(what):
            return name
    if nouns.TRADE.match(what):
        return "work"
    first = what.split(maxsplit=1)[0].lower()
    if first.endswith("ing") and len(first) > 4:
        category = _VERBS.get(lemma(first), "")
        return category or "statement"
    if first in ("a", "an", "the") and not _VAGUE_BEING.match(what):
        return "identity"
    if first == "at" and re.search(r"(?-i:[A-Z]\w+)|company|school|university", what):
        return "work"
    return "statement" if first in ("in", "at", "on") and re.search(r"\d|(?-i:[A-Z]\w)|times a", what) else ""


def _verb(first: str, tail: str, *, past: bool = False) -> str:
    base = lemma(first)
    is_done = past or (is_past(first) and first not in ("read", "put", "cut", "set", "quit", "cost", "hit"))
    if base in ("have", "get", "adopt", "buy", "own", "keep", "take", "break", "suffer", "struggle", "find", "name"):
        for name, pattern in _HAVING:
            if pattern.search(" ".join(re.split(r"[\s,]+", tail)[:8])) and not (
                name == "family" and base in ("take", "get", "find")
            ):
                return name
        if base == "have" and not past and first != "had":
            return "possession"
    inner = tail.split(maxsplit=1)[0].lower() if tail else ""
    if base in _PHASES and inner.endswith("ing"):
        within = _VERBS.get(lemma(inner), "")
        return within if within in ("work", "skill", "health") else "pattern"
    category = _VERBS.get(base, "")
    if is_done and category not in _STANDING:
        return "event" if base in _DONE or category else ""
    return category


_PAST_START: Final = re.compile(
    r"^(?:(?:just|finally|recently|already|successfully|also|accidentally|officially|regularly|been|have|has|had|today|yesterday) )*([a-z]+(?:-[a-z]+)?)\b",
    re.IGNORECASE,
)


def past_start(clause: str) -> str:
    """The first verb of a clause that may lack its subject."""
    found = _PAST_START.match(clause)
    return found[1].lower() if found else ""
