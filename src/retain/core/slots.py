"""Single-valued slots: things a person has one of at a time.

A slot is a name such as ``lives_in`` or ``favourite:colour`` with one value. Two statements about the same slot of the
same person agree or contradict each other, whatever else they say. Patterns are data; the first that matches a slot wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from retain.core.stem import stem

_END: Final = r"(?=$|[.,;!?()]| (?:and|but|as|with|since|for|because|where|who|which|so|now|again|these|in order|to be|after|before|when|while|at the|last|this|next|from|by|until|then|though|anymore|long|currently|right now|myself|today|yesterday|about|near|close)\b)"
_PLACE: Final = rf"(?:the )?([a-z][a-z' .-]{{1,40}}?){_END}"
_THING: Final = (
    rf"(?:a |an |the |my |our |some )?(?:new |brand new |used |second[- ]hand )?([a-z0-9][\w' .+#/&-]{{0,40}}?){_END}"
)
_SUBJECT: Final = r"(?:i|user|we|they|he|she|[a-z]+)"

_OCCUPATION_ENDINGS: Final = (
    "er",
    "or",
    "ist",
    "ian",
    "ant",
    "eer",
    "man",
    "woman",
    "ologist",
    "ess",
    "smith",
    "keeper",
    "yst",
    "nurse",
    "chef",
    "vet",
    "clerk",
    "pilot",
    "cop",
    "attorney",
    "scribe",
    "coach",
    "nanny",
    "athlete",
    "model",
    "student",
    "lead",
    "founder",
    "intern",
)
_NOT_OCCUPATIONS: Final = frozenset(
    """lover owner mother father sister brother beginner believer fighter vegetarian person member fan supporter user
    follower stranger winner loser survivor sufferer minor senior junior christian italian indian russian canadian
    australian american brazilian norwegian egyptian sleeper eater drinker reader runner swimmer hiker biker gamer traveler
    traveller collector lefty introvert extrovert parent grandfather grandmother grandparent husband homeowner dreamer
    learner starter newcomer foodie night-owl early-riser partner daughter meat-eater veteran listener planner worker
    optimist pessimist perfectionist feminist smoker non-smoker vegan pescatarian libertarian lawbreaker carnivore
    twin virgo pisces aquarian librarian-at-heart bookworm""".split()
)
_MARITAL: Final = (
    (
        "married",
        r"\b(?:got|is|am|are|was|just|been|be|happily|newly) married\b|\bmarried (?:to|for|with|mother|father|man|woman)\b|\bmy (?:wife|husband)\b|\btied the knot\b|\bnewlywed",
    ),
    ("engaged", r"\b(?:got|is|am|are|just) engaged\b(?! in)|\bmy fianc|\bengaged to\b|\bproposed to\b.*\bsaid yes\b"),
    ("divorced", r"\bdivorc|\bex-(?:wife|husband)\b|\bsplit from my (?:wife|husband)\b"),
    ("separated", r"\b(?:am|is|are) separated\b"),
    ("widowed", r"\bwidow"),
    (
        "single",
        r"\b(?:am|is|still|being|currently|newly) single\b|\bnot (?:dating|seeing|involved with) (?:anyone|anybody|someone)\b|\bbroke up\b|\bbroken up\b|\bcalled off the (?:wedding|engagement)\b|\bno (?:girlfriend|boyfriend|partner)\b",
    ),
    (
        "dating",
        r"\b(?:am|is|started|been|are) (?:dating|seeing) (?:a |an |someone|this|my|[a-z]+)\b|\bin a relationship\b|\bmy (?:girlfriend|boyfriend)\b",
    ),
)
_DIET: Final = (
    ("vegan", r"\bvegan\b|\bplant[- ]based\b"),
    (
        "vegetarian",
        r"\bvegetarian\b|\bveggie\b|\b(?:stopped|quit|gave up|no longer|not|given up|off|without)(?: \w+)? (?:eat(?:s|ing)? )?(?:any )?meat\b|\bmeat[- ]free\b",
    ),
    ("pescatarian", r"\bpescatarian\b"),
    (
        "omnivore",
        r"\b(?:eat(?:s|ing)?|started eating|back to eating|enjoy(?:s|ing)?|having|cook(?:s|ing)?) (?:red )?meat\b|\bomnivore\b|\bmeat[- ]eater\b|\b(?:steak|burgers?|bacon|chicken) again\b|\beat(?:s|ing)? (?:everything|chicken|beef|pork|steak) again\b",
    ),
    ("keto", r"\bketo\b"),
    ("gluten-free", r"\bgluten[- ]free\b|\b(?:stopped|quit|no longer|no|avoid\w*|off|cut out)(?: eating)? gluten\b"),
    ("dairy-free", r"\bdairy[- ]free\b|\b(?:stopped|quit|no longer|no|avoid\w*|off|cut out)(?: eating)? dairy\b"),
)
_AGE: Final = (
    r"\b(?:i am|user is|am|is|turned|turning|just turned|be) (\d{1,3})(?: years old| yrs old| year old|(?=[.,!]|$| now| today| and| next| this| last))(?! (?:minutes|hours|days|kids|pounds|kg|cm|feet))",
    r"\b(\d{1,3})[- ]year[- ]old\b(?! (?:son|daughter|kid|boy|girl|dog|cat|car|house|child))",
    r"\bage(?:d)?(?: is)? (\d{1,3})\b",
    r"\b(?:celebrated|had) (?:my|their|his|her) (\d{1,3})(?:st|nd|rd|th) birthday\b",
)


@dataclass(frozen=True, slots=True)
class SlotPattern:
    """One way to say what a slot holds; group 1 is the value."""

    slot: str
    pattern: re.Pattern[str]


def _compiled(rows: Iterable[tuple[str, str]]) -> tuple[SlotPattern, ...]:
    return tuple(SlotPattern(slot, re.compile(pattern)) for slot, pattern in rows)


_PATTERNS: Final = _compiled(
    [
        ("name", r"\b(?:my|user's) name is ([a-z][a-z' -]{0,30}?)(?=$|[.,;!?]| (?:and|but|by)\b)"),
        ("name", r"\b(?:call me|goes by|go by|known as|i am called) ([a-z][a-z'-]{0,20})\b"),
        (
            "lives_in",
            rf"\b(?:moved|moving|relocated|relocating|move)(?: back)?(?: home)?(?: all the way)?(?: from [a-z' ]+?)? (?:to|into) {_PLACE}",
        ),
        (
            "lives_in",
            rf"\b(?:live|lives|living|reside|resides|residing|settled|based|live now|lives now|now living|staying permanently) (?:in|at|on|near|out in|over in|down in|up in) {_PLACE}",
        ),
        ("lives_in", rf"\b(?:my|user's) (?:home|place|apartment|flat|house|address) is (?:now )?(?:in|at) {_PLACE}"),
        ("from", rf"\b(?:i am|user is|originally|comes|come) (?:originally )?from {_PLACE}"),
        ("from", rf"\b(?:grew up|was born|born|was raised|raised) (?:and raised )?in {_PLACE}"),
        (
            "employer",
            rf"\b(?:work|works|working|worked|employed|interning) (?:now )?(?:at|for|by|with) (?!home\b|night|work|it\b|me\b|them\b|the moment|a living|a while|hours|years|about|over|almost|nearly|my\b|long|free\b|\d){_THING}",
        ),
        (
            "employer",
            rf"\b(?:i am|user is) (?:now |currently )?at ([a-z][\w&.' -]{{1,30}}?(?: (?:inc|corp|ltd|llc|gmbh|labs|bank|university|hospital))?){_END}",
        ),
        (
            "employer",
            rf"\b(?:joined|joining|started at|starting at|hired by|(?:new )?job (?:at|with)|(?:new )?position at|(?:new )?role at|moved over to|employer is) (?!the (?:gym|club|group|league)|a |an ){_THING}",
        ),
        (
            "job",
            rf"\b(?:work|works|working|worked|employed|job|hired|position|role|started|starting|now)(?: [\w&.'-]+){{0,6}}? as (?:a |an |the )([a-z][a-z -]{{2,40}}?){_END}",
        ),
        (
            "job",
            r"\b(?:promoted to|became|become|becoming|got promoted to|title is|job is|profession is) (?:a |an |the )?(?:being |to be )?(?:a |an )?([a-z][a-z -]{2,40}?)"
            + _END,
        ),
        ("job", rf"\b(?:work|works|working) in {_THING}"),
        (
            "study",
            rf"(?<![\w-])(?:study|studies|studying|majoring in|major in|majors in|degree in) (?!guide|group|session|plan|instead)(?:a |an )?([a-z][a-z -]{{2,40}}?){_END}",
        ),
        (
            "aspiration",
            rf"\b(?:want|wants|would love|would like|hope|hopes|dream|dreams|dreaming|aspire|aspires|plan|plans)(?: to grow up)? (?:to|of) (?:be|become|being|becoming) (?:a |an )?([a-z][a-z -]{{2,40}}?){_END}",
        ),
        ("drives", rf"\b(?:drive|drives|driving|drove) {_THING}"),
        ("drives", rf"\b(?:my|user's) (?:new )?car is {_THING}"),
        ("phone", rf"\b(?:my|user's) (?:new )?phone is {_THING}"),
        ("timezone", r"\btime ?zone is (?:now )?([a-z0-9+:/_-]+)"),
        ("birthday", r"\bbirthday is (?:on )?((?:the )?[a-z0-9 ]+?)(?=$|[.,;!?])"),
        ("language", r"\b(?:answer|reply|respond|speak|talk|write)(?: to)?(?: me| user)? (?:always )?in ([a-z]+)\b"),
    ]
)
_FAVOURITE: Final = re.compile(
    rf"\bfavou?rite ([a-z][a-z ]{{1,25}}?) (?:is|are|has to be|would be|used to be|of all time is|right now is|now is) (?:now |definitely |probably )?{_THING}"
)
_FAVOURITE_OF: Final = re.compile(
    rf"^{_THING} (?:is|are) (?:now )?(?:my|user's) (?:new |all[- ]time )?favou?rite ([a-z][a-z ]{{1,25}}?)(?=$|[.,;!?]| now)"
)
_IS_A: Final = re.compile(
    r"\b(?:i am|user is|i was|user was) (?:now |currently |actually |still |just )?(?:a|an) ([a-z][a-z -]{1,40}?)"
    + _END
)


_OTHERS: Final = re.compile(
    r"\b(?:he|she|they|it|who|that|which|his|her|their)(?: (?:also|now|still|just|both|all|currently|recently))? ?$|\b(?:he|she) (?:is|was|has)(?: \w+)? ?$"
)
"""What stands right before a slot that is somebody else's."""


