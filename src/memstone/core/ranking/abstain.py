"""Whether anything in memory has to do with a question, said with a rate of error.

The score of a search is relative: something always comes first. What counts here is how close the best of it is,
against how close the same memory comes to questions that have nothing to do with it (``Probes``):

    closeness + weight * share of the question's words that are known - penalty for names nobody has mentioned

``closeness`` of a memory is its cosine in standard deviations above what unrelated questions reach with that very
memory: some texts are near to everything. Without an embedder it is the BM25 of its words, with the rarity of a word
nobody has used as the unit.

The best value of an unrelated question is distributed about normally. Its middle and spread are taken from quartiles,
so that a few questions which memory does answer by chance change nothing. The middle grows with the logarithm of the
number of memories, because more of them come close by chance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, quantiles
from typing import Final

from memstone.core.entities.names import names_in
from memstone.core.text.analyze import document_terms, query_terms
from memstone.core.text.words import STOP_WORDS
from memstone.errors import InvalidInput

# --- whether anything in memory has to do with a question, said with a rate of error ----------------------------------


RATE: Final = 0.05
"""How many unrelated questions may be shown something."""

WORTH_SHOWING: Final = 0.75
"""A memory beside the best one is left out when this share of unrelated questions have a better one."""

UNHEARD: Final = "\u2205unheard"
"""A word that no text has; its rarity tells how many texts there are."""

_NORMAL: Final = NormalDist()
_QUARTILES_APART: Final = 2 * _NORMAL.inv_cdf(0.75)
_LEAST_SPREAD: Final = 1e-3
_ALMOST: Final = 1e-6
_LEAST_PROBES: Final = 4
_ENGLISH_SHARE: Final = 0.25
_NO_NAMES: Final = STOP_WORDS | frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()
)


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts besides closeness, in its unit."""

    known: float
    stranger: float


BY_MEANING: Final = Weights(known=2.0, stranger=2.0)
BY_WORDS: Final = Weights(known=2.0, stranger=1.0)


@dataclass(frozen=True, slots=True)
class Null:
    """What unrelated questions reach in a store of ``rows`` memories.

    ``slope`` is how much the middle rises when the store becomes e times as large. ``scatter`` is the usual standard
    deviation of the cosines of one memory with unrelated questions.
    """

    rows: int
    middle: float
    spread: float
    slope: float = 0.0
    scatter: float = 0.0

    def middle_at(self, rows: int) -> float:
        """The middle for a store that has another size by now."""
        return self.middle + self.slope * math.log(max(1, rows) / max(1, self.rows))


def null_of(best: Sequence[float], rows: int, *, slope: float = 0.0, scatter: float = 0.0) -> Null:
    """The distribution, from the best value of each unrelated question."""
    if len(best) < _LEAST_PROBES:
        raise InvalidInput(f"a distribution needs at least {_LEAST_PROBES} questions, not {len(best)}")
    low, middle, high = quantiles(best, n=4, method="inclusive")
    return Null(rows, middle, max(_LEAST_SPREAD, (high - low) / _QUARTILES_APART), max(0.0, slope), scatter)


def slope_of(best: Sequence[float], among_fewer: Sequence[float], times: float) -> float:
    """How the middle rises with size, from the same questions put to ``times`` fewer memories."""
    if times <= 1:
        return 0.0
    middles = [quantiles(values, n=2, method="inclusive")[0] for values in (best, among_fewer)]
    return (middles[0] - middles[1]) / math.log(times)


def required_value(null: Null, rate: float = RATE, rows: int | None = None) -> float:
    """What a question must reach so that of unrelated ones only this share does."""
    return null.middle_at(null.rows if rows is None else rows) + _NORMAL.inv_cdf(1 - checked_rate(rate)) * null.spread


def unrelated_share(value: float, null: Null, rows: int | None = None) -> float:
    """The share of unrelated questions that reach a value."""
    return 1 - _NORMAL.cdf((value - null.middle_at(null.rows if rows is None else rows)) / null.spread)


def is_relevant(value: float, null: Null, rate: float = RATE, rows: int | None = None) -> bool:
    """Whether a question reaches what at most this share of unrelated ones do."""
    return value > required_value(null, rate, rows)


def worth_showing(values: Sequence[float], null: Null, rate: float = RATE, rows: int | None = None) -> list[bool]:
    """Which memories to show, by their values: none when not even the best counts, and not the farthest ones."""
    if not any(is_relevant(value, null, rate, rows) for value in values):
        return [False] * len(values)
    least = min(required_value(null, WORTH_SHOWING, rows), required_value(null, rate, rows))
    return [value >= least for value in values]


