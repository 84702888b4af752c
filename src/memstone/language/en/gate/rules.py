"""The rules of the gate, in order: the first that applies decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Final, TypeAlias

from memstone.language.en.entities import rephrase_as_speaker
from memstone.language.en.gate import phrases
from memstone.language.en.gate.people import FIRST_NAMES, known_name, private_person
from memstone.language.en.gate.phrases import (
    DAY,
    PAST_FORMS,
    OwnWords,
    any_of,
    is_anybodys,
    is_everybodys,
    is_general,
    is_of_the_world,
    is_puzzle,
    is_technical,
    is_technical_how_to,
    is_trouble,
    own_words_of,
)
from memstone.language.en.gate.words import (
    CALENDAR,
    FAMOUS,
    HUMAN_VERBS,
    KIN,
    LEISURE,
    PERSONAL_VERBS,
    PLACES_AND_BRANDS,
    PRIVATE_NOUNS,
    PRIVATE_THINGS,
    PUBLIC_WORDS,
    TECH,
    TECH_WEAK,
    join_alternatives,
)
from memstone.language.lists import read_data
from memstone.language.models import FOLDER
from memstone.model.context_gate import ASKS_HOW_IT_WENT, DEPENDS_ON_WHO_ASKS, GateDecision, Route

# --- questions whose answer depends on who asks, although nothing in them mentions memory ----------------------------


_DECIDE: Final = join_alternatives(PERSONAL_VERBS)
_LEISURE: Final = join_alternatives(LEISURE)

ABOUT_USER: Final = any_of(
    r"\b(?:did|have|had|was) i\b(?! (?:just |even )?(?:do|spell|write|get|go|use|used|make|miss|done|pronounce)\b.{0,40}"
    r"\b(?:right|wrong|correct\w*|here|properly)\b)",
    r"\b(?:what|which|who|where|why|when)\b(?:(?!\bhow\b).){0,50}\bdo i (?!need|have to|do|say|write|call|pronounce|use (?:a|an|the|to|for)\b|put|start with|mean|find|get\b|apply|file|report|click)",
    r"\bhow many\b.{0,40}\bcan i\b|\bmust i\b|\b(?:what|which|who|where|why|when|that|if) (?:\w+ ){0,3}i (?:never|always|usually|often|normally)\b",
    r"(?<!how )\bdo i (?:usually|normally|always|still|already|ever|often|even|actually|currently|typically|generally|own|like|prefer|take|go|owe|know|weigh|drink"
    r"|eat|work|live|pay|keep|park|train|speak|play|spend|love|hate|enjoy|wear|have(?! to)|see|start|finish|leave|meet|fly|teach|get up|get paid|catch)\b",
    r"\bhow (?:often|many|much|far)\b.{0,40}\bdo i\b(?! (?:need|have to|want))",
    r"\bam i\b(?! (?:right\b|wrong\b|correct\b|allowed|able|missing|doing|being|supposed|reading|understanding|crazy|going to|dreaming"
    r"|talking|to |the only|stupid|dumb|speaking|chatting|hearing|ahead))",
    r"\b(?:what|which|how many)\b.{0,30}\bcan i (?:speak|play|sing|cook|dance|lift|bake)\b|\bshould i be \w+ing\b",
    r"\b(?:what|which|who|why)\b.{0,30}\b(?:do|does|makes?|gets?|keeps?|fits?|bothers?|suits?) (?:me|how i)\b",
    r"(?<!wie )\b(?:war|habe?|soll|sollte|hatte|nehme|mag) ich\b|\b(?:stasera|heute abend|esta noche|ce soir)\b|\bqu\u00e9 (?:me|te) \w+(?:aste|iste)\b",
    r"\b(?:would|will) i (?:like|enjoy|prefer|need|fit|have|get along|make it|be (?:able|free|home|back|happy|done|ok|there|in))\b",
    r"\b(?:can|could) i (?:afford|still|fit|manage|squeeze|make it|spend)\b|\bi am (?:allergic|free|due|booked|signed up)\b.{0,80}\?",
    r"\b(?:what|which|who|where|whether|if|how) (?:\w+ )?i (?:usually|normally|always|still|like|love|prefer|hate|need to do|have planned)\b",
)
"""What the user does, did, has, is or likes."""

ABOUT_USER_WORDS: Final = frozenset("i me ich stasera abend noche soir qu\u00e9".split())

DECISION: Final = any_of(
    rf"\b(?:what|which|where|who|when|whom)\b(?! (?:temperature|heat|angle|setting|percentage|ratio|age|dose|oven)).{{0,60}}?\b(?:should|shall|could|might) (?:i|we) "
    rf"(?:\w+ly |still |also |maybe |even |go and |go )?(?:{_DECIDE})\b(?! (?:if|when|in case|about an?|after an?|with an?)\b)",
    r"\bwhat (?:\w+ )?(?:can|could) (?:i|we) (?:eat|cook|wear|get|make for|make with|bring|give|watch|take for|have|drink|do (?:tonight|this|on|for))\b",
    r"\bwhat (?:i|we) can (?:eat|have|drink|take|wear|cook|afford)\b|\bcan (?:i|we) (?:have|eat|drink|take) (?:the|that|this|it)\b",
    rf"\b(?:should|shall) (?:i|we) (?:\w+ly |really |rather |just |still )?(?:{_DECIDE})\b(?! (?:if|when|in case|a lot|about an?|after an?|with an?)\b)",
    r"(?<!how )(?<!why )\bdo we (?:have (?:enough|any|a)|still|own|usually|need (?:more|to|another)|know anyone|pay|owe)\b|\bwhose (?:turn|go)\b",
    r"\b(?:what|which|where|how much) i (?:earn|eat|own|need|have|pay|weigh|wear|spend|owe|do for)\b|\bif you were me\b",
    r"\bhow (?:should|could|can|shall|do) (?:i|we) (?:best )?(?:spend|celebrate|reply|answer|respond|tell (?!if|whether|the difference|apart|when|what|how|a\b|an\b)|approach|surprise|thank"
    r"|handle|prepare for|break (?:it|the)|explain to)\b",
    r"\b(?:right|good|best|better|suitable|enough|ok|okay|safe|fit|ideal|perfect|work|works|suit|suits|pick|choose|find|plan"
    r"|suggest|healthy|worth|easy|hard|much|late|early) .{0,30}?\bfor (?:me|us)\b|\b(?:suit|suits|fit|fits) (?:me|us)\b",
    r"\bhelp (?:me|us) (?:\w+ )?(?:decide|choose|pick|plan|answer|reply|respond|prepare|prep|prioriti|organi|pack|word|tell"
    r"|figure out (?:what|which|where|if)|settle|get ready|budget|schedule|draft|write (?:to|back))",
    r"\b(?:find|get|pick|book|choose|plan|name) (?:me|us) (?:a|an|some|something)\b|\bfor me to\b",
    r"^(?:so |and |ok )?(?:what|which|who|where|when|why|is|are|would|will|does|do|has|was)\b.{3,80}\b(?:for|to|with) (?:me|us)\b(?!.* explain\b)",
    r"\b(?:get|gets|getting|take|takes|took|cost|costs|told|gave|sent|lent|owes?|owed|prescribed|promised|offered|advised|invited"
    r"|asked|called|texted|emailed|bothers?|annoys?|hurts?|helped|have|had|stop|stops|(?<!you )like|from|by|without|than|near) (?:me|us)\b",
)
"""What only the user can decide, or what happens to the user."""

DECISION_WORDS: Final = frozenset("i me we us whose".split())

TASTE: Final = any_of(
    r"\brec+om+end(?:s|ations?|ing)?\b|\bfill (?:in|out)\b|\bany (?:ideas|tips|suggestions|recs|recommendations)\b|\bwhat (?:do|would) you (?:suggest|think i)\b",
    rf"\bsuggest (?:me |us )?(?:a|an|some|something|two|three|few)\b.{{0,30}}\b(?:{_LEISURE})\b|\bin the mood for\b|\bi fancy\b|\bi am craving\b",
    r"\bsomething (?:[\w-]+ ){0,4}?to (?:read|watch|cook|eat|do|play|wear|listen|drink|make|bake|learn|give|bring)\b",
    r"\bwhat to (?:cook|wear|watch|eat|read|do (?:today|tonight|tomorrow|this|on|with|in)|bring|pack|get|give|buy|order|make for)\b",
    r"\bwhat is for (?:lunch|dinner|breakfast|supper|tea|dessert)\b|\bwhat is (?:on|up|planned|next) (?:today|tonight|tomorrow|this|next|for)\b",
    rf"\b(?:{_LEISURE}) (?:idea|ideas|spot|spots|tip|tips|suggestions?|inspiration|options?|recs?|place|places)\b",
    rf"\b(?:ideas|tips|suggestions|inspiration|options|plans?) for (?:\w+ ){{0,3}}?(?:{_LEISURE}|tonight|tomorrow|today|{DAY})\b",
    rf"\b(?:need|looking for|could use|want|give me|find) (?:a|an|some|something|another) (?:[\w-]+ ){{0,2}}?(?:{_LEISURE})\b(?! (?:of|in) )",
    rf"\b(?:good|nice|new|quick|cheap|decent|best) (?:{_LEISURE}) (?:for (?!a\b)|near|around|nearby|tonight|tomorrow|this)",
    r"\b(?:gift|present|gifts|presents|card|flowers) (?:[\w-]+ ){0,5}for\b|\b(?:weekend|dinner|lunch|evening|holiday|birthday) plans?\b",
    rf"^\W*(?:(?:ok|so|and|got|any|a|an|some|another|new|next|good|nice|quick) ){{1,4}}(?:[\w-]+ )?(?:{_LEISURE})\b.{{0,80}}(?:\?|for (?!a\b))",
    rf"^\W*(?:ok |so |please |can you |could you ){{0,3}}(?:plan|pick|choose|suggest|find|book) (?:a|an|some|the|another) (?:[\w-]+ ){{0,3}}?(?:{_LEISURE})\b",
    r"\b(?:plan|make|build|create|compose|draft|write|put together|set up) (?:me )?an? (?!generic)(?:[\w-]+ ){0,3}?(?:packing list|shopping list|meal plan"
    r"|workout|training plan|itinerary|routine|week of|birthday card|toast|cover letter|cv|bio|schedule for|gift list|thank-you)\b",
    r"\b(?:what|which) (?:[\w-]+ )?next\b\W*$|\bwhere (?:to )?next\b",
)
"""What is chosen by taste and circumstances."""

TASTE_WORDS: Final = LEISURE | frozenset(
    """recommend recommends recommendation recommendations recommending recomend reccomend reccommend fill any suggest mood
    fancy craving something what ideas tips suggestions inspiration options plan plans card flowers plan make build create
    compose draft write put set next where""".split()
)

AT_HOME: Final = any_of(
    r"\b(?:get|drive|walk|bike|cycle|bus|train|tram|way|back|head|heading|time) (?:back )?(?:home|to work|to the office|to school)\b",
    r"\b(?:from|near|after|before|close to|around) (?:home|work|the office)\b|\b(?:around|near) here\b|\bnear me\b|\bhome from\b|\bcommute\b",
    rf"\b(?:mum|mom|dad|grandma|grandpa|granny|nana|auntie|oma|opa)(?:'s)?\b|\b(?:{join_alternatives(KIN)})'s (?:birthday|address|number|name|party|gift|present)\b",
    r"\b(?:recycling|waste|rubbish|trash|bins?)\b.{0,30}\b(?:today|tomorrow|tonight|this week|day|out|\w+day)\b|\bdue (?:today|tomorrow|this|next|on|again)\b",
    r"\bon the (?:agenda|calendar|schedule)\b|\bwhen is (?:the|that) (?:next )?\w+ (?:due|again)\b",
    r"\b(?:add|put|cross|remove|take|tick|strike)\b.{1,60}\b(?:to|on|off|from|onto) the (?:\w+ ){0,3}list\b|\bread me the (?:\w+ )?list\b",
)
"""Home, family, and what is due there."""

ASKS: Final = re.compile(
    r"\?|(?:^|[,.;!:] )(?:so |ok |okay |and |but |hey |hi |well |um |please |also |btw |alright |right |oh |now |then |actually ){0,3}"
    r"(?:what|who|whom|whose|when|where|why|how|which|do|does|did|is|are|am|was|were|can|could|would|will|should|shall|have|has|had|any|give|tell|show|list|find|help|remind"
    r"|plan|draft|write|make|read|add|put|set|go|let|update|prepare|prep|pull|check|look|compare|compose|suggest|recommend|name|pick|choose|need|ideas|book|open|send|text|email"
    r"|call|message|reply|continue|finish|summari[sz]e|recap|print|use|run|draw|sort|order|fill|log|track|schedule)\b"
)


# --- the rules of the gate, in the order in which they are tried ------------------------------------------------------


_ENOUGH: Final = 1.0
"""Evidence that opens the gate by itself."""

_REFUTED: Final = -2.0
"""Evidence against which a pattern alone does not stand."""

_Rule: TypeAlias = Callable[[OwnWords, Collection[str]], GateDecision | None]


def first_match(message: str, names: Collection[str]) -> GateDecision:
    """Return what the first rule that applies says about a message."""
    words = own_words_of(message)
    if phrases.THIS_TURN.search(words.low):
        return GateDecision(Route.NONE, "is about the answer just given")
    decisions = (rule(words, names) for rule in _RULES)
    found = next((one for one in decisions if one), GateDecision(Route.NONE, "nothing in it refers to memory"))
    # How something went is in what was said then, and seldom in a fact.
    went = found.route is Route.PINNED and phrases.OUTCOME.search(words.low)
    return replace(found, route=Route.EPISODE) if went else found


def may_ask_for_words(message: str) -> bool:
    """Return whether a message may ask for the very words somebody said; cheap, and most do not."""
    words = own_words_of(message)
    return not phrases.TRANSCRIPT_WORDS.isdisjoint(words.words) or not words.low.isascii()


def asks_for_words(message: str, names: Collection[str]) -> GateDecision | None:
    """Return a decision for a message that asks for the very words of the user or somebody named; None for others."""
    return _match_transcript(own_words_of(message), names)


def _search_pattern(pattern: re.Pattern[str], words: frozenset[str], own_words: OwnWords) -> re.Match[str] | None:
    """Search only where one of the words occurs that the pattern takes; scripts without blanks are always searched."""
    if words.isdisjoint(own_words.words) and own_words.low.isascii():
        return None
    return pattern.search(own_words.low)


def _match_identity(words: OwnWords, _: Collection[str]) -> GateDecision | None:
    found = _search_pattern(phrases.IDENTITY, phrases.IDENTITY_WORDS, words)
    return GateDecision(Route.IDENTITY, "asks who the user is", found[0], asks_memory=True) if found else None


def _match_transcript(words: OwnWords, names: Collection[str]) -> GateDecision | None:
    found = _search_pattern(phrases.TRANSCRIPT, phrases.TRANSCRIPT_WORDS, words)
    of_whom = found[0] if found else _whose_words(words, names)
    return GateDecision(Route.TRANSCRIPT, "asks for the very words", of_whom, asks_memory=True) if of_whom else None


def _whose_words(words: OwnWords, names: Collection[str]) -> str:
    """Return the known name whose very words are asked for, as one asks for one's own; '' when there is none."""
    if phrases.TRANSCRIPT_WORDS.isdisjoint(words.words):
        return ""
    put = rephrase_as_speaker(" ".join(words.text.split()), {name.strip().lower() for name in names if name.strip()})
    return put.named[-1] if phrases.TRANSCRIPT.search(put.text.lower()) else ""


