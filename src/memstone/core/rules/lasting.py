"""Whether a clause out of a talk still says something to one who reads it alone, a month later.

In a talk the sentences before carry half of the meaning: what was played, which studio, longer than when. What hangs on
them, or is too thin to be told apart from any other day, is left out.
"""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules.definite import TELLING, VAGUE, WORD, after_verb
from memstone.core.rules.verbs import ADVERBS, lemma
from memstone.core.text.lexicon import LIGHT, NEGATIONS, STOP_WORDS

_TALKED_OF: Final = """adventure audience band book books challenges? characters? company competition concert contest convention course crowd details?
dish draft episode event exam experience feelings? film game group guys idea interview journey meal meeting movie mural
novel obstacles? painting part party performance photo picture pieces? place playlist plots? poem presentation problem process
program project prize race recipe scene season series session shoot show situation song spot story studio subway talk
team terrain tournament training trek trip venture venue video win workshop""".split()
_NOTHING_TOLD: Final = (
    r"(?=$|[^\w' ]|,| (?:and|or|but|to|by|from|since|because|so|when|while|as|is|was|are|were|has|had|will|can|mentioned|turned|went|got|who|again|too|lately|yesterday|today|last|this|next|after|before)\b"
    r"| (?:i|we) (?:made|did|had|told|mentioned|showed|shared)\b| (?:in|at|on|near|with) (?!my|our|(?-i:[A-Z])|\d))"
)
_THE_ONE: Final = re.compile(rf"\bthe (?:{'|'.join(_TALKED_OF)})\b{_NOTHING_TOLD}", re.IGNORECASE)
"""Such as "the studio" with nothing to tell which."""

_AT_THE_ONE: Final = re.compile(
    rf",?(?: even)? (?:for|with|at|on|during) the (?:{'|'.join(_TALKED_OF)})(?: (?:again|too|lately))?$", re.IGNORECASE
)