def checked_rate(rate: float) -> float:
    """A rate between 0 and 1, both excluded."""
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1:
        raise InvalidInput(f"the rate must be a number between 0 and 1, not {rate!r}", hint="0.05 is one in twenty")
    return float(rate)


# --- what the question itself tells -----------------------------------------------------------------------------------


def familiarity_words(question: str) -> list[str]:
    """The words whose rarity ``familiarity`` wants to know."""
    named = (term for name in names_asked(question) for term in document_terms(name))
    return list(dict.fromkeys([*query_terms(question), *named]))


def score_familiarity(question: str, rarity: Mapping[str, float], weights: Weights, *, strangers: bool = True) -> float:
    """What a question has by itself, whichever memory is looked at.

    ``rarity`` is how much each word tells, that of ``UNHEARD`` included. A question that names somebody or something
    by name, and nothing that was ever mentioned, is not likely to be about what is known.
    """
    unheard = rarity.get(UNHEARD, 0.0)
    told = {word: rarity.get(word, unheard) for word in query_terms(question)}
    heard = sum(value for value in told.values() if is_heard(value, unheard))
    share = heard / (sum(told.values()) or 1.0)
    return weights.known * share - (weights.stranger if strangers and _only_strangers(question, rarity) else 0.0)


def rows_told(rarity: Mapping[str, float]) -> int:
    """How many texts there are, from the rarity of a word none of them has: ``ln(1 + (n + 0.5) / 0.5)``."""
    return max(0, round(math.exp(rarity.get(UNHEARD, 0.0)) / 2 - 1))


def _only_strangers(question: str, rarity: Mapping[str, float]) -> bool:
    unheard = rarity.get(UNHEARD, 0.0)
    words = [term for name in names_asked(question) for term in document_terms(name)]
    return bool(words) and not any(is_heard(rarity.get(word, unheard), unheard) for word in words)


def is_heard(rarity: float, unheard: float) -> bool:
    """Whether a word of this rarity has been said at all."""
    return rarity < unheard - _ALMOST


def is_english(question: str) -> bool:
    """Whether a question has the little words of English."""
    words = question.lower().split()
    return sum(word.strip("?.,!'\"") in STOP_WORDS for word in words) >= _ENGLISH_SHARE * len(words)


def names_asked(question: str) -> list[str]:
    """Names in an English question; elsewhere a capital may mean no more than a noun."""
    if not is_english(question):
        return []
    return [name for name in names_in(question) if name.casefold() not in _NO_NAMES]


# --- questions that hardly anybody's memory answers -------------------------------------------------------------------


ABOUT_THE_WORLD: Final = (
    "What is the boiling point of liquid nitrogen?",
    "How does a catalytic converter clean exhaust gas?",
    "Who painted the ceiling of the Sistine Chapel?",
    "Why do cats purr?",
    "How many moons does Neptune have?",
    "What is the difference between a comet and an asteroid?",
    "Explain how compound interest works.",
    "How do I convert a column of dates in a spreadsheet to text?",
    "Which languages are spoken in Suriname?",
    "How long should I boil an egg at high altitude?",
    "Write a limerick about a lighthouse keeper.",
    "What does the Latin phrase carpe noctem mean?",
    "How do I reverse a linked list in C?",
    "Which countries border Paraguay?",
    "Why is the sky dark at night although there are so many stars?",
    "How is parchment made from animal skin?",
    "What causes the northern lights?",
    "Summarise the plot of Moby Dick in three sentences.",
    "How does a heat pump move warmth from cold air?",
    "Convert 400 degrees Fahrenheit to Kelvin.",
    "How do I unclog a kitchen sink without chemicals?",
    "Who invented the telegraph?",
    "What is the population of Lesotho?",
    "How do vaccines train the immune system?",
    'Translate "where is the railway station" into Hungarian.',
    "What are the rules of curling?",
    "How did the Ottoman Empire come to an end?",
    "What is the chemical formula of table sugar?",
    "How do I remove red wine from a wool carpet?",
    "What makes sourdough rise?",
    "How does a player piano read its roll?",
    "Which planet has the shortest day?",
    "What is the difference between affect and effect?",
    "How do salmon find the river they were born in?",
    "Why does the moon look larger near the horizon?",
    "How do I set up a cron job that runs on weekdays?",
    "What was the cause of the Peloponnesian War?",
    "How is glass recycled?",
    "What is a regular expression for a postal code?",
    "How tall is Mount Kilimanjaro?",
    "What do tardigrades eat?",
    "How do noise-cancelling headphones work?",
    "Which gas do plants take in during photosynthesis?",
    "How was the Rosetta Stone deciphered?",
    "What is a superconductor, for a ten-year-old?",
    "When was the Corinth Canal dug?",
    "How do I write a cover letter for a job in a museum?",
    "What is the rhyme scheme of a Shakespearean sonnet?",
    "Why do onions make people cry?",
    "How does a diesel engine ignite its fuel without a spark?",
    "What is the exchange rate mechanism of a currency board?",
    "How do beavers build their dams?",
    "What is the fastest sorting algorithm for nearly sorted data?",
    "How do I grow mushrooms on coffee grounds?",
    "What does a notary public do?",
    "Who wrote the music for Swan Lake?",
    "How do submarines keep their depth?",
    "How deep is Lake Baikal?",
    "How do I prove that there are infinitely many primes?",
    "Which spices are in garam masala?",
    "Name five films that are set on a submarine.",
    "How did the Hanseatic League settle its disputes?",
    "What is the freezing point of sea water?",
    "Give me a headline for an article about coral reefs.",
)
"""Knowledge, instructions, and things to write."""