def _match_outcome_question(words: OwnWords, _: Collection[str]) -> GateDecision | None:
    found = phrases.WENT.match(words.low)
    return GateDecision(Route.EPISODE, ASKS_HOW_IT_WENT, found[0], asks_memory=True) if found else None


def _match_earlier_talk(words: OwnWords, _: Collection[str]) -> GateDecision | None:
    if is_general(words) or is_puzzle(words) or is_technical_how_to(words):
        return None
    found = _search_pattern(phrases.PRIOR, phrases.PRIOR_WORDS, words)
    if found and not phrases.NOT_RECALL.search(words.low):
        return GateDecision(Route.EPISODE, "refers to earlier talk", found[0], asks_memory=True)
    when = _search_pattern(phrases.CLOCK, phrases.CLOCK_WORDS, words) or phrases.DATE.search(words.low)
    if when:
        return GateDecision(Route.EPISODE, "names a time", when[0])
    when = phrases.LOOSE_CLOCK.search(words.low)
    if when is None:
        return None
    # "When did WW2 end?" asks about the world: beside the time there must be something that is somebody's.
    rest = words.low.replace("when did ", "", 1)
    if phrases.HAPPENED.search(rest) or not phrases.OPENS_QUESTION.match(words.low):
        return GateDecision(Route.EPISODE, "names a time", when[0])
    return None


