"""What a few words name in answer to a question: somebody, a place, a number, a day, a trade, a thing.

Every reader gives the words as they go into a statement, or '' where they are no such answer.
"""

from __future__ import annotations

import re
from typing import Final

from memstone.core.entities.lists import COMMON, FIRST_NAMES, PLACES
from memstone.core.rules import nouns
from memstone.core.rules.definite import specific
from memstone.core.rules.replies import bare
from memstone.core.rules.sift import is_task
from memstone.core.rules.verbs import is_verb
from memstone.core.text.lexicon import KIN, NEGATIONS, PETS

_CAPITAL: Final = r"(?-i:[^\W\d_a-z])[\w'’.-]*"
_NAME: Final = re.compile(rf"{_CAPITAL}(?: (?:(?:de|da|del|van|von|der|el|al|la|le|of) )*{_CAPITAL}){{0,3}}")
_AND: Final = re.compile(r",? (?:and|&) |, ")
_NOT_NAMES: Final = (
    COMMON
    | NEGATIONS
    | frozenset(
        """sure great fine good nope nah yep yup cool nice male female user me myself test testing admin anonymous anon human guest
        batman student teacher nearby abroad alone downtown apartment house flat city countryside village suburbs outside rural far
        close remote remotely freelance office hospital school university hybrid online everywhere
        welcome bye goodbye morning evening perfect awesome correct wrong""".split()
    )
) - (FIRST_NAMES | {"may", "new"})
"""Words that are none of somebody or somewhere, whatever letter they begin with."""


def name(said: str, *, pet: bool = False) -> str:
    """One name: capitals, or small letters where it is known as one (a pet may be called anything)."""
    value = bare(said)
    if _NAME.fullmatch(value):
        return value if value.split()[0].lower() not in _NOT_NAMES else ""
    word = value.lower()
    is_name = word in FIRST_NAMES or (
        pet and word.isalpha() and word not in _NOT_NAMES | KIN | PETS and not is_verb(word)
    )
    return value.title() if is_name and value.islower() else ""


def names(said: str, *, pet: bool = False) -> str:
    """Two names or more."""
    value = bare(said)
    listed = [name(one, pet=pet) for one in _AND.split(value)]
    return _joined(listed) if len(listed) > 1 and all(listed) else ""


def _joined(listed: list[str]) -> str:
    return f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else "".join(listed)


_PREPOSITION: Final = re.compile(r"(?:(?:in|near|outside|from|at|close to|just outside|on)\b )", re.IGNORECASE)
_PLACE: Final = re.compile(
    rf"(?:(?:downtown|central|north|south|east|west|northern|southern|eastern|western|upstate) )?(?:the )?{_NAME.pattern}(?:,? (?:(?:in|near) )?(?:the )?{_NAME.pattern}){{0,2}}"
)
_SOME_PLACE: Final = re.compile(
    rf"(?:in|on) an? (?:[a-z-]+ ){{0,2}}(?:village|town|city|suburb|flat|house|apartment|studio|farm|cottage|houseboat|caravan|dorm)(?: (?:in|near|outside|by|on) (?:the )?(?:{_NAME.pattern}|coast|sea|countryside|mountains|city|river|lake))?",
    re.IGNORECASE,
)
_NO_PLACE: Final = re.compile(
    r"\b(?:earth|mars|moon|home|bed|internet|hell|heaven|hogwarts|narnia|cloud|work|school|box)\b", re.IGNORECASE
)
_LIVED_IN: Final = re.compile(
    r"(?:i|we) (?:live|am|are|grew up|was born|come|were born)(?: (?:in|from|near))? ", re.IGNORECASE
)


def place(said: str) -> str:
    """Where, with its preposition: "in Lisbon", "near Graz", "in a small village"."""
    value = bare(said)
    if not value or _NO_PLACE.search(value) or _LIVED_IN.match(value):
        return ""
    if _SOME_PLACE.fullmatch(value):
        return small(value)
    how = _PREPOSITION.match(value)
    where = value[how.end() :] if how else value
    if where.lower() in PLACES:
        where = where.title() if where.islower() and len(where) > 3 else where.upper() if where.islower() else where
    if not _PLACE.fullmatch(where) or where.split()[0].lower().strip(",") in _NOT_NAMES - {"the"}:
        return ""
    before = how[0].strip().lower() if how else "in"
    return f"{before if before != 'from' else 'in'} {where}"


_UNITS: Final = "one|two|three|four|five|six|seven|eight|nine"
NUMBER: Final = rf"(?:\d{{1,3}}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:{_UNITS}))?|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|{_UNITS})"
_AGE: Final = re.compile(
    rf"(?:(?:just )?turned )?(?P<age>{NUMBER}(?:,? (?:and )?{NUMBER})*)(?: (?P<unit>years?|months?|weeks?|yrs?|yo)(?: old| of age)?)?",
    re.IGNORECASE,
)
_OLDEST: Final = 120