ABOUT_ME: Final = (
    "What did I name my pet iguana?",
    "When does my falconry permit run out?",
    "Which gear ratio did I choose for the windmill model?",
    "How much did I pay for the antique harpsichord?",
    "Who repaired the hull of my canoe?",
    "Where do I keep the spare key of the observatory dome?",
    "What was the outcome of my appeal against the mooring fee?",
    "How many alpacas did we shear last spring?",
    "Which bow did I order for the archery tournament?",
    "What colour did we choose for the lighthouse shutters?",
    "When did I last oil the church bells?",
    "What is the registration number of my hot-air balloon?",
    "Who won the sheepdog trial I judged?",
    "How far did my homing pigeons fly?",
    "Which font did I settle on for the wedding invitations of the Okafors?",
    "What did the vet say about the hedgehog's paw?",
    "Where did I bury the time capsule?",
    "How old was the wardrobe when I restored it?",
    "Which chapter of my thesis on glaciers is still missing?",
    "What was the score of my last fencing bout?",
    "Who is supposed to tune the accordion?",
    "What did I pay per litre for the heating oil in March?",
    "When is the inspection of our grain elevator?",
    "Which beekeeper sold me the queen?",
    "What did the locksmith say about my safe?",
    "How many stamps from Mauritius are in my collection?",
    "Where did I leave the sledge runners?",
    "What is the pin of my storage unit in Tallinn?",
    "Which of my geckos has shed its skin?",
    "When do I have to return the rented jackhammer?",
    "What did the auctioneer estimate for my grandfather's sextant?",
    "How did my audition for the circus go?",
    "Which telescope eyepiece did I lend to the school?",
    "What was the diagnosis of the ferret?",
    "How long have I been the treasurer of the chess club?",
    "Which bridge did I photograph for the calendar?",
    "What did I plan for the opening of the distillery?",
    "Who designed the logo of my skateboard shop?",
    "When did my submarine cable project get its licence?",
    "What is my blood pressure target after the stent?",
    "How many laps did I swim for the charity?",
    "What did the surveyor find in the attic of the old mill?",
    "Which lens is scratched on my film camera?",
    "What was my role in the amateur production of Macbeth?",
    "When does the ferry to the island stop for my convoy?",
    "How much venison is left in the freezer?",
    "Which verse did I choose for the gravestone?",
    "What did I promise the orphanage in Nepal?",
    "Who taught me to throw a boomerang?",
    "What size are the snowshoes I need?",
    "Which dialect did my great-grandmother speak?",
    "What did the customs officer take from my suitcase?",
    "When is the deadline of my patent for the folding kayak?",
    "How many students dropped my course on Sanskrit?",
    "What was wrong with the gearbox of the tractor?",
    "Which casino did we visit for the bachelor party?",
    "Did I renew the insurance of the horse trailer?",
    "Do I still owe the blacksmith anything?",
    "Have I ever been to Ulaanbaatar?",
    "Remind me what I decided about the tattoo on my shoulder.",
    "Tell me again which saddle fits my mare.",
    "What was the name of the podcast about shipwrecks that I liked?",
    "Can you look up what I wrote about the meteorite?",
    "Am I allowed to feed the parrot pomegranate seeds?",
    "Is my drone registered in Norway?",
)
"""Put as if the user asked about their own life."""