def _match_known_name(words: OwnWords, names: Collection[str]) -> GateDecision | None:
    name = known_name(words, names)
    if name and is_everybodys(name) and _asks_the_world(words, name):
        name = known_name(words, [one for one in names if not is_everybodys(one)])
    return GateDecision(Route.PINNED, "mentions something known", name) if name else None


def _asks_the_world(words: OwnWords, name: str) -> bool:
    """Return whether a question that names what everybody knows is about that.

    Who lives in Paris may ask how old it is.
    """
    alone = words.low.strip(" .!?") == name.casefold()
    if alone or phrases.OWN_CHOICE.search(words.low):
        return False
    return is_of_the_world(words) and not _search_pattern(TASTE, TASTE_WORDS, words)


def _match_recall(words: OwnWords, _: Collection[str]) -> GateDecision | None:
    found = _search_pattern(phrases.RECALL, phrases.RECALL_WORDS, words)
    if not found or phrases.NOT_RECALL.search(words.low):
        return None
    return GateDecision(Route.PINNED, "asks to remember", found[0], asks_memory=True)


def _match_possessive(words: OwnWords, _: Collection[str]) -> GateDecision | None:
    found = _search_pattern(phrases.POSSESSIVE, phrases.POSSESSIVE_WORDS, words)
    if not found or is_puzzle(words) or (is_trouble(words) and "our" not in words.words):
        return None
    return GateDecision(Route.PINNED, "speaks of something of the user's", found[0])