def age(said: str) -> str:
    """How old: "34 years old", "seven months old"."""
    found = _AGE.fullmatch(bare(said))
    if found is None or any(int(number) > _OLDEST for number in re.findall(r"\d+", found["age"])):
        return ""
    unit = (found["unit"] or "years").lower()
    return f"{small(found['age'])} {'years' if unit[0] == 'y' else unit} old"


def number(said: str) -> str:
    """How many."""
    value = bare(said)
    return small(value) if re.fullmatch(NUMBER, value, re.IGNORECASE) else ""


_MONTH: Final = "(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE: Final = re.compile(
    rf"(?:on )?(?P<date>{_MONTH}\.? (?:the )?{_DAY}(?:,? \d{{4}})?|(?:the )?{_DAY}(?: of)? {_MONTH}(?:,? \d{{4}})?|\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|today|tomorrow|(?:next|this) (?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    rf"|(?P<month>(?:in )?(?:(?:early|late|mid) )?{_MONTH})",
    re.IGNORECASE,
)


def date(said: str) -> str:
    """When: "May 3rd", "in March", "tomorrow"."""
    found = _DATE.fullmatch(bare(said))
    if found is None:
        return ""
    if found["date"]:
        return re.sub(_MONTH, _capital, found["date"], flags=re.IGNORECASE)
    return "in " + re.sub(_MONTH, _capital, found["month"].lower().removeprefix("in "), flags=re.IGNORECASE)


def _capital(found: re.Match[str]) -> str:
    return found[0][:1].upper() + found[0][1:]


def born(said: str) -> str:
    """A day or a year of birth, with its preposition."""
    value = bare(said)
    year = re.fullmatch(r"(?:in )?((?:19|20)\d\d)", value, re.IGNORECASE)
    if year:
        return f"in {year[1]}"
    found = date(said)
    return found if not found or found.startswith("in ") else f"on {found}" if found[0] not in "tn" else ""


_FIELD: Final = re.compile(r"in (?:the )?[\w-]+(?: (?:and )?[\w-]+){0,2}", re.IGNORECASE)


def trade(said: str) -> str:
    """What somebody is or works in: "am a nurse", "work in marketing", "am retired"."""
    value = re.sub(r"^(?:(?:i|she|he) )?works? as ", "", bare(said), flags=re.IGNORECASE)
    if re.fullmatch(nouns.STATES_OF_WORK, value, re.IGNORECASE) or re.fullmatch(
        "retired|unemployed|freelance", value, re.IGNORECASE
    ):
        return f"am {small(value)}"
    if _FIELD.fullmatch(value) and specific(f"the {value}") >= 1:
        return f"work {small(value)}"
    if value.lower() in _FIELDS:
        return f"work in {value if value.isupper() else value.lower()}"
    job = re.sub(r"^(?:an?|the) ", "", value, flags=re.IGNORECASE)
    title = re.split(r" (?:at|for|in|with) ", job, maxsplit=1)[0]
    if not nouns.TRADE.fullmatch(f"a {title}") or len(job.split()) > 7:
        return ""
    job = job if job[:2].isupper() else small(job)
    return f"am {'an' if job[0].lower() in 'aeiou' else 'a'} {job}"


_THING: Final = r"[\w'’+#&./-]+(?: [\w'’+#&./-]+){0,4}"
_EMPLOYER: Final = re.compile(
    rf"(?:(?P<how>at|for|in|with) )?(?P<whom>{_NAME.pattern}|(?:an?|the|my own) (?:[a-z-]+ ){{0,3}}[a-z-]+)",
    re.IGNORECASE,
)


def employer(said: str) -> str:
    """Whom somebody works for: "at Siemens", "for a small bakery", "from home"."""
    value = bare(said)
    if value.lower() in ("from home", "remotely", "at home"):
        return "from home" if "home" in value.lower() else "remotely"
    if value.lower() in _FIELDS:
        return f"in {value if value.isupper() else value.lower()}"
    found = _EMPLOYER.fullmatch(value)
    whom = found["whom"] if found else ""
    is_named = bool(_NAME.fullmatch(whom)) and whom.split()[0].lower() not in _NOT_NAMES
    if found is None or not (
        is_named or (" " in whom and whom.split()[0].lower() in ("a", "an", "the", "my") and found["how"])
    ):
        return ""
    how = (found["how"] or "at").lower()
    return f"{how} {whom if is_named else small(whom)}"


_FIELDS: Final = frozenset(
    "sales marketing finance tech it hr logistics retail construction healthcare education hospitality insurance banking".split()
)
_THINGS: Final = re.compile(rf"{_THING}(?:(?:, (?:and )?| and | & ){_THING}){{0,4}}")


def things(said: str, *, or_yes: bool = False) -> str:
    """Something by its name, or a few such things; no sentence, and nothing that is only pointed at."""
    value = bare(said, or_yes=or_yes)
    if re.fullmatch(NUMBER, value, re.IGNORECASE) and not value.isdecimal():
        return ""
    first = value.split()[0].lower() if value else ""
    if (
        not _THINGS.fullmatch(value)
        or first in _NO_THINGS
        or specific(f"the {value}") < 1
        or is_task(value)
        or _SOME_ONE.search(value)
    ):
        return ""
    return small(value) if first in ("a", "an", "the") else value