ABOUT_OTHERS: Final = (
    "What did Rosalind find in the cave?",
    "When did Mr Adebayo sell the vineyard?",
    "Why did Ingrid leave the orchestra?",
    "Which marathon did Takumi run?",
    "What did Leocadia bake for the village fair?",
    "How did Bartholomew lose his licence?",
    "Where did Svetlana learn to ride a unicycle?",
    "Who gave Quentin the old typewriter?",
)
"""About people nobody knows."""

PROBES: Final = ABOUT_THE_WORLD + ABOUT_ME + ABOUT_OTHERS
"""All of them."""


# --- what a question tells by its wording, and a memory by its form ---------------------------------------------------


_MOST_WORDS: Final = 12.0
_UNKNOWN_WORD: Final = 0.1  # of a question of little words all count, and little

_KINDS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bwhen\b|\bw(?:hat|hich) (?:day|date|time|year|month|weekend)\b|\bhow (?:soon|long|old)\b",
        r"\bhow (?:much|many|far|big|tall|often)\b|\bwhat (?:size|price|number|pace)\b|\b(?:cost|owe|rent)\b",
        r"\bwho(?:se|'s)?\b|\bname\b|\bcalled\b",
        r"\bwhere\b|\bwhich (?:street|city|town|country|hospital|school)\b",
        r"^(?:write|explain|draft|give|list|suggest|name|translate|convert|solve|summari[sz]e|describe|help|compose)\b",
        r"\b(?:can|could|should|would|is|are|am|do|does|did|will)\b.{0,300}\?",
        r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|our|us|we're|ours)\b",
        r"\b(?:my|our)\b",
    )
)
"""What is asked for: a time, an amount, somebody, a place; whether something is to be done, or to be confirmed; whether
it is about the one who asks, and about what belongs to them."""

_ASKED_FOR: Final = 4
_NUMBER: Final = re.compile(r"[0-9]")
_DAY: Final = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b")
_TIME: Final = re.compile(r"[0-9](?:[0-9]{3}|[ap]m|:)")
_NAME: Final = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+")

CUES: Final = 5 + len(_KINDS)
FORMS: Final = 3
ASKED_FOR: Final = _ASKED_FOR


def is_judged(question: str) -> bool:
    """Whether the weights know how such a question is put: they were fitted to English ones."""
    return is_english(question)


def question_cues(question: str, rarity: Mapping[str, float]) -> list[float]:
    """How a question is put: first what is asked for (``ASKED_FOR`` kinds), then everything else."""
    kinds = [1.0 if kind.search(question) else 0.0 for kind in _KINDS]
    unheard = rarity.get(UNHEARD, 0.0) or 1.0
    told = [rarity.get(word, unheard) for word in query_terms(question)]
    heard = sum(value for value in told if is_heard(value, unheard))
    named = [rarity.get(word, unheard) for name in names_asked(question) for word in document_terms(name)]
    known = any(is_heard(value, unheard) for value in named)
    return [
        *kinds,
        heard / (sum(told) or 1.0),
        min(float(len(told)), _MOST_WORDS),
        max(told, default=0.0) / unheard,
        1.0 if known else 0.0,
        1.0 if named and not known else 0.0,
    ]


def memory_forms(text: str) -> list[float]:
    """What a memory has that questions ask for: a number, a day, a name."""
    small = text.lower()
    number = _NUMBER.search(small) is not None
    day = (number and _TIME.search(small)) or _DAY.search(small)
    return [1.0 if has else 0.0 for has in (number, day, _NAME.search(text))]


def word_weights(words: list[str], rarity: Mapping[str, float]) -> list[float]:
    """How much each word of a question counts, between 0 and 1; little words and signs do not."""
    unheard = rarity.get(UNHEARD, 0.0) or 1.0
    weights = [_rarity_weight(word, rarity, unheard) for word in words]
    return weights if any(weights) else [_UNKNOWN_WORD] * len(words)


def _rarity_weight(word: str, rarity: Mapping[str, float], unheard: float) -> float:
    if word.lower() in STOP_WORDS:
        return 0.0
    return min((rarity.get(term, unheard) for term in document_terms(word)), default=0.0) / unheard