def _match_implied_need(words: OwnWords, _: Collection[str]) -> GateDecision | None:
    if is_puzzle(words) or not words.words:
        return None
    found = _search_pattern(ABOUT_USER, ABOUT_USER_WORDS, words)
    if found:
        return GateDecision(Route.PINNED, "asks about the user", found[0], asks_memory=True)
    return None if is_technical(words) else _match_by_evidence(words)


def _match_by_evidence(words: OwnWords) -> GateDecision | None:
    evidence = score_evidence(words)
    found = _match_personal_question(words) if evidence > _REFUTED else None
    if found is None and evidence > _ENOUGH and not is_anybodys(words):
        found = GateDecision(
            Route.PINNED, "reads like a question about the user's own life", f"evidence {evidence:.2f}"
        )
    return found


def _match_personal_question(words: OwnWords) -> GateDecision | None:
    found = _search_pattern(DECISION, DECISION_WORDS, words)
    found = found or _search_pattern(TASTE, TASTE_WORDS, words) or AT_HOME.search(words.low)
    if found:
        return GateDecision(Route.PINNED, DEPENDS_ON_WHO_ASKS, found[0])
    name = private_person(words) if ASKS.search(words.low) else ""
    return GateDecision(Route.PINNED, "asks about a private person", name, asks_memory=True) if name else None