def slots_of(text: str) -> dict[str, str]:
    """The slots a lower-case text without contractions fills."""
    found: dict[str, str] = {}
    for row in _PATTERNS:
        if row.slot not in found and (match := row.pattern.search(text)) and not _OTHERS.search(text[: match.start()]):
            value = _value(match[1])
            if value:
                found[row.slot] = value
    for match in _FAVOURITE.finditer(text):
        found[f"favourite:{_value(match[1])}"] = _value(match[2])
    if match := _FAVOURITE_OF.search(text):
        found[f"favourite:{_value(match[2])}"] = _value(match[1])
    _put(found, "marital", _named(_MARITAL, text))
    _put(found, "diet", _named(_DIET, text))
    _put(found, "age", _age(text))
    _put(found, "job", "" if "job" in found else _occupation(text))
    return _tidied(found)


def _put(found: dict[str, str], slot: str, value: str) -> None:
    if value:
        found[slot] = value


def _named(rows: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for name, pattern in rows if re.search(pattern, text)), "")


def _age(text: str) -> str:
    return next((match[1] for pattern in _AGE if (match := re.search(pattern, text))), "")


def _occupation(text: str) -> str:
    match = _IS_A.search(text)
    if not match:
        return ""
    words = match[1].split()
    known = words[-1] not in _NOT_OCCUPATIONS and words[-1].endswith(_OCCUPATION_ENDINGS)
    return _value(match[1]) if known else ""


def _value(text: str) -> str:
    return " ".join(text.strip(" .'").split())


_SKIPPED: Final = frozenset({"", "it", "that", "this", "there", "here", "them", "home", "me", "a", "an", "the"})


def _tidied(found: dict[str, str]) -> dict[str, str]:
    return {slot: value for slot, value in found.items() if value not in _SKIPPED}


def same_value(one: str, other: str) -> bool:
    """Whether two values of a slot say the same: equal, or one is a fuller form of the other."""
    first, second = ({stem(word) for word in value.split() if len(word) > 1} for value in (one, other))
    return one == other or (bool(first and second) and (first <= second or second <= first))