_HANGING: Final = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        (
            "what was before",
            r"\b(?:afterwards?|along the way|at first|back then|since then|ever since$|at the time$|that (?:day|night|time|year)|on the spot|in return|beforehand|by then|the next day|the day after|meanwhile)\b",
        ),
        (
            "more than what",
            (
                r"^(?!.*\bthan\b)(?:i|we)\b.*\b\w+ing (?:a bit |a lot |even |much |way )?(?:more|less|longer|farther|further|faster|harder|bigger)(?: \w+s)?$"
                r"|\b(?:have|had|has|got|getting|gotten|with) (?:lots|so much|a lot|way|even) (?:more|less|better|bigger) \w+"
            ),
        ),
        (
            "what was done",
            (
                r"^(?:i|we)(?: (?:am|are|was|were|have|had|did|will|can|just|even|also|already|finally|still|only|always|not|been|recently))* (?:(?:keep|kept|started|began|stopped|continued) )?"
                r"(?:plays?|played|playing|wins?|won|winning|did|doing|done|finish|finished|finishing|completed?|tried|trying|bought|buying|made|making|used|using|found|finding|beat|passed|failed|performed|performing|competed)"
                r"(?: (?:for (?:about |over |almost |nearly )?(?:\w+|\d+) (?:days?|weeks?|months?|years?|hours?)|since|through|all|every|hard|well|alright|all right|ok|okay|great|good|again|yesterday|last|today|tonight|until|before|after|when|while|now|together|this|a lot(?! of)|too|so|and then)\b.*)?$"
            ),
        ),
        (
            "with whom",
            r"^we\b(?!.*\bwith (?!it|that|this)).*(?<!put)(?<!ting)(?<!get)(?<!got)(?<!come)(?<!came)(?<!bring) together\b",
        ),
        (
            "which place",
            r"\b(?:went to|been to|found|visited|saw|discovered|came across) (?:a|an|this|some) (?:\w+ )?(?:place|spot|thing)s?\b(?! (?:called|named|for (?!that|this)))",
        ),
        (
            "when",
            r"^(?:i|we) will be \w+ing\b(?!.*\b(?:next|tomorrow|tonight|on|in (?:\d|a |the |two|(?-i:[A-Z]\w*))|this|at|from|until|starting|soon|\d+)\b)",
        ),
        (
            "first of what",
            r"^(?:i|we) (?:just )?had (?:my|our|the) (?:first|second|third|last|next) (?!child|baby|kid|son|daughter|date|job|car|surgery|heart)[\w-]+(?: (?:last|this|on|yesterday|today)\b(?: \w+)?)?$",
        ),
        ("to what", r"\ballergic$|\b(?:similar|related|the same|different|like (?:that|this))$"),
        (
            "what is shown",
            r"^(?:i|we)(?: (?:just|also|even|have|had))* (?:got|have|snapped|found) (?:a|an|some|the|another|plenty of|lots of) (?:\w+ ){0,2}(?:pics?|pictures?|photos?|shots?|snaps?)(?=$|[^\w ]| (?:of|from|with|at|in|on|when|that|i|we)\b)",
        ),
        ("exclaimed", r"\bso many\b|\bhow (?:much|far|many)\b"),
        (
            "a saying",
            r"\bdreams? (?:is |are |has |have )?com(?:e|es|ing) true\b|\b(?:get|got|getting) (?:my|our) \w+ on\b|\b(?:deep|lost) in thought\b|\boff to an? \w+ start\b|\bliving my (?:true|best)\b|\bhard work\b|\bput(?:ting)? (?:in )?(?:a lot of|lots of|so much|a ton of) (?:work|effort|time)\b|\baddition to (?:the|my|our) family\b|\btake control of\b|\b(?:take|taking|took) (?:the|some|my) time to\b|\b(?:crossing|cross|crossed) my fingers\b|\bscared to death\b|\bwhat (?:people|others|everyone) (?:would |will |might )?thinks?\b|^(?:my|our)\b.*\b(?:had|having|have) (?:a lot of |so much |lots of |such )?(?:fun|a (?:blast|great time|good time))\b|\b(?:to choose from|to share|to offer)$",
        ),
    )
)
_LIKED_ONCE: Final = re.compile(
    r"^(?:i|we) (?:\w+ly |just |also |even )*(?:loved|liked|enjoyed|hated)\b", re.IGNORECASE
)
_WHEN: Final = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last (?!time|one)\w+|next (?!step|move|level|one)\w+|recently|lately|this (?:week|weekend|month|year|morning|summer|spring|fall|autumn|winter|semester|season)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:january|february|march|april|may|june|july|august|september|october|november|december|\d{4})|(?:as|since|when) (?:a|i was) ?(?:kid|child|boy|girl|young\w*|little|teen\w*|\d+)?|(?:19|20)\d\d|for the first time|(?:first|second|third) time)\b",
    re.IGNORECASE,
)
_GENERIC: Final = frozenset(
    """article articles assistance ask asked asking book books brand brands class classes classic competition compliments
    contest cooking dinner dish documentary draft episode equipment exercise film films food furniture game games gear item items job
    lesson lessons magazine match meal media movie movies music news notes novel novels nice overall painting paintings
    performance piece pieces poem presentation project projects question questions recipe recipes scene series show shows
    song songs spot surge tale talk talked talking task team teams test tour trip trips trophy tune video videos website wonderful yummy tasty
    facing face faced plans plan down up out over back hey creative choose compliment super fun afternoon evening morning
    against another around near across toward towards along behind beside between within besides despite looks feels comp stunning gorgeous popular main real goods product products fashion-wise own bits parts""".split()
)
"""Nouns that need a name or a closer word beside them, and words beside which nothing is said."""

_NEEDS_MORE: Final = {
    verb: needed
    for needed, verbs in (
        (2, "go make take see give try play watch do read write find pick choose put hang"),
        (3, "have get add talk use tell keep bring"),
        (5, "wear"),
    )
    for verb in verbs.split()
}
"""How much has to stand beside a verb that says little by itself."""