_RULES: Final[tuple[_Rule, ...]] = (
    _match_identity,
    _match_transcript,
    _match_outcome_question,
    _match_earlier_talk,
    _match_known_name,
    _match_recall,
    _match_possessive,
    _match_implied_need,
)


# --- who begins to talk, or asks what there is to do ------------------------------------------------------------------


_GREETS: Final = re.compile(
    r"^\W*(?:hi|hey|hello|(?:good )?(?:morning|afternoon|evening)|i am back|i'm back)"
    r"(?:,? (?!what|how|can|could)\w+){0,2}\W*$",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"\bwhat(?:'s| is| are)? (?:up|next|due|pending|planned|coming up|on (?:my|the|today|tomorrow|for))\b"
    r"|\bwhat (?:do|have) (?:i|we) (?:have|need|got|still have)? ?(?:to do|on|due|today|tomorrow|this week|coming up)\b"
    r"|\b(?:my|our|the|any) (?:agenda|schedule|to-?dos?|to-?do list|tasks|deadlines?|action items?|reminders?)\b"
    r"|\banything (?:due|planned|urgent|to do|coming up)\b|\bplans? for (?:today|tomorrow|the day)\b"
    r"|\b(?:am i forgetting|did i forget) (?:any|some)thing\b",
    re.IGNORECASE,
)


_ADDRESSED: Final = re.compile(r"\byou\b", re.IGNORECASE)


def speaks_to_assistant(message: str) -> bool:
    """Return whether a message names the one it is written to."""
    return _ADDRESSED.search(message) is not None


def asks_what_is_up(message: str) -> bool:
    """Return whether somebody begins to talk, or asks what there is to do; nothing about programs or sums."""
    if _GREETS.match(message):
        return True
    if not _ASKS.search(message):
        return False
    from memstone.language.en.gate.phrases import is_puzzle, is_technical, own_words_of

    words = own_words_of(message)
    return _ASKS.search(words.text) is not None and not is_technical(words) and not is_puzzle(words)


# --- how much a message reads like one about the user's own life: weighed over the build of the sentence --------------


# Words that carry a sentence ("did", "the", "for") count as themselves, all others as the kind of word they are: a
# relative, a thing of the household, a subject of general knowledge, a name. So it is the wording that is weighed and
# not the topic. The weights are fitted by ``scripts/fit_gate.py`` to sentences written for it.