_SOME_ONE: Final = re.compile(r"\b(?:ones?|things?|stuff|default|latest|version|ly|fluently|hard|well)$", re.IGNORECASE)
_NO_THINGS: Final = frozenset(
    "i we he she it they my our his her their yes no and or but so because to for with from of as like please can could will would should do does did".split()
)


def common(said: str) -> str:
    """Things that are no names, in small letters: what somebody cannot eat, or likes to do."""
    value = things(said, or_yes=True)
    value = re.sub(r"^(?:allergic )?to ", "", value, flags=re.IGNORECASE)
    return small(value) if len(value.split()) <= 6 else ""


def allergens(said: str) -> str:
    """What somebody may be allergic to in earnest."""
    value = common(said)
    return "" if _IN_JEST.search(value) else value


_IN_JEST: Final = re.compile(
    r"\b(?:work|working|mondays?|mornings?|people|exercise|maths?|meetings|bullshit|stupidity|idiots|love|fun)\b"
)


def diet(said: str) -> str:
    """How somebody eats."""
    value = bare(said, or_yes=True).lower()
    return (
        value
        if re.fullmatch(
            r"halal|kosher|(?:gluten|dairy|lactose|sugar|nut|meat)[- ]free|low[- ]carb|plant[- ]based", value
        )
        else ""
    )


def pastimes(said: str) -> str:
    """What somebody likes to do, at least one of it said as doing something or known as a pastime."""
    value = common(said)
    return value if _PASTIME.search(value) else ""


_PASTIME: Final = re.compile(
    r"\b\w{2,}ing\b|\b(?:yoga|chess|music|photography|pottery|football|soccer|tennis|golf|basketball|volleyball|padel|books|films|movies|games|gaming|pilates|karate|judo|ballet|crafts?|art|theatre|theater|guitar|piano|origami|calligraphy|astronomy)\b",
    re.IGNORECASE,
)


def an_animal(said: str) -> str:
    """A breed, with its article: "a beagle"."""
    value = re.sub(r"^an? ", "", common(said))
    if not value or len(value.split()) > 3 or "," in value:
        return ""
    return f"{'an' if value[0].lower() in 'aeiou' else 'a'} {value}"


_HAS: Final = re.compile(
    rf"(?:(?:an?|{NUMBER}|several|twin)(?: (?!and\b)[a-z-]+){{1,3}}|twins|triplets)(?:,? and (?:an?|{NUMBER})(?: [a-z-]+){{1,3}})?(?P<names>(?:,|:| called| named)+ .+)?",
    re.IGNORECASE,
)


def having(said: str, kinds: str) -> str:
    """So many of one's own: "two cats", "a son and a daughter"; ``kinds`` are the nouns of which one must be there."""
    value = re.sub(r"^(?:i|we) have ", "", bare(said, or_yes=True), flags=re.IGNORECASE)
    of_kind = re.search(rf"\b(?:{kinds})s?\b", value, re.IGNORECASE)
    if not of_kind:
        return ""
    if re.fullmatch(rf"(?:{kinds})", value, re.IGNORECASE) and value.lower().endswith("s"):
        return value.lower()
    found = _HAS.fullmatch(value)
    if found is None or (
        found["names"]
        and not all(map(name, _AND.split(found["names"].strip(",: ").removeprefix("called ").removeprefix("named "))))
    ):
        return ""
    return small(value)


_CLOCK: Final = re.compile(
    rf"(?:at |by )?(?P<time>(?:\d{{1,2}}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?|(?:half past |quarter (?:past|to) )?{NUMBER}(?: thirty| fifteen)?)(?: o'clock)?(?: (?:in the (?:morning|evening|afternoon)|at night))?|noon|midnight)",
    re.IGNORECASE,
)
_OFTEN: Final = re.compile(
    rf"(?:(?:every|each) (?:other |second |single )?\w+|(?:once|twice|thrice|(?:{NUMBER}|three|several) (?:times|days|nights)|once or twice) (?:a|per|every) \w+|daily|weekly|monthly|most (?:days|weekends|evenings|mornings)|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days(?: and (?:mon|tues|wednes|thurs|fri|satur|sun)days)?|on weekends)",
    re.IGNORECASE,
)


def clock(said: str) -> str:
    """At what time of the day."""
    found = _CLOCK.fullmatch(bare(said))
    return f"at {found['time'].lower()}" if found else ""


def often(said: str) -> str:
    """How often."""
    value = bare(said)
    return value[:1].lower() + value[1:] if _OFTEN.fullmatch(value) else ""


def small(value: str) -> str:
    """The words with a small first letter, as inside a sentence; an abbreviation stays as it is."""
    first = value.split(maxsplit=1)[0] if value else ""
    return value if len(first) > 1 and first[1].isupper() else value[:1].lower() + value[1:]