_PASSING: Final = re.compile(r"^(?:i|we) (?:\w+ )?(?:(?:had|got)\b.*\bteam\b|wore\b)", re.IGNORECASE)
"""What was met or worn once, though a team or a dress may be one's own."""

_NAMED: Final = 3
_SELF_EVIDENT: Final = frozenset("work home family health identity".split())
_ENOUGH_ALONE: Final = re.compile(
    r"^(?:i|we)(?: \w+)? (?:graduated|retired|resigned|divorced|got married|got engaged|(?:do not|never|used to|no longer) \w+$)",
    re.IGNORECASE,
)
_STEP: Final = re.compile(
    r"^(?:i|we)(?: (?:have|had|just|finally|recently|also|even|officially))* (?:joined|signed with|launched|opened|published|quit|left|adopted|started on)\b",
    re.IGNORECASE,
)
"""Such as "I signed with a small label": a step in a life, whatever is told beside it."""

_STANDING: Final = re.compile(
    r"\b(?:every|each|\w+days|(?:a|per) (?:day|week|month|year)|daily|weekly|recipes|books|movies|films|games|songs|articles|lessons|classes|cooking|music|paintings|projects)\b",
    re.IGNORECASE,
)
"""What is done again and again, or with many things of a kind, need not be named."""


def lasts(said: str, category: str) -> bool:
    """Whether a first-person clause of a talk can be kept."""
    return not hangs_on_talk(said) and not is_thin(said, category)


_LOOSE_END: Final = re.compile(
    r" (?:to|and) (?:just )?(?:remind|show|tell|help|let|make|give|inspire) (?:myself|ourselves|me|us|people|others|everyone)$",
    re.IGNORECASE,
)


def without_the_one(said: str) -> str:
    """Such as "I am the goalkeeper of the team" without the team nobody knows, and without a purpose cut short."""
    return _LOOSE_END.sub("", _AT_THE_ONE.sub("", said))


def hangs_on_talk(said: str) -> str:
    """What a clause leaves to the sentences before it; '' when it stands alone."""
    if _THE_ONE.search(said):
        return "which one"
    return next((name for name, pattern in _HANGING if pattern.search(said)), "")


def is_thin(said: str, category: str) -> bool:
    """Whether what is told could be anybody's: no name, no time, no word that tells it apart."""
    when = bool(_WHEN.search(said))
    weight = _weight(after_verb(_WHEN.sub(" ", said)))
    if category == "preference":
        return bool(_LIKED_ONCE.match(said)) and not when and weight < _NAMED
    is_done = category in ("event", "decision") or bool(_PASSING.match(said))
    if weight == 0 and not _ENOUGH_ALONE.match(said) and category not in _SELF_EVIDENT:
        return not _STEP.match(said) if is_done else not _STANDING.search(said)
    return is_done and weight + when < _NEEDS_MORE.get(_main_verb(said), 1)


def _main_verb(said: str) -> str:
    rest = after_verb(said).split()[1:]
    words = said.split()
    return lemma(words[len(words) - len(rest) - 1].lower().strip(",")) if len(rest) < len(words) else ""


_COUNTS: Final = frozenset("two three four five six seven eight nine ten eleven twelve dozen hundred".split())


def _weight(said: str) -> int:
    """How many different words tell something; a name or a number counts for three."""
    weight = 0
    seen: set[str] = set()
    for at, word in enumerate(WORD.findall(said)):
        lowered = word.lower().removesuffix("'s")
        if lowered in seen or lowered in _SILENT or (lowered.endswith("ly") and lowered not in TELLING):
            continue
        seen.add(lowered)
        weight += _NAMED if at and (word[0].isupper() or word[0].isdigit() or lowered in _COUNTS) else 1
    return weight


_SILENT: Final = (STOP_WORDS | ADVERBS | NEGATIONS | VAGUE | (LIGHT - TELLING) | _GENERIC) - {"people"}