_CARRIER_DATA: Final = read_data("en", "gate_carriers")

BIAS: Final = "bias"
_MOST_WORDS: Final = 120
_SHORTEST_PLURAL: Final = 3
_LENGTHS: Final = ((3, "tiny"), (6, "short"), (12, "usual"), (25, "long"))

_CARRIERS: Final = frozenset(_CARRIER_DATA["carriers"].split())
_WRITTEN: Final = re.compile(r"[^\W\d_]\w*|[.!?:]")
_NO_PAST: Final = frozenset("need feed speed bleed breed exceed succeed proceed".split())


def _add_plurals(words: frozenset[str]) -> frozenset[str]:
    return words | {f"{word}s" for word in words}


_CERTAIN: Final = ((CALENDAR, "CALENDAR"), (TECH, "TECH"), (PLACES_AND_BRANDS, "PLACE"), (PUBLIC_WORDS, "PUBLIC"))
_OTHERWISE: Final = (
    (KIN, "KIN"),
    (_add_plurals(PRIVATE_THINGS), "OWN"),
    (LEISURE, "LEISURE"),
    (PRIVATE_NOUNS, "LIFE"),
    (TECH_WEAK, "DEVICE"),
    (PERSONAL_VERBS, "DECIDE"),
    (HUMAN_VERBS, "HUMAN"),
    (PAST_FORMS, "PAST"),
)


def _by_word(kinds: tuple[tuple[frozenset[str], str], ...]) -> dict[str, str]:
    """Return the kind of each word; where it is in several lists, the first counts."""
    return {word: kind for words, kind in reversed(kinds) for word in words}


_PUBLIC_KIND: Final = _by_word(_CERTAIN)
_PRIVATE_KIND: Final = _by_word(_OTHERWISE)


def score_evidence(words: OwnWords) -> float:
    """Return the evidence that a message is about the user's life; zero is undecided."""
    weights = weight_table()
    return weights[BIAS] + sum(weights.get(feature, 0.0) for feature in extract_features(words))


@cache
def weight_table() -> dict[str, float]:
    """Return every feature's weight; read once."""
    lines = (FOLDER / "gate.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines)
    return {feature: int(hundredths) / 100 for feature, hundredths in pairs}


def extract_features(words: OwnWords) -> set[str]:
    """Return what is weighed: kinds of words, which of them follow one another, how it begins, and its length."""
    kinds = list(_word_kinds(words))
    ends = ["^", *kinds, "$"]
    found = {*kinds, f"^ {' '.join(kinds[:2])}", _length_feature(len(kinds))}
    found.update(f"{one} {other}" for one, other in pairwise(ends))
    found.update(f"{one} .. {other}" for one, other in zip(ends, ends[2:], strict=False))
    return found


def _length_feature(count: int) -> str:
    return next((f"length {name}" for below, name in _LENGTHS if count < below), "length very long")


def _word_kinds(words: OwnWords) -> Iterator[str]:
    lower = words.text.islower()
    within, first = (frozenset[str](), frozenset[str]()) if lower else _capitalized_words(words.text)
    for token in words.tokens[:_MOST_WORDS]:
        if token in _CARRIERS or not token[0].isalnum():
            yield token
        elif token in FAMOUS and token not in CALENDAR and (token in within or token in first):
            yield "FAMOUS"
        elif token in _PUBLIC_KIND:
            yield _PUBLIC_KIND[token]
        elif token in FIRST_NAMES and (lower or token in within or token in first):
            yield "FIRST_NAME"
        else:
            yield "NAME" if token in within else _PRIVATE_KIND.get(token) or _kind_from_ending(token)


def _kind_from_ending(word: str) -> str:
    if word[0].isdigit():
        return "NUMBER"
    if word.endswith("ed") and word not in _NO_PAST:
        return "PAST"
    if word.endswith("ing"):
        return "DOING"
    return "MANY" if word.endswith("s") and len(word) > _SHORTEST_PLURAL else "WORD"


def _capitalized_words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return words with a capital within a sentence, and such that only begin one."""
    within: set[str] = set()
    first: set[str] = set()
    begins = True
    for word in _WRITTEN.findall(text):
        if word in ".!?:":
            begins = True
            continue
        if word[0].isupper():
            (first if begins else within).add(word.lower())
        begins = False
    return frozenset(within), frozenset(first)
