"""Whether a clause says something definite by itself: nothing hangs on what was said elsewhere, and it is not empty."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from memstone.core.rules.verbs import ADVERBS, is_verb
from memstone.core.text.lexicon import KIN, LIGHT, MEN, NEGATIONS, PETS, STOP_WORDS, WOMEN

WORD: Final = re.compile(r"[A-Za-z][\w'&/-]*|\d[\d.,:/]*")
_PRONOUNS: Final = frozenset("it they them its their theirs itself themselves".split())
_PEOPLE: Final = frozenset("he him she her his hers himself herself".split())
_POINTERS: Final = re.compile(
    r"\b(?:it|they|them|he|him|she|her|hers|its|their|theirs|his|itself|themselves|this|that|these|those|there|here|one|ones"
    r"|others|such|same|both|another|either|neither|any|some|latter|former)\b",
    re.IGNORECASE,
)
_BEINGS: Final = (
    KIN | PETS | frozenset("man woman guy girl boy person lady actor author player singer tortoise".split())
)
_OWNING: Final = frozenset("my our the both two three".split())
_TIMES: Final = frozenset(
    """week weekend month year morning evening afternoon night summer winter spring fall autumn time season monday tuesday
    wednesday thursday friday saturday sunday christmas january february march april may june july august september
    october november december semester term quarter past coming upcoming last""".split()
)
_DETERMINERS: Final = frozenset("a an the my our some any no each every this that another new old own".split())
_CLAUSE_STARTS: Final = frozenset("i we he she they it you the my our a an there his her their".split())
_ENDS_EMPTY: Final = re.compile(
    r"(?<!/)\b(?:it|them|that|this|those|these|there|here|him|the one|this one|that one|ones|others|the same|this way|that way|as well as|do|did|be|try)$",
    re.IGNORECASE,
)
VAGUE: Final = frozenset(
    """goal goals dream dreams passion passions journey challenge challenges progress idea ideas moment moments vibe vibes
    energy thing things stuff something everything anything memories memory feeling feelings difference change changes
    growth step steps path way support love joy fun happiness peace hope strength motivation inspiration impact focus
    blast break chance opportunity opportunities luck mind heart soul life lives world future past world people others
    someone everyone folks guys crowd reason reasons result results effort efforts hard tough easy busy crazy amazing
    awesome cool nice lovely wonderful beautiful special important close positive inspired inspiring motivated
    motivating rewarding fulfilling exciting excited happy glad proud grateful thankful big bigger best better lot lots ton
    bunch couple few kind sort type deal stuff place places lately recently today right together forward possible push
    pushing keep keeping chase chasing pursue pursuing achieve achieving reach reaching stay staying share sharing grow
    growing learn learning explore exploring connect connecting experience experiences adventure adventures track page
    shot try work working story stories words advice tips perspective perspectives situation situations skill skills
    funny collection talents flowing away fair share research building finding bonding communication twice leads affect strategies physical deep thought addition challenging unknown intense copy piece event events cause awareness funds grinding ahead determined hand wild top milestone encouraging supportive bond usual destination shape input
    knowledge info information picture pictures pic pics photo photos snap shot enough ready part whole able real really
    spark boost rush ride edge vision direction purpose creativity confidence courage power spirit comfort calm relief
    stress pressure struggle struggles obstacle obstacles setback setbacks hurdle hurdles bump success win wins victory
    moving going getting coming making doing trying looking thinking talking helping let lets need needs see saw seen say tell
    talk chat catch meet feel felt bring brings brought give gives gave spend spending enjoy enjoying appreciate favorite favourite
    loved ones beauty nature's view views sense wow super pretty bit little ever always incredible unique different
    certain various several many tons loads plenty possibilities potential aspects level great good fresh new old long""".split()
)
"""Words that leave open what is meant."""


_NOT_ANCHORS: Final = (STOP_WORDS | NEGATIONS | ADVERBS | VAGUE | frozenset("fan hand rid happen".split())) - {
    "people",
    "pictures",
    "photos",
    "story",
    "stories",
    "skills",
}


_JOINTS: Final = re.compile(
    r"(?:,|;| -+|\.\.\.|…)? (?:and|but|so|because|since|as|which|when|while|where|though|or|even if|if) |, | -+ |- |; |\.\.\. ?|… ?"
)


def definite_part(said: str) -> str:
    """The clause as far as it stands by itself: "I study in Uppsala and nobody told me that" ends before "and"."""
    if not unresolved(said):
        return said
    cuts = [found.start() for found in _JOINTS.finditer(said)]
    for cut in reversed(cuts):
        head = said[:cut].rstrip(" ,;:-.")
        if len(head.split()) >= 3 and not unresolved(head):
            return head
    return ""


_NEWLY_TOLD: Final = re.compile(
    r"\b(made|make|makes|baked|cooked|painted|drew|built|wrote|bought|got|found|adopted|met|saw|discovered|visited|attended|ran into|came across|signed up for|went to|joined|won|received|designed|created) this (?!one\b)([\w-]+)(?= ([\w-]+)|)",
    re.IGNORECASE,
)


def newly_told(said: str) -> str:
    """Such as "I met this nice couple": "this" brings up something new, so that "a" says the same."""
    return _NEWLY_TOLD.sub(_as_new, said, count=1)


def _as_new(found: re.Match[str]) -> str:
    word = found[2].lower()
    if word in _TIMES or word in STOP_WORDS or word in ADVERBS - {"really"} or word.endswith("s"):
        return found[0]
    if word in VAGUE and (not found[3] or found[3].lower() in STOP_WORDS):
        return found[0]
    return f"{found[1]} {'an' if word[0] in 'aeiou' else 'a'} {found[2]}"


def unresolved(said: str) -> bool:
    """Whether a first-person clause hangs on something said elsewhere ("I enjoy seeing them")."""
    if _ENDS_EMPTY.search(said[-16:]):
        return True
    if not _POINTERS.search(said):
        return False
    words = WORD.findall(said)
    anchors = 0
    for at in range(len(words)):
        if at and _hangs(words, at, anchors):
            return True
        anchors += _is_anchor(words, at)
    return False


def _hangs(words: list[str], at: int, anchors: int) -> bool:
    """Whether the word at a place points at something that stands nowhere before it."""
    word, previous = words[at].lower(), words[at - 1].lower()
    after = words[at + 1].lower() if at + 1 < len(words) else ""
    if word in _PEOPLE:
        others = MEN if word.startswith(("she", "her")) else WOMEN
        return not any(_is_somebody(words, before) and words[before].lower() not in others for before in range(at))
    if word in _PRONOUNS:
        return not anchors or (previous == "of" and anchors == 1)
    if word in ("that", "there"):
        return _that_hangs(words, at, after) if word == "that" else _there_hangs(words, at, after)
    if word in ("one", "ones"):
        return previous in _BEFORE_ONE or not after or (after in STOP_WORDS and after != "of")
    return word in _FOLLOWED and not _FOLLOWED[word](after)


_BEFORE_ONE: Final = _DETERMINERS | {"first", "last", "which"}
_FOLLOWED: Final[dict[str, Callable[[str], bool]]] = {
    "this": lambda after: after in _TIMES,
    "these": lambda after: after in _TIMES or after == "days",
    "those": lambda after: after in ("who", "with", "in", "that", "of", "without", "affected"),
    "such": lambda after: after in ("a", "an", "as"),
    "some": lambda after: bool(after) and (after not in STOP_WORDS or after in ("of", "more", "other")),
    "another": lambda after: bool(after) and after not in STOP_WORDS,
    "any": bool,
    "both": bool,
    "here": lambda _: False,
    "others": lambda _: False,
    "latter": lambda _: False,
    "former": lambda _: False,
}
"""Words that point, and whether what follows them says at what."""


def _that_hangs(words: list[str], at: int, after: str) -> bool:
    before = words[at - 1].lower()
    joins = is_verb(before) and after in _CLAUSE_STARTS
    return not (_is_anchor(words, at - 1) or joins or before in ("so", "now"))


_SOME_PLACE: Final = re.compile(r"\b(?:to|in|at|from|near) (?:the |a |an |my |our )?[A-Z]\w+")


def _there_hangs(words: list[str], at: int, after: str) -> bool:
    return after not in ("is", "are", "was", "were") and not _SOME_PLACE.search(" ".join(words[1:at]))


def _is_somebody(words: list[str], at: int) -> bool:
    word = words[at].removesuffix("'s")
    return word.lower() in _BEINGS or (at > 0 and word[0].isupper() and word != "I" and not word.isupper())


def _is_anchor(words: list[str], at: int) -> bool:
    """Whether a word can be what a later pronoun stands for: a name, or a noun as far as can be told."""
    word = words[at]
    lowered = word.lower()
    if at <= (0 if words[0].lower() in _OWNING else 1) or lowered in _NOT_ANCHORS:
        return False
    if word[0].isupper() or word[0].isdigit():
        return True
    before = words[at - 1].lower()
    return before in _DETERMINERS if is_verb(lowered) else before != "to"


_NOUNS_IN_LY: Final = frozenset("family italy july jelly butterfly fly assembly monopoly supply".split())
_EMPTY: Final = STOP_WORDS | ADVERBS | NEGATIONS


def specific(said: str) -> int:
    """How many different words of a clause say something particular; a name or a number counts twice."""
    count = 0
    seen: set[str] = set()
    words = WORD.findall(said)
    for at, word in enumerate(words):
        lowered = word.lower().removesuffix("'s")
        if lowered in seen or lowered in _EMPTY or (lowered.endswith("ly") and lowered not in _NOUNS_IN_LY):
            continue
        seen.add(lowered)
        if at and (word[0].isupper() or word[0].isdigit()):
            count += 2
        elif lowered not in VAGUE and (lowered not in LIGHT or lowered in TELLING):
            count += 1
    return count


_HELPERS: Final = frozenset(
    "i we am are was were have had do did can will would be been going used want wants to".split()
)


def after_verb(said: str) -> str:
    """What follows the main verb of a first-person clause."""
    words = said.split()
    at = 0
    while at < len(words) - 1 and (
        words[at].lower() in _HELPERS or words[at].lower() in ADVERBS or words[at].lower() in NEGATIONS
    ):
        at += 1
    is_main = is_verb(words[at].lower()) or words[at].endswith(("ing", "ed"))
    return "the " + " ".join(words[at + 1 :] if is_main else words[at:])


TELLING: Final = frozenset(
    "friend friends family club class course workshop group community online local reading writing".split()
)
"""Light words that still say something about somebody."""
